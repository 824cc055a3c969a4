"""What a row of a PCollection may be: each odd row with what becomes of it."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from shardkit.conversion.staging.records import refuse_readings
from shardkit.conversion.staging.rows import RowReader, values_of
from shardkit.conversion.staging.stager import Stager, begin_staging
from shardkit.dataset.example import bytes_feature, encode, int64_feature
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import CallError, DataError
from shardkit.images import BadImage
from shardkit.storage import open_folder
from shardkit.testing import picture

IMAGE = picture(0, width=8, height=8, kind="PNG")
GOOD = {"key": "a.png", "image": IMAGE, "label": "cat"}


@pytest.fixture
def stager(tmp_path):
    return Stager(open_folder(str(tmp_path)), RowReader(1 << 20), LayoutOverrides())


class Row(NamedTuple):
    key: str
    image: bytes
    label: str | None = None
    split: str | None = None


@dataclass
class Plain:
    key: str
    image: bytes
    label: int


@pytest.mark.parametrize("row", [GOOD, Row("a.png", IMAGE, "cat"), Plain("a.png", IMAGE, "cat")])
def test_a_row_is_a_mapping_a_named_tuple_or_a_dataclass_and_none_is_not_given(row):
    assert values_of(row) == GOOD


@pytest.mark.parametrize(
    ("changed", "reason", "key"),
    [
        ({"image": b"no image"}, "not_an_image", "a.png"),
        ({"image": IMAGE[:-20]}, "truncated", "a.png"),
        ({"image": b""}, "empty", "a.png"),
        ({"image": bytes(1 << 20) + IMAGE}, "too_many_bytes", "a.png"),
        ({"image": None}, "missing", "a.png"),
        ({"image": None, "uri": "/there/is/none.png"}, "missing", "a.png"),
        ({"label": None}, "no_label", "a.png"),
        ({"label": ""}, "no_label", "a.png"),
        ({"key": None}, "bad_name", "(a row without a key)"),
        ({"key": "\udcff.png"}, "bad_name", "\\xff.png"),
        ({"split": "a/b"}, "bad_split", "a.png"),
        (
            {"label": None, "boxes": [{"label": "cat", "ymin": 0, "xmin": 0, "ymax": 99, "xmax": 50}]},
            "bad_annotation",
            "a.png",
        ),
        (
            {"label": None, "boxes": [{"label": "cat", "ymin": 1, "xmin": 0, "ymax": 0, "xmax": 1}]},
            "bad_box",
            "a.png, object 0",
        ),
        ({"label": None, "mask": b"no mask"}, "bad_mask", "a.png"),
        ({"label": None, "mask": picture(1, width=9, height=8, kind="PNG")}, "bad_mask", "a.png"),
    ],
)
def test_a_bad_value_rejects_its_row(changed, reason, key, stager):
    assert [(one.reason, one.key) for one in stager.add(GOOD | changed)] == [(reason, key)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (7, "an element is int; rows are Example, NamedTuples, beam.Row or dicts"),
        (("a.png", IMAGE), "an element is tuple"),
        ({"image": IMAGE}, "the rows have no field 'key'"),
        (GOOD | {"lable": "cat"}, "the rows have a field 'lable'; did you mean 'label'?"),
        (GOOD | {"key": 7}, "key must be text; found 7"),
        (GOOD | {"image": "a.png"}, "image must be the bytes of a file; found 'a.png'; where a file is goes to `uri`"),
        (GOOD | {"uri": "a.png"}, "the row has image and uri"),
        (GOOD | {"label": 0.5}, "label must be text or a whole number; found 0.5"),
        (GOOD | {"label": True}, "label must be text or a whole number; found True"),
        (GOOD | {"labels": ["cat"]}, "the row has label and labels; an example has one of"),
        (GOOD | {"label": None, "labels": "cat"}, "labels must be a list; found 'cat'"),
        (GOOD | {"label": None, "boxes": [(0, 0, 1, 1)]}, "boxes must be boxes with label, ymin, xmin, ymax, xmax"),
        (GOOD | {"image": None, "uri": "ftp://there/a.png"}, "not ftp://"),
    ],
)
def test_a_wrong_type_is_refused_in_one_sentence(row, said, stager):
    with pytest.raises(CallError) as refused:
        list(stager.add(row))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_uri_is_read_where_the_row_is(tmp_path):
    (tmp_path / "a.png").write_bytes(IMAGE)
    for uri in (f"{tmp_path}/a.png", f"file://{tmp_path}/a.png"):
        assert RowReader(1 << 20).read({"key": "a", "uri": uri, "label": "cat"}).image == IMAGE
    with pytest.raises(BadImage, match="more than the 9 of `max_file_size`"):
        RowReader(9).read({"key": "a", "uri": f"{tmp_path}/a.png", "label": "cat"})


def test_unlabelled_rows_have_no_annotation_and_one_that_they_have_is_left_out():
    row = RowReader(1 << 20, is_unlabelled=True).read(GOOD)
    assert (row.kind, row.columns["label_name"]) == ("unlabelled", None)


def test_two_kinds_of_annotations_are_refused_with_a_key_of_each(stager):
    list(stager.add(GOOD))
    with pytest.raises(DataError, match=r"the row 'a.png' has label, and 'b.png' has labels"):
        list(stager.add({"key": "b.png", "image": IMAGE, "labels": ["cat"]}))


def test_numbers_are_names_of_classes_and_repeated_labels_count_once():
    read = RowReader(1 << 20).read
    assert read(values_of(GOOD | {"label": np.int64(3)})).columns["label_name"] == "3"
    row = read(values_of(GOOD | {"label": None, "labels": np.array(["b", "a", "b"])}))
    assert row.columns["label_names"] == ["b", "a"]
    assert read(values_of(GOOD | {"split": "val", "group": 5})).columns["split"] == "validation"


def test_records_that_are_read_in_different_ways_are_refused(tmp_path):
    parts = []
    for name in ("image", "picture"):
        features = {name: bytes_feature([IMAGE]), "label": int64_feature((1,)), "key": bytes_feature([name.encode()])}
        stager = Stager(open_folder(str(tmp_path)), RowReader(1 << 20), LayoutOverrides())
        assert [*stager.add(encode(features)), *stager.finish()] == []
        begin_staging(open_folder(str(tmp_path)))
        parts.append(stager.flush())
    with pytest.raises(DataError) as refused:
        refuse_readings({one.reading: one.key for one in parts})
    said = (
        "the record 'image' was read with image 'image', .*, and 'picture' with image 'picture', .*; name the features "
    )
    assert re.match(said + r"with tfrecord=TFRecord\(image_feature=…, label_feature=…\), or", str(refused.value))
