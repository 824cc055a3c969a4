"""Features, keys and class names of an adopted dataset, as pure functions."""

import pyarrow as pa
import pytest

from shardkit.adoption.class_names import Labels, name_classes
from shardkit.adoption.features import KeyChoice, adopted_features, choose_keys, merge_counts
from shardkit.adoption.scanning import FeatureCount
from shardkit.dataset.foreign.inferring import infer_layout
from shardkit.dataset.foreign.label_names import lines_as_names
from shardkit.errors import CallError, DataError

from ..dataset.foreign.records import coco, melanoma, sampled


def counts_of(records):
    """What the records hold of each feature."""
    counts = {}
    for record in records:
        for name, value in record.items():
            values = value if isinstance(value, list) else [value]
            kind = "empty"
            if values:
                kind = {int: "int64", float: "float"}.get(type(values[0]), "bytes")
            counts.setdefault(name, []).append(FeatureCount(kind, 1, len(values), len(values)))
    return merge_counts((("a", {name: one}) for name, found in counts.items() for one in found), ())


def decided(records, key=None, counts=None):
    layout = infer_layout(sampled(records))
    return adopted_features(layout, counts or counts_of(records), len(records), key)


def test_boxes_of_four_features_become_one():
    found = decided([coco(0), coco(1, [])], key="image/filename")
    assert found.stored_as["objects/bbox"] == tuple(f"image/object/bbox/{s}" for s in ("ymin", "xmin", "ymax", "xmax"))
    assert found.stored_as["objects/label"] == ("image/object/class/label",)
    assert found.stored_as["key"] == ("image/filename",)
    assert found.stored_as["height"] == found.stored_as["width"] == ()
    assert found.features["objects/area"].dtype == "float32"
    assert "image/height" not in found.features  # the header of the image says it


def test_columns_come_along_if_every_record_has_them():
    records = [melanoma(0), melanoma(1)]
    found = decided(records)
    assert found.features["age_approx"].shape == ()
    assert found.stored_as == {"height": (), "key": (), "label": ("target",), "width": ()}
    missing = decided(records, counts={**counts_of(records), "age_approx": FeatureCount("int64", 1, 1, 1)})
    assert "age_approx" not in missing.features
    assert ("age_approx", "1 of 2 records lack it") in missing.left_out
    longer = decided(records, counts={**counts_of(records), "age_approx": FeatureCount("int64", 2, 1, 5)})
    assert longer.features["age_approx"].shape == (None,)


def test_a_feature_of_two_kinds_in_two_files_is_refused_if_it_is_needed():
    files = [("a", {"x": FeatureCount("int64", 1, 1, 1)}), ("b", {"x": FeatureCount("float", 1, 1, 1)})]
    with pytest.raises(DataError, match="b: the feature 'x' is float, and int64 in a"):
        merge_counts(files, {"x"})
    assert merge_counts(files, ())["x"].kind == "mixed"


def texts(*values):
    return pa.chunked_array([pa.array(values, pa.binary())])


def test_unique_texts_are_the_keys():
    choice = choose_keys("name", [("a", texts(b"1", b"2")), ("b", texts(b"3"))], is_required=False)
    assert choice == KeyChoice("name")
    assert choice.keys("b", texts(b"3")) == ["3"]


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (b"1", "'name' is not unique: '1' is in a, record 0 and in b, record 0"),
        (None, "b, record 0: there is no text in 'name'"),
        (b"\xff", "b, record 0: there is a text that is not UTF-8 in 'name'"),
        (b"3\n", "b, record 0: 'name' has control characters"),
    ],
)
def test_other_texts_are_no_keys_and_records_are_numbered(last, why):
    files = [("a", texts(b"1", b"2")), ("b", texts(last))]
    choice = choose_keys("name", files, is_required=False)
    assert choice.feature is None
    assert choice.why_numbered.startswith(why)
    assert choice.keys("x/a", files[0][1]) == ["x/a/00000000", "x/a/00000001"]
    with pytest.raises(DataError, match="key_feature"):
        choose_keys("name", files, is_required=True)


def named(labels, **given):
    return name_classes(labels, **{"listed": None, "texts": {}, **given}).names


def listed(*lines, first=0):
    """The names in the lines of the user's file."""
    return lines_as_names(lines, first)


ZERO, ONE = Labels(0, 2, "a, record 7"), Labels(1, 2, "a, record 7")


@pytest.mark.parametrize(
    ("labels", "given", "names"),
    [
        (ZERO, {}, ["0", "1", "2"]),
        (ZERO, {"listed": listed("x", "y", "z", "w")}, ["x", "y", "z", "w"]),  # classes without examples stay
        (ZERO, {"listed": listed("x", "y", "z"), "texts": {0: "a"}}, ["x", "y", "z"]),
        (ZERO, {"texts": {0: "crane", 2: "crane"}}, ["crane (0)", "1", "crane (2)"]),  # as in ImageNet's words
        (ZERO, {"texts": {0: "crane", 1: "", 2: "heron"}}, ["0", "1", "2"]),  # 1 has two names
        (ONE, {"listed": listed("x", "y", first=1)}, ["0", "x", "y"]),  # labels stay those in the records
    ],
)
def test_classes_are_named_by_the_number_in_the_records(labels, given, names):
    assert named(labels, **given) == names


@pytest.mark.parametrize(
    ("lines", "error", "sentence"),
    [
        (["x", "y"], DataError, "a, record 7 has the label 2"),  # from 1, or another list: not guessed
        (["x"], DataError, "classes names only 0"),
        (["x", "x", "y"], CallError, "lines 1 and 2 are both 'x'"),
    ],
)
def test_names_that_do_not_fit_are_refused(lines, error, sentence):
    with pytest.raises(error, match=sentence):
        named(ONE, listed=listed(*lines))


def test_ids_are_no_class_numbers():
    with pytest.raises(DataError, match="a, record 7 has the label 123,456,789, and class numbers are below 1,000,000"):
        named(Labels(0, 123456789, "a, record 7"))


def test_labels_that_count_from_1_are_shown():
    assert ONE.describe(["0", "x", "y"]).startswith("1 to 2, 3 classes; no record has the label 0, so they may")
    assert Labels(1 << 31, -1, "").describe(["a"]) == "no record has one"
    assert ZERO.describe(["a", "b", "c"]) == "0 to 2, 3 classes"
