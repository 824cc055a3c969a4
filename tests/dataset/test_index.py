import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset.index import file as index
from shardkit.dataset.index.checks import coverage_problem
from shardkit.dataset.index.file import SCHEMA, ShardSummary, parse_index, serialize_index
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.errors import DataError


def table_of(lengths):
    """An index of records of these lengths."""
    rows = []
    offset = 0
    for i, length in enumerate(lengths):
        key = f"cat/{i}.jpg"
        filled = {field.name: 1 if pa.types.is_integer(field.type) else "x" for field in SCHEMA}
        given = {
            "offset": offset,
            "length": length,
            "key": key,
            "image_start": 0,
            "image_bytes": 0,
            "group": None,
            "content_sha256": bytes(32),
            "perceptual_hash": bytes(16) if i % 2 else None,
        }
        rows.append(filled | given | {"labels": None if i % 2 else list(range(i))})
        offset += length + OVERHEAD_BYTES
    return pa.Table.from_pylist(rows, SCHEMA), ShardSummary(len(rows), offset, "ab" * 32, "cd" * 32)


@given(st.lists(st.integers(0, 2**40), max_size=5))
def test_parsing_is_the_inverse_of_serialising(lengths):
    table, summary = table_of(lengths)
    parsed, found = parse_index(serialize_index(table, summary), where="x")
    assert found == summary
    assert parsed.schema.equals(SCHEMA, check_metadata=False)
    assert parsed.to_pylist() == table.to_pylist()


def test_equal_tables_give_equal_bytes_however_they_are_chunked():
    table, summary = table_of([1, 2, 3])
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert serialize_index(chunked, summary) == serialize_index(table, summary)


def test_an_index_of_format_1_has_no_perceptual_hashes():
    table, summary = table_of([1, 2])
    old = pq.read_table(io.BytesIO(serialize_index(table, replace(summary, format_version=1))))
    raw = io.BytesIO()
    pq.write_table(old.drop_columns(["perceptual_hash"]), raw)
    for columns in (None, ["key", "perceptual_hash"]):
        parsed, found = parse_index(raw.getvalue(), where="x", columns=columns)
        assert parsed["perceptual_hash"].to_pylist() == [None, None]
        assert found.format_version == 1


def test_some_columns_can_be_read_alone():
    table, summary = table_of([1, 2])
    parsed, _ = parse_index(serialize_index(table, summary), where="x", columns=["key", "offset"])
    assert set(parsed.column_names) == {"key", "offset"}


@pytest.mark.parametrize(
    ("lengths", "change", "problem"),
    [
        ([], lambda table, size: (table, size), None),
        ([0], lambda table, size: (table, size), None),
        ([5, 0, 7], lambda table, size: (table, size), None),
        ([], lambda table, size: (table, 1), "its records end at byte 0, the shard at 1"),
        ([5, 0, 7], lambda table, size: (table, size - 1), "its records end at byte 60, the shard at 59"),
        ([5, 0, 7], lambda table, size: (table.slice(0, 2), size), "its records end at byte 37, the shard at 60"),
        ([5, 0, 7], lambda table, size: (table.slice(1), size), "its row says byte 21"),
        ([5, 0, 7], lambda table, size: (table.take([0, 2, 1]), size), "its row says byte 37"),
        ([5, 0, 7], lambda table, size: (table.take([0, 0, 1, 2]), size), "its row says byte 0"),
    ],
)
def test_records_must_cover_the_shard_end_to_end(lengths, change, problem):
    table, summary = table_of(lengths)
    found = coverage_problem(*change(table, summary.num_bytes))
    assert found is None if problem is None else problem in found


def parquet(table, path):
    pq.write_table(table, path)
    return path.read_bytes()


def other_parquet(tmp_path):
    return parquet(pa.table({"a": [1]}), tmp_path / "other.parquet")


def newer(tmp_path):
    table, summary = table_of([1])
    newest = replace(summary, format_version=index.FORMAT_VERSION + 1)
    return serialize_index(table, newest)


def with_summary(text):
    def made(tmp_path):
        table, _ = table_of([1])
        return parquet(table.replace_schema_metadata({b"shardkit.shard": text}), tmp_path / "x.parquet")

    return made


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda _: b"", "the index cannot be read"),
        (lambda _: b"PAR1 this is not Parquet PAR1", "the index cannot be read"),
        (lambda _: serialize_index(*table_of([1]))[:-10], "the index cannot be read"),
        (other_parquet, "not an index written by shardkit"),
        (with_summary(b"{"), "not an index written by shardkit"),
        (with_summary(b"[]"), "not an index written by shardkit"),
        (with_summary(b'{"num_examples": 1}'), "not an index written by shardkit"),
        (with_summary(b'{"num_examples":1,"num_bytes":1,"sha256":"","format_version":"2"}'), "not an index"),
        (with_summary(b'{"num_examples": 1, "num_bytes": 1, "sha256": "", "more": 2}'), "not an index"),
        (with_summary(b"\xff"), "not an index written by shardkit"),
        (newer, "index format 3 is newer than this shardkit's 2; install a newer"),
    ],
)
def test_anything_else_is_an_error_that_names_the_file(make, sentence, tmp_path):
    with pytest.raises(DataError, match=r"^OUT/x\.index\.parquet: ") as raised:
        parse_index(make(tmp_path), where="OUT/x.index.parquet")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_column_is_an_error_that_names_the_file_and_it():
    table, summary = table_of([1])
    raw = serialize_index(table, summary)
    with pytest.raises(DataError, match=r"^x: .*nonsense"):
        parse_index(raw, where="x", columns=["key", "nonsense"])


def test_key_hashes_never_change():
    # Augmentation is seeded with them. Made with hashlib.blake2b(key, digest_size=8, key=bytes(8), person=b"key"),
    # its digest read as a little-endian, signed number.
    assert index.key_hashes(["cat/1.jpg", "\u00fc.png"]).tolist() == [
        -8026417616726575333,
        -7973240168266946294,
    ]
