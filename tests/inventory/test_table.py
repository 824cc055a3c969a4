"""The whole inventory as one table: sorted, narrow, one chunk a column, whatever the parts were."""

import pyarrow as pa
import pytest

from shardkit.inventory.table import compact, concat_sorted, plain_type

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
