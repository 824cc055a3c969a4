"""Boxes and masks follow their images: compared with the pixels of pictures in which every object has its colour."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from shardkit import reader
from shardkit.testing import convert_without_beam, encoded, write_tree

SAMPLES = Path(__file__).parents[3] / "sample_data"
SIZE = (64, 48)
NUM_IMAGES = 40
COLOURS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)


def png(pixels):
    return encoded(Image.fromarray(pixels), "PNG")


def scenes():
    """Pictures of one red, one green and one blue rectangle that do not overlap; boxes as (ymin, xmin, ymax, xmax)."""
    rng = np.random.default_rng(0)
    for _ in range(NUM_IMAGES):
        height, width = rng.integers(60, 200, 2)
        pixels, mask, boxes = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.uint8), []
        for number, colour in enumerate(COLOURS):
            third = width // 3
            top, left = rng.integers(0, height // 2), number * third + rng.integers(0, third // 3)
            bottom, right = rng.integers(top + 8, height + 1), rng.integers(left + 6, (number + 1) * third)
            pixels[top:bottom, left:right] = colour
            mask[top:bottom, left:right] = number + 1
            boxes.append((int(top), int(left), int(bottom), int(right)))
        yield pixels, mask, boxes


@pytest.fixture(scope="module")
def detection(tmp_path_factory):
    files, images, annotations = {}, [], []
    for i, (pixels, _, boxes) in enumerate(scenes()):
        files[f"images/{i:03d}.png"] = png(pixels)
        images.append({"id": i, "file_name": f"{i:03d}.png", "height": pixels.shape[0], "width": pixels.shape[1]})
        for label, (top, left, bottom, right) in enumerate(boxes):
            box = [left, top, right - left, bottom - top]
            annotations.append({"id": len(annotations), "image_id": i, "category_id": label + 1, "bbox": box})
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(("red", "green", "blue"))]
    content = {"images": images, "annotations": annotations, "categories": categories}
    root = tmp_path_factory.mktemp("detection")
    write_tree(root / "source", {**files, "instances.json": json.dumps(content).encode()})
    convert_without_beam(str(root / "source"), str(root / "out"), shards=2)
    return str(root / "out")


@pytest.fixture(scope="module")
def segmentation(tmp_path_factory):
    files = {}
    for i, (pixels, mask, _) in enumerate(scenes()):
        files |= {f"images/{i:03d}.png": png(pixels), f"masks/{i:03d}.png": png(mask * (7 if i % 2 else 1))}
    root = tmp_path_factory.mktemp("segmentation")
    convert_without_beam(str(write_tree(root / "source", files)), str(root / "out"), shards=2)
    return str(root / "out")


WAYS = [
    {"training": True, "crop_scale": (0.3, 1.0)},
    {"training": True, "crop_scale": (0.3, 1.0), "flip": False},
    {"training": False, "eval_fit": "crop"},
    {"training": False, "eval_fit": "stretch"},
    {"training": False, "eval_fit": "pad"},
]
IDS = [" ".join(map(str, way.values())) for way in WAYS]


def batches(dataset, way, map_fn=None, num_batches=10, **options):
    images = reader.Images(SIZE, **{name: value for name, value in way.items() if name != "training"}, **options)
    given = {"global_batch_size": 8, "images": images, "training": way["training"], "map_fn": map_fn}
    made = reader.make_dataset_fn(dataset, "train", **given)()
    return made.take(num_batches).as_numpy_iterator()


# Flips and crops, and the edges that pad adds, are the ways that move boxes and masks; the others are parts of them.
PARAMS = [
    pytest.param(way, id=name, marks=[] if number in {0, 4} else pytest.mark.slow)
    for number, (way, name) in enumerate(zip(WAYS, IDS, strict=True))
]


@pytest.fixture(scope="module", params=PARAMS)
def detected(request, detection):
    return list(batches(detection, request.param, min_visible=0.0))


def test_boxes_lie_where_their_colours_lie_in_the_image_given(detected):
    num_boxes = 0
    for images, targets, *_ in detected:
        for image, boxes, labels in zip(images, targets["boxes"], targets["labels"], strict=True):
            for box, label in zip(boxes, labels, strict=True):
                if label < 0:
                    assert not box.any()
                    continue
                rows, columns = np.nonzero(image[..., label] > 127)
                ymin, xmin, ymax, xmax = box * np.tile(SIZE, 2)
                if len(rows) == 0:
                    assert min(ymax - ymin, xmax - xmin) <= 1.5, "a box without a pixel of its colour"
                    continue
                found = rows.min(), columns.min(), rows.max() + 1, columns.max() + 1
                np.testing.assert_allclose((ymin, xmin, ymax, xmax), found, atol=1.5)
                num_boxes += 1
    assert num_boxes > 60


def test_no_colour_in_the_image_lacks_its_box(detected):
    for images, targets, *_ in detected:
        for image, labels in zip(images, targets["labels"], strict=True):
            seen = {label for label in range(3) if (image[..., label] > 200).sum() > 4}
            assert seen <= set(labels.tolist())


def test_a_box_of_which_too_little_is_left_is_left_out(detection):
    way = {"training": True, "crop_scale": (0.1, 0.4)}
    counts = [
        sum(int((targets["labels"] >= 0).sum()) for _, targets in batches(detection, way, min_visible=share))
        for share in (0.0, 0.7)
    ]
    assert counts[0] > counts[1] > 0


@pytest.mark.parametrize("training", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_box_is_lost_unless_crops_are_asked_for(detection, training):
    labels = [targets["labels"][:, :3] for _, targets, *_ in batches(detection, {"training": training})]
    assert np.array_equal(np.concatenate(labels), [[0, 1, 2]] * sum(map(len, labels)))


@pytest.mark.slow  # a table of the page, which changes with the sample only
def test_the_page_says_how_many_boxes_crops_keep(tmp_path):
    page = (SAMPLES.parent / "shardkit/reader/arguments.md").read_text(encoding="utf-8")
    scales = re.search(r"^\| `crop_scale` \| (\(0.08, 1\) \|.*)", page, re.MULTILINE)[1].split("|")
    counts = re.search(r"^\| boxes an image \| (.*)", page, re.MULTILINE)[1].split("|")
    convert_without_beam(str(SAMPLES / "coco"), str(tmp_path / "out"))
    for scale, count in [*zip(scales, counts, strict=True)][:3:2]:
        way = {"training": True, "crop_scale": ast.literal_eval(scale.strip())}
        kept = [(targets["labels"] >= 0).sum() for _, targets in batches(str(tmp_path / "out"), way, num_batches=40)]
        assert sum(kept) / 320 == pytest.approx(float(count), abs=0.12), scale


def test_targets_have_static_shapes_and_hold_as_many_boxes_as_fit(detection):
    dataset_fn = reader.make_dataset_fn(
        detection,
        "train",
        global_batch_size=8,
        images=reader.Images(SIZE, eval_fit="stretch", max_boxes=2),
        training=False,
    )
    _, targets, _ = dataset_fn.element_spec
    assert (targets["boxes"].shape, targets["boxes"].dtype) == ((8, 2, 4), tf.float32)
    assert (targets["labels"].shape, targets["labels"].dtype) == ((8, 2), tf.int32)
    for _, values, _ in dataset_fn().take(5).as_numpy_iterator():
        assert values["labels"].tolist() == [[0, 1]] * 8, "in the order stored"


@pytest.mark.parametrize("way", PARAMS)
def test_masks_lie_over_their_images(way, segmentation):
    agreed, padding = [], 0
    for images, masks, *_ in batches(segmentation, way):
        assert masks.dtype == np.int32
        assert masks.shape == (8, *SIZE)
        for image, mask in zip(images, masks, strict=True):
            classes = set(np.unique(mask).tolist()) - {255}
            assert classes <= {0, 1, 2, 3} or classes <= {0, 7, 14, 21}, "values as they were"
            step = 7 if max(classes) > 3 else 1
            sure = (image.max(-1) > 250) & (np.sort(image, -1)[..., 1] < 5)  # pixels of one colour
            agreed.append(np.mean(mask[sure] == (image.argmax(-1)[sure] + 1) * step) if sure.any() else 1.0)
            padding += int((mask == 255).sum())
            if way.get("eval_fit") == "pad":
                assert not image[mask == 255].any(), "beside the image"
    assert min(agreed) > 0.97
    assert np.mean(agreed) > 0.995
    assert (padding > 0) == (way.get("eval_fit") == "pad")


def test_map_fn_gets_the_boxes_of_the_cropped_image_and_their_other_fields(detection):
    def map_fn(features, seed):
        boxes = features["objects/bbox"]
        tf.debugging.assert_equal(tf.shape(boxes)[0], tf.shape(features["objects/id"])[0])
        return features["image"], tf.shape(boxes)[0]

    given = {"crop_scale": (0.1, 0.4), "map_fn": map_fn}
    counts = [counts for _, counts in batches(detection, {"training": True}, **given)]
    assert len(set(np.concatenate(counts).tolist())) > 1


def test_masks_of_16_bits_keep_their_values(tmp_path):
    wide = np.array([[0, 300], [65535, 255]], np.uint16).repeat(8, 0).repeat(8, 1)
    files = {"images/a.png": png(np.zeros((16, 16, 3), np.uint8)), "masks/a.png": png(wide)}
    convert_without_beam(str(write_tree(tmp_path / "source", files)), str(tmp_path / "out"))
    made = reader.make_dataset_fn(
        str(tmp_path / "out"),
        "train",
        global_batch_size=1,
        images=reader.Images((16, 16), eval_fit="stretch"),
        training=False,
    )
    (_, masks, _) = next(iter(made()))
    np.testing.assert_array_equal(masks[0], wide)
