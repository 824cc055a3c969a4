import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from shardkit.errors import CallError, DataError
from shardkit.testing import opened, read_source

from ..table_reading import rows, write, write_parquet

# name: a table, options, and what label names, several label names or a target are read, or the reason
LABELS = {
    "several columns of names": (
        "image,a,b\n1,x,y\n2,x,\n3,,\n4,x,x\n",
        {"label_columns": ("a", "b")},
        [["x", "y"], ["x"], [], ["x"]],
    ),
    "several columns of 0 and 1": (
        "image,cat,dog\n1,1,0\n2,0,0\n3,True,false\n4,,1.0\n5,2,0\n",
        {"label_columns": ("cat", "dog")},
        # A 2 among the first records: these are names.
        [["1", "0"], ["0"], ["True", "false"], ["1.0"], ["2", "0"]],
    ),
    "a separator": (
        "image,labels\n1,x|y\n2, x | |y|x\n3,\n4,x\n",
        {"label_separator": "|"},
        [["x", "y"], ["x", "y"], [], ["x"]],
    ),
    "a separator in several columns": (
        "image,a,b\n1,x y,z\n2,,x\n",
        {"label_separator": " ", "label_columns": ("a", "b")},
        [["x", "y", "z"], ["x"]],
    ),
    "numbers with a point are targets": ("image,target\n1,1\n2,2.5\n3,1e1\n", {}, [[1], [2.5], [10]]),
    "integers are classes": ("image,target\n1,1\n2,2\n", {}, ["1", "2"]),
    "integers are targets where the user says so": ("image,target\n1,1\n2,2\n", {"label_type": "number"}, [[1], [2]]),
    "numbers are classes where the user says so": ("image,label\n1,0.5\n", {"label_type": "class"}, ["0.5"]),
    "a text among them makes classes": ("image,label\n1,0.5\n2,half\n", {}, ["0.5", "half"]),
    "infinities and nothing are no targets": (
        "image,label\n1,0.5\n2,\n3,nan\n4,-inf\n5,1e39\n6,3.4e38\n",
        {},
        [[0.5], "no_label", "bad_label", "bad_label", "bad_label", [pytest.approx(3.4e38)]],
    ),
    "no number later": ("image,label\n" + "1,0.5\n" * 1000 + "2,x\n", {}, [[0.5]] * 1000 + ["bad_label"]),
    "several targets": (
        "image,x,y\n1,1,2\n2,3,\n3,3,z\n",
        {"label_columns": ("x", "y"), "label_type": "number"},
        [[1, 2], "no_label", "bad_label"],
    ),
}


def label_of(row):
    """Whatever kind it is: the name, the names, the target, or the reason."""
    found = [row.get(name) for name in ("reason", "label_name", "label_names", "target")]
    present = [one for one in found if one is not None]
    assert len(present) == 1
    return present[0]


def labels(path, **options):
    return [label_of(row) for row in read_source(path, **options).table.to_pylist()]


@pytest.mark.parametrize(("content", "options", "expected"), LABELS.values(), ids=LABELS.keys())
def test_labels_are_read_as_their_columns_tell(content, options, expected, tmp_path):
    assert labels(write(tmp_path, content), **options) == expected


def test_columns_of_0_and_1_say_whether_their_name_is_there(tmp_path):
    good = "1,1,0\n2,0,0\n3,True,false\n4,,1.0\n5,1,TRUE\n" * 200
    path = write(tmp_path, f"image,cat,dog\n{good}6,2,0\n")
    expected = [["cat"], [], ["cat"], ["dog"], ["cat", "dog"]] * 200
    assert labels(path, label_columns=("cat", "dog")) == [*expected, "bad_label"]


# name: values of a JSON column, options, and the labels
VALUES = {
    "texts": (["x", "", None, " "], {}, ["x", "no_label", "no_label", "no_label"]),
    "integers": ([1, -1, None], {}, ["1", "-1", "no_label"]),
    "truth values": ([True, False], {}, ["true", "false"]),
    "floats are targets": ([0.5, 1, None, 2], {}, [[0.5], [1], "no_label", [2]]),
    "lists": (
        [["x", "y"], [], ["x", "x"], [1], None, [["z"]], [None]],
        {},
        [["x", "y"], [], ["x"], ["1"], "no_label", "bad_label", "no_label"],
    ),
    "lists beside texts": ([["x"], "y"], {}, [["x"], ["y"]]),
    "lists of floats are targets": ([[0.5, 1.0], [2.0, 3.0], [1.0]], {}, [[0.5, 1], [2, 3], "bad_label"]),
    "a separator": (["x|y", ["z"], ""], {"label_separator": "|"}, [["x", "y"], ["z"], []]),
    "an object among the first": (["x", {"y": 1}, "z", [["x"]]], {}, ["x", "bad_label", "z", "bad_label"]),
    "a list of lists among lists": ([["x"], [["y"]]], {}, [["x"], "bad_label"]),
    "an object among targets": ([0.5, {"y": 1}], {}, [[0.5], "bad_label"]),
    "an object later": (["x"] * 1000 + [{"y": 1}], {}, ["x"] * 1000 + ["bad_label"]),
    "NaN": ([0.5, math.nan, math.inf], {}, [[0.5], "bad_label", "bad_label"]),
    "an integer beyond every float": ([0.5, 10**400], {}, [[0.5], "bad_label"]),
    "texts of numbers are classes": (["0.5", "1.5"], {}, ["0.5", "1.5"]),
}


