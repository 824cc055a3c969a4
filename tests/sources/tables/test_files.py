import datetime as dt
import json

import pyarrow as pa
import pytest

from shardkit.errors import DataError, MachineError, UnknownNameError
from shardkit.testing import listed, opened, read_source

from ..table_reading import rows, write, write_parquet

# name: a JSON Lines file, and key and label, or key and reason
LINES = {
    "byte order mark and empty lines": (b'\xef\xbb\xbf\n{"image":"a","label":"x"}\r\n\n', [("a", "x")]),
    "another order": ('{"image":"a","label":"x"}\n{"label":"y","image":"b"}', [("a", "x"), ("b", "y")]),
    "a column less": ('{"image":"a","label":"x"}\n{"image":"b"}', [("a", "x"), ("b", "no_label")]),
    "no path": (
        '{"image":"a","label":"x"}\n{"label":"x"}\n{"image":0.5,"label":"x"}\n{"image":["b"],"label":"x"}',
        [("a", "x"), *[(f"labels.jsonl, line {i}", "bad_path") for i in (2, 3, 4)]],
    ),
    "an identifier": ('{"image":"a","label":"x"}\n{"image":3,"label":"x"}', [("a", "x"), ("3", "x")]),
    "what is no JSON": (
        '{"image":"a","label":"x"}\n{"image":\nx',
        [("a", "x"), ("labels.jsonl, line 2", "bad_line"), ("labels.jsonl, line 3", "bad_line")],
    ),
    "what is no object": (
        '{"image":"a","label":"x"}\n[1]\n3\nnull',
        [("a", "x"), *[(f"labels.jsonl, line {i}", "bad_line") for i in (2, 3, 4)]],
    ),
    "too deep": ('{"image":"a","label":"x"}\n' + "[" * 100_000, [("a", "x"), ("labels.jsonl, line 2", "bad_line")]),
    "a name twice": (
        '{"image":"a","label":"x"}\n{"image":"b","image":"c","label":"x"}',
        [("a", "x"), ("labels.jsonl, line 2", "bad_line")],
    ),
    "half a surrogate pair": (
        '{"image":"a","label":"x"}\n{"image":"\\ud800","label":"x"}\n{"image":"\\ud83d\\ude00","label":"x"}',
        [("a", "x"), ("labels.jsonl, line 2", "bad_line"), ("\U0001f600", "x")],
    ),
    "a NUL in the path": (
        '{"image":"a","label":"x"}\n{"image":"b\\u0000","label":"x"}',
        [("a", "x"), ("labels.jsonl, line 2", "bad_path")],
    ),
    "an integer of 5,000 digits": (
        '{"image":"a","label":"x"}\n{"image":"b","label":' + "1" * 5000 + "}",
        [("a", "x"), ("labels.jsonl, line 2", "bad_line")],
    ),
    "not UTF-8": (
        b'{"image":"a","label":"x"}\n{"image":"\xff","label":"x"}',
        [("a", "x"), ("labels.jsonl, line 2", "bad_line")],
    ),
    "a name that comes late": (
        '{"image":"a","label":"x"}\n' * 1000 + '{"image":"b","label":"x","new":1}',
        [("a", "x")] * 1000 + [("b", "x")],
    ),
    "names that are data": (
        "".join(f'{{"image":"a","label":"x","{i}":1}}\n' for i in range(1001)),
        [("a", "x")] * 1000 + [("labels.jsonl, line 1001", "bad_line")],
    ),
}


@pytest.mark.parametrize(("content", "expected"), LINES.values(), ids=LINES.keys())
def test_json_lines_are_read_one_by_one(content, expected, tmp_path):
    assert rows(write(tmp_path, content, "labels.jsonl"), "key", "label_name") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ('[\n{"image": "a"}\n]', "none of the columns 'image'"),  # its second line is one
        ("3\n4\n", "line 1: .*not a JSON object"),
        ("{}\n{}\n", "it is empty"),
    ],
)
def test_a_file_without_any_object_is_refused(content, message, tmp_path):
    path = write(tmp_path, content, "labels.jsonl")
    with pytest.raises(DataError, match=message):
        opened(path)


