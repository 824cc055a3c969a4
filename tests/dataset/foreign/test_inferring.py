from typing import Any

import pytest

from shardkit.dataset.foreign.inferring import LayoutOverrides, infer_layout
from shardkit.dataset.foreign.tfds_folder import read_tfds_features, shard_lengths
from shardkit.errors import CallError, DataError, UnknownNameError

from .records import coco, imagenet, jpeg, melanoma, picture, sampled, tfrecorder


def test_imagenet_of_tensorflow_models_has_a_class_by_synset_and_leaves_its_boxes_out() -> None:
    layout = infer_layout(sampled([imagenet(0), imagenet(1, 2, "n01443537", "goldfish")]))
    assert (layout.family, layout.image.name, layout.image.form) == ("tensorflow/models", "image/encoded", "encoded")
    assert (layout.label.name, layout.label.names) == ("image/class/label", "image/class/synset")
    assert layout.label.first_line == 1  # 0 is the background
    assert (layout.boxes, layout.key) == (None, "image/filename")
    assert [one.name for one in layout.columns] == ["image/class/label", "image/class/text", "image/filename"]
    assert {name for name, _ in layout.left_out} >= {"image/object/bbox/xmin", "image/format", "image/height"}


def test_coco_of_tensorflow_models_has_boxes_with_names_and_what_belongs_to_each() -> None:
    layout = infer_layout(sampled([coco(1), coco(2, ())]))
    assert (layout.label.name, layout.label.kind) == ("image/object/class/label", "objects")
    assert layout.label.names == "image/object/class/text"
    assert layout.boxes is not None
    assert [side.rpartition("/")[2] for side in layout.boxes.sides] == list(_SIDES)
    assert {field for _, field, _ in layout.boxes.extra} == {"category_id", "area", "is_crowd"}


def test_tfrecorder_has_raw_pixels_in_base64_and_splits() -> None:
    layout = infer_layout(sampled([tfrecorder(0), tfrecorder(1, 1)]), has_splits=False)
    assert (layout.family, layout.image.form) == ("TFRecorder", "base64 pixels")
    assert (layout.image.height, layout.image.width, layout.image.channels) == (
        "image_height",
        "image_width",
        "image_channels",
    )
    assert (layout.label.name, layout.key, layout.split) == ("label", "image_name", "split")
    assert infer_layout(sampled([tfrecorder(0)]), has_splits=True).split is None


def test_kaggle_records_carry_their_columns() -> None:
    layout = infer_layout(sampled([melanoma(0), melanoma(1, 1)]))
    assert (layout.image.name, layout.label.name, layout.key) == ("image", "target", "image_name")
    assert "patient_id" in [one.name for one in layout.columns]


_SIDES = ("ymin", "xmin", "ymax", "xmax")
_FOUND = "found:\n  "