@pytest.mark.parametrize(("values", "options", "expected"), VALUES.values(), ids=VALUES.keys())
def test_labels_of_json_are_read_as_their_values_tell(values, options, expected, tmp_path):
    path = write(tmp_path, [{"image": f"{i}.jpg", "label": value} for i, value in enumerate(values)], "labels.jsonl")
    assert labels(path, **options) == expected


# name: a Parquet column, and the labels
COLUMNS = {
    "texts": (pa.array(["x", None]), ["x", "no_label"]),
    "large texts": (pa.array(["x"], pa.large_string()), ["x"]),
    "a dictionary": (pa.array(["x", "y", "x", None]).dictionary_encode(), ["x", "y", "x", "no_label"]),
    "integers": (pa.array([1, None, 2], pa.uint8()), ["1", "no_label", "2"]),
    "truth values": (pa.array([True]), ["true"]),
    "floats": (pa.array([0.5, None, 1.0], pa.float64()), [[0.5], "no_label", [1]]),
    "decimals": (pa.array([1], pa.decimal128(5, 2)), ["1"]),
    "decimals with fractions": (pa.array([Decimal("0.5")], pa.decimal128(5, 2)), [[0.5]]),
    "lists": (pa.array([["x", "y"], [], None]), [["x", "y"], [], "no_label"]),
    "empty lists": (pa.array([[], []], pa.list_(pa.string())), [[], []]),
    "lists of integers": (pa.array([[1, 2]], pa.large_list(pa.int32())), [["1", "2"]]),
    "numbers of fixed length": (pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), [[1, 2]]),
}


@pytest.mark.parametrize(("column", "expected"), COLUMNS.values(), ids=COLUMNS.keys())
def test_labels_of_parquet_are_read_as_their_types_tell(column, expected, tmp_path):
    path = write_parquet(tmp_path, {"image": [f"{i}.jpg" for i in range(len(column))], "label": column})
    assert labels(path) == expected


def class_label(feature):
    return {b"huggingface": json.dumps({"info": {"features": {"label": feature}}}).encode()}


CAT_DOG = {"names": ["cat", "dog"], "_type": "ClassLabel"}


@pytest.mark.parametrize(
    ("feature", "values", "expected"),
    [
        (CAT_DOG, [1, 0, -1, 2, None], ["dog", "cat", "no_label", "bad_label", "no_label"]),
        ({"feature": CAT_DOG, "_type": "Sequence"}, [[1, 0], []], [["dog", "cat"], []]),
        ([CAT_DOG], [[1]], [["dog"]]),
    ],
)
def test_class_labels_of_hugging_face_have_their_names(feature, values, expected, tmp_path):
    table = pa.table({"image": ["a.jpg"] * len(values), "label": values})
    path = write_parquet(tmp_path, table.replace_schema_metadata(class_label(feature)))
    assert opened(path).classes == ("cat", "dog")
    assert labels(path) == expected


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {b"huggingface": b"{"},
        {b"huggingface": b"[" * 100_000},
        {b"huggingface": b'{"info": {"features": 3}}'},
        {b"huggingface": b'{"info": null}'},
        class_label({"names": [1, 2], "_type": "ClassLabel"}),
        class_label({"dtype": "int64", "_type": "Value"}),
    ],
)
def test_metadata_that_name_no_classes_are_passed_over(metadata, tmp_path):
    path = write_parquet(tmp_path, pa.table({"image": ["a.jpg"], "label": [1]}).replace_schema_metadata(metadata))
    assert opened(path).classes is None
    assert labels(path) == ["1"]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [0.25], "b": [0.75]}, {"label_columns": ("a", "b")}, "numbers other than 0 and 1; .* label_type"),
        ({"label": [{"x": 1}]}, {}, "column 'label' holds neither text nor numbers"),
        ({"label": [b"x"]}, {}, "column 'label' holds neither text nor numbers"),
    ],
)
def test_columns_that_hold_no_labels_are_refused(columns, options, message, tmp_path):
    path = write_parquet(tmp_path, {"image": ["a.jpg"], **columns})
    with pytest.raises(DataError, match=message):
        opened(path, **options)


