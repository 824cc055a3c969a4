"""Features, keys and class names of an adopted dataset."""

import re

import pytest
from PIL import Image

import shardkit
from shardkit.adoption.merging import name_classes
from shardkit.adoption.scanning import Found
from shardkit.dataset.foreign.label_names import lines_as_names
from shardkit.errors import CallError, DataError
from shardkit.testing import encoded

from ..dataset.foreign.records import coco, jpeg, melanoma, write
from .checking import Said


def test_boxes_of_four_features_become_one(tmp_path):
    write(tmp_path / "train.tfrecord", [coco(0), coco(1, [])])
    found = shardkit.adopt(tmp_path)
    assert found.stored_as["objects/bbox"] == tuple(f"image/object/bbox/{s}" for s in ("ymin", "xmin", "ymax", "xmax"))
    assert found.stored_as["objects/label"] == ("image/object/class/label",)
    assert found.stored_as["key"] == ("image/filename",)
    assert found.stored_as["height"] == found.stored_as["width"] == ()
    assert found.features["objects/area"].dtype == "float32"
    assert "image/height" not in found.features  # the header of the image says it


@pytest.mark.parametrize(
    ("last", "shape", "why"),
    [
        (40, (), None),
        ([], (None,), None),
        ([40, 50], (None,), None),
        (None, None, "1 of 18 records lack it"),
        (40.5, None, "its values, or its empty lists, are of several kinds"),
    ],
)
def test_columns_come_along_if_every_record_has_them(last, shape, why, tmp_path):
    records = [melanoma(i) for i in range(18)]  # the last one is not looked at first
    records[17]["age_approx"] = last
    if last is None:
        del records[17]["age_approx"]
    write(tmp_path / "a.tfrecord", records)
    said = Said()
    found = shardkit.adopt(tmp_path, listener=said)
    assert found.stored_as == {"height": (), "key": ("image_name",), "label": ("target",), "width": ()}
    assert getattr(found.features.get("age_approx"), "shape", None) == shape
    assert why is None or f"left out  age_approx: {why}\n" in said.text


def test_a_needed_feature_of_two_kinds_in_two_files_is_refused(tmp_path):
    for number in range(10):  # of which 8 are looked at first
        write(tmp_path / f"{number}.tfrecord", [{"image": jpeg(), "age": 0.5 if number == 4 else 1}])
    with pytest.raises(DataError, match=r"4\.tfrecord: the feature 'age' is float, and int64 in 0\.tfrecord"):
        shardkit.adopt(tmp_path, label_feature="age", label_type="number")


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (b"18", None),
        (b"1", "'filename' is not unique: '1' is in a.tfrecord, record 1 and in c.tfrecord, record 16"),
        (b"", "c.tfrecord, record 16: there is no text in 'filename'"),
        (b"\xff", "c.tfrecord, record 16: there is a text that is not UTF-8 in 'filename'"),
        (b"3\n", "c.tfrecord, record 16: 'filename' has control characters"),
    ],
)
def test_unique_texts_are_the_keys_and_other_records_are_numbered(last, why, tmp_path):
    names = [*map(str, range(18)), last]  # the last one is not looked at first
    records = [{"image": jpeg(), "label": 0, "filename": name} for name in names]
    write(tmp_path / "a.tfrecord", records[:2])
    (tmp_path / "b.tfrecord").touch()
    write(tmp_path / "c.tfrecord", records[2:])
    said = Said()
    shardkit.adopt(tmp_path, listener=said)
    keys = [one.key for one in shardkit.open(str(tmp_path), "train")]
    if why is None:
        assert keys == [f"{i}" for i in range(19)]
        return
    assert (keys[0], keys[-1]) == ("a.tfrecord/00000000", "c.tfrecord/00000016")
    assert f"key       file and record number, because {why}" in said.text
    with pytest.raises(DataError, match=f"{re.escape(why)}.*key_feature"):
        shardkit.adopt(tmp_path, key_feature="filename", overwrite=True)


def listed(*lines, first=0):
    """The names in the lines of the user's file."""
    return lines_as_names(lines, first)


def found(lowest, highest=2, **texts):
    return Found(lowest=lowest, highest=highest, where_highest="a, record 7", class_texts=texts.get("texts", {}))


@pytest.mark.parametrize(
    ("found", "listed", "names"),
    [
        (found(0), None, ["0", "1", "2"]),
        (found(0), listed("x", "y", "z", "w"), ["x", "y", "z", "w"]),  # classes without examples stay
        (found(0, texts={0: "a"}), listed("x", "y", "z"), ["x", "y", "z"]),
        (found(0, texts={0: "crane", 2: "crane"}), None, ["crane (0)", "1", "crane (2)"]),  # as in ImageNet's words
        (found(0, texts={0: "crane", 1: "", 2: "heron"}), None, ["0", "1", "2"]),  # 1 has two names
        (found(1), listed("x", "y", first=1), ["0", "x", "y"]),  # labels stay those in the records
    ],
)
def test_classes_are_named_by_the_number_in_the_records(found, listed, names):
    assert name_classes(found, listed).names == names


@pytest.mark.parametrize(
    ("highest", "lines", "error", "sentence"),
    [
        (2, ["x", "y"], DataError, "a, record 7 has the label 2"),  # from 1, or another list: not guessed
        (2, ["x"], DataError, "classes names only 0"),
        (2, ["x", "x", "y"], CallError, "lines 1 and 2 are both 'x'"),
        (123456789, [], DataError, "a, record 7 has the label 123,456,789, and class numbers are below 1,000,000"),
    ],
)
def test_names_and_ids_that_do_not_fit_are_refused(highest, lines, error, sentence):
    with pytest.raises(error, match=sentence):
        name_classes(found(1, highest), listed(*lines) if lines else None)


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ([1, 2], "1 to 2, 3 classes; no record has the label 0, so they may count from 1: class 0, '0', stays empty"),
        ([0, 1, 2], "0 to 2, 3 classes\n"),
        ([encoded(Image.new("L", (12, 8)), "PNG")], "no record has one\n"),  # a mask
    ],
)
def test_the_range_of_the_labels_is_shown(labels, line, tmp_path):
    name = "mask" if isinstance(labels[0], bytes) else "label"
    write(tmp_path / "a.tfrecord", [{"image": jpeg(i), name: one} for i, one in enumerate(labels)])
    said = Said()
    shardkit.adopt(tmp_path, classes=["0", "1", "2"], listener=said)
    assert f"labels    {line}" in said.text