# name: JSON values, and how they are carried; None where they are not
CARRIED = {
    "integers": ([1, 2], pa.int64(), [1, 2]),
    "integers with a null": ([1, None], pa.string(), ["1", ""]),
    "beyond int64": ([2**63, 1], pa.string(), [str(2**63), "1"]),
    "truth values": ([True, False], pa.int64(), [1, 0]),
    "floats and integers": ([1, 2.5, None], pa.float32(), [1, 2.5, None]),
    "texts": (["x", None], pa.string(), ["x", ""]),
    "texts and numbers": (["x", 1, True, 0.5], pa.string(), ["x", "1", "true", "0.5"]),
    "nulls": ([None, None], pa.string(), ["", ""]),
    "lists": ([[1, 2], [], None], pa.list_(pa.int64()), [[1, 2], [], []]),
    "empty lists": ([[], []], pa.list_(pa.string()), [[], []]),
    "lists of floats": ([[1, 0.5]], pa.list_(pa.float32()), [[1, 0.5]]),
    "objects": ([{"a": 1}, {"a": 2}], None, None),
    "lists of lists": ([[[1]]], None, None),
    "lists of objects": ([[{"a": 1}]], None, None),
    "lists and texts": ([["x"], "y"], None, None),
}


@pytest.mark.parametrize(("values", "type_", "expected"), CARRIED.values(), ids=CARRIED.keys())
def test_json_values_are_carried_in_the_type_that_fits_all(values, type_, expected, tmp_path):
    path = write(tmp_path, [{"image": "a", "label": "x", "extra": value} for value in values], "labels.jsonl")
    source = opened(path)
    if type_ is None:
        assert source.schema.names[-1] == "line"
        assert source.describe().endswith("; left out 'extra'")
        return
    column = listed(source).table["feature:extra"]
    assert column.type == type_
    assert [None if one != one else one for one in column.to_pylist()] == expected  # None for NaN


# a value that the first 1,000 records have, one that only a later record has, and the type of all of them
LATER = [
    (1, "x", pa.string()),
    (1, None, pa.string()),
    (1, 1.5, pa.float32()),
    (1, 2**63, pa.string()),
    (0.5, None, pa.float32()),
    (0.5, "1", pa.string()),
    (0.5, True, pa.string()),
    (0.5, 10**400, pa.string()),
    (0.5, 1e39, pa.string()),
    (0.5, 2**63, pa.float32()),
    (None, "x", pa.string()),
    (None, 1, pa.string()),
    ([1], ["x"], pa.list_(pa.string())),
    ([1], [None], pa.list_(pa.string())),
    ([1], [0.5], pa.list_(pa.float32())),
    ([], [1], pa.list_(pa.int64())),
    ([1], 1, None),
    ([1], [[1]], None),
    ("x", ["y"], None),
    ("x", {"y": 1}, None),
]


@pytest.mark.parametrize(("first", "later", "type_"), LATER)
def test_a_json_value_that_comes_late_widens_its_column_and_costs_no_image(first, later, type_, tmp_path):
    values = [first] * 1000 + [later]
    path = write(tmp_path, [{"image": "a", "label": "x", "extra": value} for value in values], "labels.jsonl")
    assert rows(path, "key") == [("a",)] * 1001
    fields = {field.name: field.type for field in opened(path).schema}
    assert fields.get("feature:extra") == type_


# columns of two row groups, and the type of all of it
LATER_PARQUET = [
    (pa.array([1, None]), pa.string()),
    (pa.array([0.5, None]), pa.float32()),
    (pa.array([0.5, 1e39]), pa.string()),
    (pa.array([1, 2**63], pa.uint64()), pa.string()),
    (pa.array([[1], [None]]), pa.list_(pa.string())),
    (pa.array([[1], None]), pa.list_(pa.int64())),
    (pa.array([[0.5], [None]]), pa.list_(pa.float32())),
]


@pytest.mark.parametrize(("column", "type_"), LATER_PARQUET)
def test_a_parquet_value_that_comes_late_widens_its_column_and_costs_no_image(column, type_, tmp_path):
    column = column.take(pa.array([0] * 1000 + [1]))
    path = write_parquet(tmp_path, {"image": ["a"] * 1001, "label": ["x"] * 1001, "extra": column}, row_group_size=900)
    assert rows(path, "key") == [("a",)] * 1001
    assert opened(path).schema.field("feature:extra").type == type_