def test_a_separator_and_numbers_do_not_go_together(tmp_path):
    with pytest.raises(CallError, match="label_type='number'"):
        opened(write(tmp_path, "image,label\na,1\n"), label_separator="|", label_type="number")


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("image,label\na,x\n", {}, "the class from column 'label'"),
        ("image,a,b\nc,1,0\n", {"label_columns": ("a", "b")}, "several classes per image, a column each ('a', 'b')"),
        (
            "image,label\na,x\n",
            {"label_separator": ";"},
            "several classes per image from column 'label', separated by ';'",
        ),
        ("image,label\na,1.0\nb,\nc,2.0\n", {}, "the class from column 'label'"),
        ("image,label\na,1.0\n", {"label_type": "number"}, "1 number for regression from column 'label'"),
        ("image,label\na,0.5\n", {}, "1 number for regression from column 'label'"),
        (
            "image,a,b\nc,1,0\n",
            {"label_columns": ("a", "b"), "label_type": "number"},
            "2 numbers for regression from columns 'a', 'b'",
        ),
    ],
)
def test_the_source_says_how_labels_were_read(content, options, sentence, tmp_path):
    assert opened(write(tmp_path, content), **options).describe().endswith(f"; {sentence}")


def test_a_message_names_the_column_and_the_value(tmp_path):
    path = write(tmp_path, "image,label\n" + "1,0.5\n" * 1000 + "2,x\n3,nan\n")
    messages = [row["message"] for row in read_source(path).table.to_pylist()][1000:]
    assert messages == [
        "labels.csv, line 1002: column 'label' holds 'x', which is not a number that float32 can hold",
        "labels.csv, line 1003: column 'label' holds nan, which is no value for regression",
    ]
    assert rows(path, "target")[1000:] == [("2", "bad_label"), ("3", "bad_label")]


# What -1 means, and the labels of the four images, by key.
UNCERTAIN = {
    "negative": {"1": ["cat"], "2": [], "3": ["cat"], "4": ["dog"]},
    "positive": {"1": ["cat"], "2": ["cat"], "3": ["cat", "dog"], "4": ["dog"]},
    "drop": {"1": ["cat"], "4": ["dog"]},
}


@pytest.mark.parametrize("uncertain", UNCERTAIN)
def test_the_user_says_what_an_uncertain_label_means(uncertain, tmp_path):
    path = write(tmp_path, "image,age,cat,dog\n1,7,1.0,\n2,7,-1.0,0.0\n3,8,1,-1\n4,8,,1.0\n")
    with pytest.raises(CallError, match="'cat', 'dog' hold 0, 1 and -1"):
        opened(path, label_columns=("cat", "dog"))
    found = read_source(path, label_columns=("cat", "dog"), uncertain=uncertain)
    labels = {row["key"]: row["label_names"] for row in found.table.to_pylist()}
    assert labels == UNCERTAIN[uncertain]
    assert sum(found.skipped.values()) == 4 - len(labels)


def test_a_late_uncertain_label_is_rejected_with_the_option(tmp_path):
    path = write(tmp_path, "image,cat,dog\n" + "1,0,1\n" * 1000 + "2,-1,0\n")
    last = read_source(path, label_columns=("cat", "dog")).table.to_pylist()[-1]
    assert last["reason"] == "bad_label"
    assert "say what it means with uncertain" in last["message"]


def test_the_option_for_uncertain_labels_needs_columns_of_them(tmp_path):
    path = write(tmp_path, "image,cat\n1,z\n2,-1\n")
    with pytest.raises(CallError, match="other values than 0, 1, -1 and blanks"):
        opened(path, label_columns=("cat",), uncertain="negative")


def test_lists_of_at_most_one_text_are_one_class_and_longer_ones_several(tmp_path):
    lines = [{"image": f"{i}.jpg", "label": [one] if one else []} for i, one in enumerate(["cat", "dog", "", "cat"])]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert rows(path, "key", "label_name") == [
        ("0.jpg", "cat"),
        ("1.jpg", "dog"),
        ("2.jpg", "no_label"),
        ("3.jpg", "cat"),
    ]
    path.write_text(path.read_text() + json.dumps({"image": "4.jpg", "label": ["cat", "dog"]}) + "\n")
    assert rows(path, "key", "label_names")[-1] == ("4.jpg", ["cat", "dog"])
