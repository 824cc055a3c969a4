"""The whole inventory as one table: sorted, narrow, one chunk a column, whatever the parts were."""

import pyarrow as pa
import pytest

from shardkit.conversion.inventory.table import compact, concat_sorted, ordered_by_key, plain_type

# Keys of several bytes a letter, empty texts, nulls, numbers of all widths, a column that only one part has values in.
ROWS = [
    {"key": f"{'äb'[i % 2]}/{i:03d}", "label_name": "xyz"[i % 3], "source_bytes": size, "message": said, "kept/t": text}
    for i, (size, said, text) in enumerate(
        [(1, None, "a"), (1 << 40, None, ""), (255, "cut off", "c"), (256, None, None), (70_000, "", "e" * 99)] * 4
    )
]
TEXTS = ["key", "label_name", "message", "kept/t"]
SCHEMA = pa.schema([(name, pa.int64() if name not in TEXTS else pa.string()) for name in ROWS[0]])


def parts(rows, size):
    tables = [pa.Table.from_pylist(rows[start : start + size], SCHEMA) for start in range(0, len(rows), size)]
    return [compact(table) for table in tables]


@pytest.mark.parametrize("size", [1, 3, 7, 20])
@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1], sorted(ROWS, key=lambda row: row["key"])])
def test_the_rows_of_all_parts_are_there_once_sorted_by_key_in_one_chunk(rows, size):
    tables = parts(rows, size)
    table = concat_sorted(tables)
    assert table.to_pylist() == sorted(ROWS, key=lambda row: row["key"].encode())
    assert {column.num_chunks for column in table.columns} == {1}
    assert tables == []


@pytest.mark.parametrize(("most", "type_"), [(255, "uint8"), (256, "uint16"), (70_000, "uint32"), (1 << 32, "int64")])
def test_numbers_are_held_in_the_narrowest_type_of_all_parts(most, type_):
    tables = [compact(pa.table({"key": [str(size)], "source_bytes": [size]})) for size in (0, most)]
    assert str(concat_sorted(tables)["source_bytes"].type) == type_


def test_a_slice_of_texts_and_parts_without_rows_are_joined():
    table = pa.table({"key": pa.array(["zz", "a", "", "b"]).slice(1, 3)})
    assert concat_sorted([table, table.slice(0, 0), table])["key"].to_pylist() == ["", "", "a", "a", "b", "b"]
    empty = concat_sorted([table.slice(0, 0)])
    assert (len(empty), plain_type(empty["key"].type)) == (0, pa.string())


def test_a_column_that_only_a_later_table_has_is_kept():
    tables = [pa.table({"key": ["a"]}), pa.table({"key": ["b"], "feature/age": [7]})]
    assert concat_sorted(tables).to_pylist() == [{"key": "a", "feature/age": None}, {"key": "b", "feature/age": 7}]


def test_hashes_with_and_without_nulls_are_joined():
    hashes = [bytes([i]) * 4 for i in range(6)]
    column = pa.array([hashes[0], None, *hashes[1:]], pa.binary(4))
    for chunks in ([column.slice(2)], [column.slice(1, 3), column.slice(4)], [column, column.slice(0, 0)]):
        tables = [pa.table({"key": [str(i) for i in range(len(chunk))], "sha": chunk}) for chunk in chunks]
        wanted = sorted((row for table in tables for row in table.to_pylist()), key=lambda row: row["key"])
        assert concat_sorted(tables).to_pylist() == wanted
    only_nulls = [pa.table({"key": [key], "sha": compact(pa.table({"a": value}))["a"]}) for key, value in NULLS]
    assert concat_sorted(only_nulls)["sha"].to_pylist() == [None, b"1234", None]


NULLS = [(str(i), pa.array([value], pa.binary(4))) for i, value in enumerate([None, b"1234", None])]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("keys", ["bbaazabc", "aabbbccd", "aabbcdab", "zyxzyx"])
def test_rows_of_one_key_stay_in_the_order_of_the_source_wherever_its_parts_begin(keys, size):
    rows = [{"key": key, "offset": i} for i, key in enumerate(keys)]
    tables = [pa.Table.from_pylist(rows[start : start + size]) for start in range(0, len(rows), size)]
    assert concat_sorted(ordered_by_key(tables)).to_pylist() == sorted(rows, key=lambda row: row["key"])


def test_parts_that_follow_each_other_need_no_sorting():
    tables = [pa.table({"key": list(keys)}) for keys in ("cd", "ef", "ab")]
    assert [table["key"].to_pylist() for table in ordered_by_key(tables)] == [["a", "b"], ["c", "d"], ["e", "f"]]
