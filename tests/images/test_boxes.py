import numpy as np
import pytest

from shardkit import images
from shardkit.dataset import example, features
from shardkit.images.boxes import place_objects
from shardkit.testing import picture
from shardkit.verification.examples import ExampleSpec, example_problems

INFO = images.ImageInfo("PNG", 640, 480, 1, ())


def placed(box, info=INFO, size=(None, None)):
    """The stored box of an object whose corners (ymin, xmin, ymax, xmax) are in pixels; None if it is left out."""
    objects, problems, _ = place_objects([{"bbox": box, "name": "one"}], size, info)
    assert len(objects) + len(problems) == 1
    assert all("no area" in message for _, message in problems)
    return objects[0]["bbox"] if objects else None


@pytest.mark.parametrize(
    ("xmin", "width", "is_kept"),
    [
        (100.0, 1.0, True),
        (100.0, 1e-4, True),
        (100.0, 1e-6, False),  # the same float32 share at both ends
        (0.0, 1e-6, True),  # floats are denser near 0
        (639.0, 1e-6, False),
        (640.0, 1.0, False),  # outside
        (-1.0, 1.0, False),
        (0.0, 1e-50, False),  # below the smallest float32
    ],
)
def test_a_box_is_kept_if_it_has_an_area_as_it_is_stored(xmin, width, is_kept):
    box = placed([10.0, xmin, 20.0, xmin + width])
    assert (box is not None) == is_kept
    if box:
        assert np.float32(box[1]) < np.float32(box[3])


@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_verify_accepts_every_box_that_convert_keeps(orientation):
    info = images.ImageInfo("JPEG", 8, 8, orientation, ())
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 8, (300, 2))
    sides = 10.0 ** rng.uniform(-9, 0, (300, 2))
    boxes = [placed([*start, *(start + side)], info, (8, 8)) for start, side in zip(corners, sides, strict=True)]
    kept = [side for box in boxes if box is not None for side in box]
    assert 0 < len(kept) < 4 * 300
    stored = {
        "image": example.bytes_feature([picture(0)]),
        "key": example.bytes_feature([b"k"]),
        "height": example.int64_feature((8,)),
        "width": example.int64_feature((8,)),
        f"{features.OBJECTS}bbox": example.float_feature(kept),
        features.OBJECT_LABELS: example.int64_feature((0,) * (len(kept) // 4)),
    }
    contents = ExampleSpec(
        {**features.ALWAYS, f"{features.OBJECTS}bbox": features.BOXES, features.OBJECT_LABELS: features.CLASS_LABELS},
        ["cat"],
    )
    assert list(example_problems(example.encode(stored), None, contents, deep=False)) == []


@pytest.mark.parametrize(
    ("annotated", "advice"),
    [
        ((2560, 1920), "multiply the boxes by 0.25 and write 640 x 480 as their size"),
        ((2561, 1921), "multiply the boxes by 0.249902"),  # resizing rounds the sides
        ((2560, 1440), "are they the same image"),
    ],
)
def test_outlines_of_another_size_are_refused_with_the_factor_if_the_shape_is_the_same(annotated, advice):
    one = {"bbox": [10.0, 20.0, 30.0, 40.0], "name": "one", "segmentation": "[[10,20,30,40,50,60]]"}
    with pytest.raises(images.BadImage, match=advice):
        place_objects([one], annotated, INFO)


def test_boxes_of_another_size_and_the_same_shape_are_scaled():
    [one], problems, num_clipped = place_objects([{"bbox": [480, 640, 960, 2600], "name": "one"}], (2560, 1920), INFO)
    assert (one["bbox"], problems, num_clipped) == ([0.25, 0.25, 0.5, 1.0], [], 1)  # 40 pixels of 2560 are 10 of 640
    [one], _, num_clipped = place_objects([{"bbox": [480, 640, 960, 2562], "name": "one"}], (2560, 1920), INFO)
    assert num_clipped == 0
    with pytest.raises(images.BadImage, match="are they the same image"):
        place_objects([{"bbox": [480, 640, 960, 2600], "name": "one"}], (2560, 1440), INFO)
