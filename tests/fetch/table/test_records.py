import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shardkit import read_manifest
from shardkit.dataset.index.file import SCHEMA, ShardSummary, serialize_index
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import Index, Shard
from shardkit.errors import DataError
from shardkit.fetch.table.records import load_table
from shardkit.hashing import sha256_hex
from shardkit.storage import LocalFolder, open_folder

from ...dataset.hostile import INDEXES, with_index


def test_a_row_is_what_the_index_says(noise):
    manifest = read_manifest(noise)
    table = load_table(manifest, "train")
    shards = manifest.split("train").shards
    indexes = pa.concat_tables([read_columns(manifest.root, shard) for shard in shards])
    for name in ("offset", "label", "key_hash", "height", "width", "image_start", "image_bytes"):
        np.testing.assert_array_equal(getattr(table, name), indexes[name].to_numpy())
    assert table.num_examples == len(indexes) == 307
    assert table.keys(np.arange(307)) == indexes["key"].to_pylist()
    assert [os.path.getsize(path) for path in table.paths] == [shard.num_bytes for shard in shards]


def test_png_is_told_from_jpeg_by_row(mixed):
    table = load_table(read_manifest(mixed), "train")
    keys = table.keys(np.arange(table.num_examples))
    assert table.is_png.tolist() == [key.endswith(".png") for key in keys]


class Counting(LocalFolder):
    reads = 0

    def read(self, path):
        Counting.reads += 1
        return LocalFolder.read(self, path)


def test_an_index_is_read_once_for_the_keys_of_all_batches(noise, monkeypatch):
    monkeypatch.setattr(Counting, "reads", 0)
    table = load_table(read_manifest(noise), "train")
    table = replace(table, roots=[Counting(noise)] * 3)
    for first in range(10):
        table.keys(np.arange(first, 307, 10))
    assert Counting.reads == 3


def test_keys_come_in_the_order_asked_for_and_repeat(noise):
    table = load_table(read_manifest(noise), "train")
    every = table.keys(np.arange(307))
    asked = np.array([306, 0, 150, 0, 306, 102, 103])
    assert table.keys(asked) == [every[i] for i in asked]
    assert table.keys(np.array([], np.int64)) == []


COUNTS = [250_000, 1, 0, 499_999, 250_000]  # uneven, one of a single record and one without
NUM_EXAMPLES = 1_000_000


@pytest.fixture(scope="module")
def million(noise, tmp_path_factory):
    """A manifest of a million records whose shards hold no bytes but have their size."""
    root = tmp_path_factory.mktemp("million")
    shards, start = [], 0
    for number, count in enumerate(COUNTS):
        name = f"train-{number:05d}-of-{len(COUNTS):05d}"
        ids = np.arange(start, start + count)
        length = 1000 + ids % 7
        offset = np.concatenate(([0], np.cumsum(length + 16)))
        columns = {
            "offset": offset[:-1],
            "length": length,
            "key": pa.array(ids).cast(pa.string()),
            "key_hash": -ids,
            "label": ids % 1000,
            "label_name": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["one"]),
            "labels": pa.nulls(count, pa.list_(pa.int32())),
            "height": ids % 500 + 1,
            "width": ids % 400 + 1,
            "format": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["JPEG"]),
            "image_start": np.full(count, 30),
            "image_bytes": length - 100,
            "group": pa.nulls(count, pa.string()),
            "source_bytes": length,
            "content_sha256": pa.array([bytes(32)]).take(np.zeros(count, np.int64)),
            "perceptual_hash": pa.nulls(count, pa.binary(16)),
            "changes": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [""]),
        }
        rows = pa.table({name: pa.array(column) for name, column in columns.items()}).cast(SCHEMA)
        raw = serialize_index(rows, ShardSummary(count, int(offset[-1]), f"{number:064x}", "0" * 64))
        (root / f"{name}.index.parquet").write_bytes(raw)
        with open(root / f"{name}.tfrecord", "wb") as sparse:
            sparse.truncate(offset[-1])
        index = Index(path=f"{name}.index.parquet", sha256=sha256_hex(raw))
        shards.append(
            Shard(
                path=f"{name}.tfrecord",
                num_examples=count,
                num_bytes=int(offset[-1]),
                sha256=f"{number:064x}",
                index=index,
            )
        )
        start += count
    manifest = read_manifest(noise)
    split = manifest.split("train").model_copy(update={"shards": shards})
    made = manifest.model_copy(update={"splits": {"train": split}})
    made._root = open_folder(str(root))
    return made


def test_a_million_records_lie_where_their_ids_say(million):
    table = load_table(million, "train")
    ids = np.arange(NUM_EXAMPLES)
    assert table.num_examples == NUM_EXAMPLES
    assert table.starts.tolist() == [0, 250_000, 250_001, 750_000, 1_000_000]
    np.testing.assert_array_equal(table.label, ids % 1000)
    np.testing.assert_array_equal(table.key_hash, -ids)
    assert not table.is_png.any()
    # What the graph holds in memory for every example.
    columns = ("offset", "key_hash", "label", "height", "width", "image_start", "image_bytes")
    assert sum(getattr(table, name).itemsize for name in columns) == 36


@pytest.mark.parametrize(
    ("example_id", "shard", "number"),
    [
        (0, 0, 0),
        (249_999, 0, 249_999),
        (250_000, 1, 0),  # the single record
        (250_001, 3, 0),  # behind it and behind the shard without records
        (749_999, 3, 499_998),
        (750_000, 4, 0),
        (999_999, 4, 249_999),
    ],
)
def test_an_id_is_a_record_of_a_shard(million, example_id, shard, number):
    table = load_table(million, "train")
    _, found, record = table.location(example_id)
    assert (found.path, record) == (f"train-{shard:05d}-of-00005.tfrecord", number)
    assert table.keys(np.array([example_id])) == [str(example_id)]


@pytest.mark.parametrize(
    "lie", ["a high image", "a huge offset", "a negative offset", "an image behind its record", "another class"]
)
def test_an_index_of_a_stranger_is_compared_with_the_shard(lie, noise, tmp_path):
    change, _ = INDEXES[lie]
    bad = with_index(Path(noise), tmp_path / "bad", change)
    with pytest.raises(DataError, match=r"bad/train-00000-of-00003\.index\.parquet: .*restore it or convert again"):
        load_table(read_manifest(str(bad)), "train")