# name: a Parquet column, and how it is carried
PARQUET = {
    "integers": (pa.array([1, 2], pa.int8()), pa.int64(), [1, 2]),
    "integers with a null": (pa.array([1, None]), pa.string(), ["1", ""]),
    "unsigned": (pa.array([2**63 - 1], pa.uint64()), pa.int64(), [2**63 - 1]),
    "truth values": (pa.array([True, False]), pa.int64(), [1, 0]),
    "floats": (pa.array([0.5, None], pa.float64()), pa.float32(), [0.5, None]),
    "half floats": (pa.array([0.5], pa.float32()).cast(pa.float16()), pa.float32(), [0.5]),
    "lists of half floats": (
        pa.ListArray.from_arrays([0, 1], pa.array([0.5], pa.float32()).cast(pa.float16())),
        pa.list_(pa.float32()),
        [[0.5]],
    ),
    "lists of decimals": (pa.array([[2]], pa.list_(pa.decimal128(5, 1))), pa.list_(pa.float32()), [[2]]),
    "decimals": (pa.array([2], pa.decimal128(5, 1)), pa.float32(), [2]),
    "texts": (pa.array(["x", None], pa.large_string()), pa.string(), ["x", ""]),
    "dictionaries": (pa.array(["x", "x"]).dictionary_encode(), pa.string(), ["x", "x"]),
    "days": (pa.array([dt.date(2024, 2, 29)]), pa.string(), ["2024-02-29"]),
    "times to the nanosecond": (pa.array([1], pa.timestamp("ns")), pa.string(), ["1970-01-01 00:00:00.000000001"]),
    "lists": (pa.array([[1], None, []]), pa.list_(pa.int64()), [[1], [], []]),
    "fixed lists": (pa.array([[0.5, 1.0]], pa.list_(pa.float64(), 2)), pa.list_(pa.float32()), [[0.5, 1]]),
    "bytes": (pa.array([b"x"]), None, None),
    "structs": (pa.array([{"a": 1}]), None, None),
    "lists of lists": (pa.array([[[1]]]), None, None),
    "nothing": (pa.nulls(2), None, None),
}


@pytest.mark.parametrize(("column", "type_", "expected"), PARQUET.values(), ids=PARQUET.keys())
def test_parquet_columns_are_carried_in_their_type(column, type_, expected, tmp_path):
    many = len(column)
    path = write_parquet(tmp_path, {"image": ["a"] * many, "label": ["x"] * many, "extra": column})
    source = opened(path)
    if type_ is None:
        assert source.describe().endswith("; left out 'extra'")
        assert listed(source).table.num_rows == many
        return
    found = listed(source).table["feature:extra"]
    assert found.type == type_
    assert [None if one != one else one for one in found.to_pylist()] == expected  # None for NaN


def test_row_groups_are_parts_and_lines_count_through(tmp_path):
    path = write_parquet(tmp_path, {"image": [f"{i}" for i in range(10)], "label": ["x"] * 10}, row_group_size=4)
    source = opened(path)
    assert [
        [row["line"] for one in source.list_part(part, 3) for row in one.table().to_pylist()] for part in source.parts()
    ] == [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [9, 10],
        [],  # of images that the table does not name
    ]


def test_a_text_that_is_not_utf_8_rejects_its_record_only(tmp_path):
    texts = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffc")]
    )
    path = write_parquet(tmp_path, {"image": texts, "label": ["x"] * 3})
    assert rows(path, "key", "label_name") == [("a", "x"), ("labels.parquet, line 2", "bad_line"), ("c", "x")]


def test_the_index_that_pandas_stores_is_left_out(tmp_path):
    path = write_parquet(tmp_path, {"image": ["a"], "label": ["x"], "__index_level_0__": [7]})
    assert opened(path).schema.names[-1] == "line"


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no table at all, but long enough for a footer", "cut", "flip"])
def test_a_damaged_parquet_file_is_refused(damage, tmp_path):
    path = write_parquet(tmp_path, {"image": ["a"] * 100, "label": ["x"] * 100})
    data = path.read_bytes()
    if damage == "cut":
        damage = data[:-20]
    elif damage == "flip":  # in the footer
        damage = data[:-40] + bytes(byte ^ 0xFF for byte in data[-40:-8]) + data[-8:]
    path.write_bytes(damage)
    with pytest.raises(DataError, match=r"labels\.parquet: (this is not a Parquet file|the Parquet file is damaged)"):
        opened(path)


