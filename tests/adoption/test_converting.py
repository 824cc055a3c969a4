"""Adopted TFRecords as a source: what is converted is what was adopted."""

import io

import pytest
from PIL import Image

import shardkit
from shardkit.comparison import diff_datasets
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError, DataError
from shardkit.testing import append_without_beam, encoded

from ..dataset.foreign.records import coco, imagenet, jpeg, melanoma, picture, write
from ..record_sources.datasets.converting import convert
from .checking import problems

NAMES = {1: ("n01", "tench"), 2: ("n02", "shark")}
KINDS = {
    "class": ([imagenet(i, 1 + i % 2, *NAMES[1 + i % 2]) for i in range(4)], {"classes": ["tench", "shark", "ray"]}),
    "numbered": ([melanoma(i, i % 2) | {"image_name": "same"} for i in range(4)], {}),
    "boxes": ([coco(i, [(18, "dog"), (1, "person")][: i % 3]) for i in range(4)], {}),
    "several": ([{"image": jpeg(i), "labels": [2, 3][: i % 3]} for i in range(4)], {}),
    "number": ([{"image": jpeg(i), "age": i + 0.1} for i in range(4)], {"label_feature": "age"}),
    "whole number": (
        [{"image": jpeg(i), "age": i} for i in range(4)],
        {"label_feature": "age", "label_type": "number"},
    ),
}


def adopted(tmp_path, records, **options):
    """Four records in three splits, adopted into another folder; the first two, in train, have all classes."""
    for name, of_split in {"train": records[:2], "validation": records[2:3], "test": records[3:]}.items():
        write(tmp_path / "old" / f"{name}-0.tfrecord", of_split)
    return shardkit.adopt(tmp_path / "old", into=tmp_path / "far" / "into", **options)


def keys(dataset):
    return {
        one.key: (name, one.label_names) for name in dataset.splits for one in shardkit.open(dataset.root.url, name)
    }