@pytest.mark.parametrize(
    ("records", "overrides", "error", "message"),
    [
        ([{"image": jpeg(), "label": 0, "target": 1}], {}, CallError, "label and target may be the labels"),
        ([{"image": jpeg(), "img": jpeg(1), "label": 0}], {}, CallError, "image and img hold images"),
        ([{"image": b"123", "label": 0}], {}, DataError, "no features give its height and width"),
        ([{"label": 0}], {}, DataError, "no feature of the records holds an image"),
        ([{"image": jpeg(), "score": 0}], {}, DataError, "no feature has a usual name for labels"),
        (
            [{"image/encoded": jpeg(), "image/segmentation/class/encoded": jpeg(1)}],
            {},
            DataError,
            "'image/segmentation/class/encoded' holds masks, .* into folders images/ and masks/",
        ),
        ([{"image": [jpeg(), jpeg()], "label": 0}], {}, DataError, "holds up to 2 values in a record"),
        ([{"image": jpeg(), "label": b"\x01"}], {}, DataError, "bytes that are no text"),
        ([{"image": jpeg(), "label": [0, 1, 0]}], {}, CallError, "an indicator of each class"),
        ([{"image": jpeg(), "label": [0.5, 1.5]}], {}, CallError, "add label_type=.number"),
        ([{"image": jpeg(), "label": 1.0}], {}, CallError, "classes, or a quantity"),
        ([{"image": jpeg(), "label": []}], {}, DataError, "no feature has a usual name"),
        ([{"image": jpeg(), "label": 0}], {"label_feature": "lable"}, UnknownNameError, "label_feature=.lable"),
        ([{"image": jpeg(), "label": 0}], {"image_feature": "label"}, DataError, "holds int64 values"),
        ([{"image": jpeg(), "label": "a"}], {"label_type": "number"}, CallError, "holds text"),
        ([{"image": b"\0" * 96, "height": 4, "width": 6, "label": 0}], {}, DataError, "may be pixels of type float32"),
    ],
)
def test_doubt_is_an_error_that_lists_the_features(
    records: list[dict[str, Any]], overrides: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        infer_layout(sampled(records), LayoutOverrides(**overrides))
    if "label_type" not in message and message not in {"holds text", "classes, or a quantity"}:
        assert _FOUND in str(raised.value)


def test_a_feature_of_two_kinds_is_refused_with_both_records() -> None:
    with pytest.raises(DataError, match=r"label' is int64 in a\.tfrecord, record 0 and bytes in a\.tfrecord, record 1"):
        infer_layout(sampled([{"image": jpeg(), "label": 0}, {"image": jpeg(), "label": "cat"}]))


def test_boxes_in_pixels_and_boxes_without_class_are_refused() -> None:
    with pytest.raises(DataError, match="fractions of the image's height and width"):
        infer_layout(sampled([{**coco(1), "image/object/bbox/xmax": [120.0, 7.0]}]))
    with pytest.raises(DataError, match="each object needs a class and a box"):
        infer_layout(sampled([{**coco(1), "image/object/bbox/xmax": [0.5]}]))


def test_a_mask_beside_the_image_is_left_out_by_name() -> None:
    layout = infer_layout(sampled([{"image": jpeg(), "segmentation_mask": picture("PNG"), "label": 3}]))
    assert layout.image.name == "image"
    assert layout.left_out == (("segmentation_mask", "another image"),)


def test_raw_pixels_of_the_mnist_example() -> None:
    record = {"image_raw": bytes(28 * 28), "height": 28, "width": 28, "depth": 1, "label": 7}
    layout = infer_layout(sampled([record]))
    assert (layout.image.name, layout.image.form, layout.image.channels) == ("image_raw", "pixels", "depth")


def test_class_names_of_numbers_must_be_one_to_one() -> None:
    crane = [{"image": jpeg(), "label": i, "label_name": "crane"} for i in (134, 517)]
    layout = infer_layout(sampled(crane), LayoutOverrides(label_feature="label"))
    assert layout.label.names is None


def test_what_is_inferred_is_shown_in_one_block() -> None:
    assert infer_layout(sampled([coco(1)])).describe()[:3] == [
        "image     image/encoded: encoded files, kept as they are",
        "label     image/object/class/label: the class of each box, by number, which image/object/class/text names",
        f"boxes     {', '.join(f'image/object/bbox/{side}' for side in _SIDES)}, as fractions of the sides",
    ]


def test_boxes_of_tfds_in_another_order_are_refused() -> None:
    spec = (
        b'{"pythonClassName": "x.FeaturesDict", "featuresDict": {"features": {"bbox": {"pythonClassName": '
        b'"x.BBoxFeature", "boundingBox": {"bboxFormat": "XYWH"}}}}}'
    )
    with pytest.raises(DataError, match="'bbox' are XYWH"):
        read_tfds_features(spec, None, "/data")


@pytest.mark.parametrize(
    "content", ["[1]", '{"pythonClassName": 1, "featuresDict": 3}', '{"pythonClassName": "x", "sequence": []}', "{"]
)
def test_odd_files_of_tfds_are_refused_or_not_used(content: str) -> None:
    if content == "[1]":  # another program's file of this name
        assert read_tfds_features(content.encode(), None, "/data") is None
        return
    with pytest.raises(DataError, match="restore it, or move it away"):
        read_tfds_features(content.encode(), b'{"supervisedKeys": 7}', "/data")


def test_dataset_info_announces_the_records_of_each_file() -> None:
    info = b"""{"name": "mnist", "fileFormat": "tfrecord", "splits": [
        {"name": "train", "shardLengths": ["5", "4"],
         "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"},
        {"name": "test", "shardLengths": ["2"]}]}"""
    assert shard_lengths(info, "/data") == {
        "mnist-train.tfrecord-00000-of-00002": 5,
        "mnist-train.tfrecord-00001-of-00002": 4,
        "mnist-test.tfrecord-00000-of-00001": 2,
    }
    with pytest.raises(DataError, match="not what TFDS writes"):
        shard_lengths(b'{"splits": [{"shardLengths": ["many"]}]}', "/data")


def test_masks_of_objects_are_left_out_with_the_reason() -> None:
    records = [coco(i, [(1, "person")]) | {"image/object/mask": [jpeg(i)]} for i in range(2)]
    layout = infer_layout(sampled(records))
    assert [why for name, why in layout.left_out if name == "image/object/mask"] == [
        "masks of objects, which no feature of shardkit holds: they are only in these files"
    ]