def test_a_parquet_file_without_records_is_refused(tmp_path):
    with pytest.raises(DataError, match="no records that can be read; only columns"):
        opened(write_parquet(tmp_path, {"image": pa.array([], pa.string()), "label": pa.array([], pa.string())}))


def test_a_table_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refusing(*_):  # permissions do not hold for the superuser, who may be running this
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "image,label\na,x\n")
    monkeypatch.setattr("shardkit.storage.LocalFolder.open", refusing)
    with pytest.raises(MachineError, match=r"labels\.csv: cannot read the table: Permission denied$"):
        opened(path)


@pytest.mark.parametrize("column", ["image", "label", "split", "patient", "extra", "whole"])
def test_values_nested_as_deep_as_json_can_are_told_in_short(column, tmp_path):
    good = {"image": "a", "label": "x", "split": "train", "patient": "p", "extra": "e", "whole": 1}
    depth = 900  # json.loads of some versions gives up beyond
    lines = [json.dumps(good)] * 1000 + [
        json.dumps(good | {column: "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
    ]
    path = write(tmp_path, "\n".join(lines), "labels.jsonl")
    row = read_source(path, group_by="patient").table.to_pylist()[-1]
    if column in {"extra", "whole"}:  # only a feature
        assert row["reason"] is None
        assert f"feature:{column}" not in row
    else:
        assert row["reason"] in {"bad_path", "bad_label", "bad_split", "bad_value"}
        assert len(row["message"]) < 300
    if column in {"patient", "extra"}:  # also where it is among those that decide
        assert rows(write(tmp_path, lines[-1], "one.jsonl"), "key") == [("a",)]


def test_a_parquet_column_may_have_a_dot_in_its_name(tmp_path):
    columns = {"image": ["a"], "label": ["x"], "a.b": [1], "a": [{"b": "inside"}]}
    assert rows(write_parquet(tmp_path, columns), "key", "feature:a.b") == [("a", 1)]


def test_a_parquet_file_of_nothing_that_can_be_carried_is_refused(tmp_path):
    with pytest.raises(DataError, match="column 'label' holds neither text nor numbers"):
        opened(write_parquet(tmp_path, {"image": ["a.jpg"], "label": [{"a": 1}]}))


NAMES = [f"column {i}" for i in range(6000)]
WIDE = {
    "csv": ",".join(["image", "label", *NAMES]) + "\n" + ",".join(["a.jpg", "cat", *NAMES]) + "\n",
    "tsv": "\t".join(["image", "label", *NAMES]) + "\n" + "\t".join(["a.jpg", "cat", *NAMES]) + "\n",
    # No line has too many, all of them have.
    "jsonl": [{"image": "a.jpg", "label": "cat", **dict.fromkeys(NAMES[i::2], 1)} for i in range(2)],
    "parquet": {name: ["a.jpg"] for name in ["image", "label", *NAMES]},
}


@pytest.mark.parametrize("kind", WIDE)
def test_a_table_of_too_many_columns_is_refused_with_their_number(kind, tmp_path):
    name = f"wide.{kind}"
    path = write_parquet(tmp_path, WIDE[kind], name) if kind == "parquet" else write(tmp_path, WIDE[kind], name)
    with pytest.raises(DataError) as error:
        opened(path)
    assert name in str(error.value)
    assert "6,002 columns" in str(error.value)
    assert len(str(error.value)) < 1000


def test_a_json_line_of_too_many_columns_is_rejected_alone(tmp_path):
    good = [{"image": f"{i}.jpg", "label": "cat"} for i in range(2)]
    path = write(tmp_path, [good[0], {**good[0], **dict.fromkeys(NAMES, 1)}, good[1]], "a.jsonl")
    assert rows(path, "key") == [("0.jpg",), ("a.jsonl, line 2", "bad_line"), ("1.jpg",)]


def test_many_columns_are_told_in_short(tmp_path):
    path = write(tmp_path, [{"image": "a.jpg", "label": "cat", **dict.fromkeys(NAMES[:3000], 1)}], "a.jsonl")
    said = opened(path).describe()
    assert "2,980 more" in said
    assert len(said) < 2000
    with pytest.raises(UnknownNameError) as error:
        opened(path, label_columns=("colour",))
    assert len(str(error.value)) < 2000