@pytest.mark.parametrize("check", ["decode", "header"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_conversion_equals_the_adopted_dataset(kind, check, tmp_path):
    records, options = KINDS[kind]
    before = adopted(tmp_path, records, **options)
    after = convert(tmp_path / "far" / "into", tmp_path / "new", check=check)
    found = diff_datasets(before, read_manifest(str(tmp_path / "new")))
    assert found.num_same == 4, found.as_json()
    assert found.equal or kind == "whole number"  # which is stored as float32, as all targets are
    assert after.classes == before.classes
    assert problems(tmp_path / "new") == []


def test_examples_are_dropped_corrected_chosen_and_resized_as_in_any_dataset(tmp_path):
    before = adopted(tmp_path, KINDS["class"][0])
    first, second, third, last = sorted(keys(before))
    options = {"drop": [first], "labels": {second: "n02"}, "where": f"key != '{third}'", "resize": 4}
    after = convert(before.root.url, tmp_path / "new", **options)
    assert keys(read_manifest(str(tmp_path / "new"))) == {
        second: (keys(before)[second][0], ["n02"]),
        last: keys(before)[last],
    }
    assert after.classes == before.classes
    with pytest.raises(CallError, match=r"is not in .*into"):
        convert(before.root.url, tmp_path / "other", drop=["no such key"])


def test_adopted_records_are_appended_and_merged_with_their_keys(tmp_path):
    before = adopted(tmp_path, KINDS["numbered"][0])
    (tmp_path / "b").mkdir()
    other = adopted(tmp_path / "b", KINDS["numbered"][0])
    convert(before.root.url, tmp_path / "new")
    with pytest.raises(CallError, match="are in several datasets"):
        convert(before.root.url, tmp_path / "both", also=(other.root.url,))
    (tmp_path / "b" / "far" / "into").rename(tmp_path / "b" / "far" / "more")
    convert(before.root.url, tmp_path / "both", also=(f"{tmp_path}/b/far/more",), key_prefix=True)
    assert len(keys(read_manifest(str(tmp_path / "both")))) == 8
    write(tmp_path / "c" / "train-1.tfrecord", [melanoma(i, i % 2) | {"image_name": "same"} for i in (8, 9)])
    more = shardkit.adopt(tmp_path / "c")
    append_without_beam(str(tmp_path / "new"), more.root.url)
    assert keys(read_manifest(str(tmp_path / "new"))) == keys(before) | keys(more)


def turned(i):
    """A JPEG that lies on its side: 12 x 8 pixels, upright 8 x 12."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (12, 8), (i * 40, 0, 0)).save(file, "JPEG", exif=exif)
    return file.getvalue()


@pytest.mark.parametrize("check", ["decode", "header"])
def test_boxes_turn_with_a_picture_that_lies_on_its_side(check, tmp_path):
    write(tmp_path / "old" / "a.tfrecord", [coco(i, [(1, "person")]) | {"image/encoded": turned(i)} for i in range(2)])
    shardkit.adopt(tmp_path / "old")
    convert(tmp_path / "old", tmp_path / "new", check=check)
    one = shardkit.open(str(tmp_path / "new"), "train")[0]
    assert (one["height"], one["width"]) == (12, 8)
    # (ymin, xmin, ymax, xmax) = (1/8, 1/4, 3/4, 1/2) before: a quarter turn to the right.
    assert one.boxes.tolist() == [[0.25, 0.25, 0.5, 0.875]]


def test_a_box_without_area_is_dropped_and_counted(tmp_path):
    write(tmp_path / "old" / "a.tfrecord", [coco(0), coco(1) | {"image/object/bbox/xmax": [0.1, 0.5]}])
    shardkit.adopt(tmp_path / "old")
    manifest = convert(tmp_path / "old", tmp_path / "new", max_rejected="1")
    assert manifest.rejected.by_reason == {"bad_box": 1}
    assert [len(one.boxes) for one in shardkit.open(str(tmp_path / "new"), "train")] in ([2, 1], [1, 2])


def test_a_record_that_changed_after_it_was_adopted_is_rejected(tmp_path):
    write(tmp_path / "old" / "a.tfrecord", [{"image": jpeg(i), "label": i % 2} for i in range(3)])
    shardkit.adopt(tmp_path / "old")
    write(tmp_path / "old" / "a.tfrecord", [{"image": jpeg(i), "label": i % 2} for i in (0, 2, 1)])
    for check in ("decode", "header"):
        manifest = convert(tmp_path / "old", tmp_path / check, check=check)
        assert manifest.rejected.by_reason == {"damaged": 2}


def test_masks_and_images_without_labels_are_adopted_and_converted(tmp_path):
    masks = [{"image": picture("PNG", i), "segmentation_mask": grey(i, "L"), "filename": str(i)} for i in range(3)]
    write(tmp_path / "masks" / "train-0.tfrecord", masks)
    with_masks = shardkit.adopt(tmp_path / "masks", classes=["sky", "road"])
    write(tmp_path / "plain" / "test-0.tfrecord", [{"x": jpeg(i), "place": f"room {i}"} for i in range(3)])
    with pytest.raises(DataError, match="usual name for labels; name one with label_feature, or add unlabelled=True"):
        shardkit.adopt(tmp_path / "plain")
    plain = shardkit.adopt(tmp_path / "plain", unlabelled=True)
    for name, before in (("masks", with_masks), ("plain", plain)):
        assert problems(tmp_path / name) == []
        for check in ("decode", "header"):
            convert(tmp_path / name, tmp_path / f"{name}-{check}", check=check)
            found = diff_datasets(before, read_manifest(str(tmp_path / f"{name}-{check}")))
            assert (found.equal, found.num_same) == (True, 3), found.as_json()
    assert with_masks.classes == ["sky", "road"]
    assert shardkit.open(str(tmp_path / "masks-decode"), "train")["1"].mask().tolist() == [[1] * 12] * 8
    assert shardkit.open(str(tmp_path / "plain"), "test")[2]["place"] == "room 2"
    assert shardkit.open(str(tmp_path / "plain"), "test")[2].labels == []


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (lambda: grey(1, "P"), "the mask is a PNG, and the reader gets numbers from grey PNGs"),
        (lambda: grey(1, "1"), "the mask is a PNG, and the reader gets numbers from grey PNGs"),
        (lambda: picture("PNG"), "the mask is a PNG, and the reader gets numbers from grey PNGs"),
        (jpeg, "the mask is a JPEG"),
        (lambda: grey(1, "L", (3, 3)), "the mask has 3 x 3 pixels, the image 12 x 8"),
    ],
)
def test_a_mask_whose_numbers_the_reader_would_not_get_is_refused(mask, sentence, tmp_path):
    write(tmp_path / "old" / "a.tfrecord", [{"image": jpeg(), "image/mask": mask()}])
    with pytest.raises(DataError, match=sentence) as caught:
        shardkit.adopt(tmp_path / "old", label_feature="image/mask")
    assert "shardkit convert" not in str(caught.value)  # which reads no masks of others


def grey(number, mode, size=(12, 8)):
    """A mask of one class."""
    return encoded(Image.new(mode, size, number), "PNG")
