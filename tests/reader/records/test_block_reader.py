"""Whole blocks are read at once: not a byte twice, and one damaged record costs that record only."""

import shutil
import time

import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest
from shardkit.errors import RecordError
from shardkit.fetch.fetcher import record_files
from shardkit.fetch.table.records import load_table
from shardkit.reader import BlockOrder, make_dataset_fn
from shardkit.testing import convert_without_beam, picture, write_tree

from ...fetch.conftest import fetched_batches
from ...fetch.damaging import damage
from ..conftest import texts

NUM_EXAMPLES = 307
BLOCKS = {"order": BlockOrder(block_records=8, window_blocks=2, lanes=4), "cache": None}


def bytes_read():
    """By this process so far, from whatever file."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("rchar")).split()[1])


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """307 pictures of noise, 5 to 33 kB each, 5.5 MB in all; not to be changed."""
    root = tmp_path_factory.mktemp("varied")
    pictures = {}
    for i in range(NUM_EXAMPLES):
        pictures[f"{'ab'[i % 2]}/{i:03d}.png"] = picture(i, width=40 + i % 64, height=40 + i % 65)
    convert_without_beam(str(write_tree(root / "source", pictures)), str(root / "dataset"), shards=3)
    return str(root / "dataset")


@pytest.fixture
def copied(noise, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(noise, tmp_path / "copy")


@pytest.fixture(scope="module")
def table(noise):
    return load_table(read_manifest(noise), "train")


def read_records(files, table, ids):
    return files.read(table.shard_of(ids), table.offset[ids], table.length[ids].astype(np.int64))


def frame_bytes(table):
    return table.length + 16


def test_frames_are_as_long_as_the_index_says(noise, table):
    manifest = read_manifest(noise)
    sizes = np.add.reduceat(frame_bytes(table), table.starts[:-1])
    assert sizes.tolist() == [shard.num_bytes for shard in manifest.splits["train"].shards]
    assert frame_bytes(table).min() > table.image_bytes.min()


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_every_worker_reads_what_is_listed_and_every_byte_once_an_epoch(num_workers, noise, table):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=4, **BLOCKS)
    total, steps = int(frame_bytes(table).sum()), 2 * NUM_EXAMPLES // 4
    batches = fetched_batches(dataset_fn, 80 + steps, num_workers)
    # What was read ahead when counting begins is made up for by what is read ahead when it ends, but for a window.
    for step in range(80):  # an epoch and some: to list takes longer than to read
        assert texts(next(batches)["key"]) == dataset_fn.batch_keys(step)
    before = bytes_read()
    for _ in range(steps):
        next(batches)
    read, slack = bytes_read() - before, 2 * 4 * 2 * 8 * int(frame_bytes(table).max())
    assert 2 * total - slack <= read <= 2 * total * 1.05 + slack
    assert slack < total


def test_evaluation_reads_every_byte_once(noise, table):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=4, training=False, **BLOCKS)
    before, keys = bytes_read(), []
    for batch in fetched_batches(dataset_fn):
        keys += [key for key, weight in zip(texts(batch["key"]), batch["weight"], strict=True) if weight]
    assert bytes_read() - before <= 1.05 * int(frame_bytes(table).sum())
    plain = make_dataset_fn(noise, "train", global_batch_size=4, training=False)
    assert keys == [key for step in range(plain.steps_per_epoch) for key in plain.batch_keys(step)]


@pytest.mark.parametrize(
    "ids",
    [[0], [306], [5, 4, 3], [0, 306, 0, 150], [306, 306], list(range(306, -1, -1)), [0, 299, 2, 1, 298]],
    ids=["first", "last", "descending", "twice", "padding", "all", "apart"],
)
def test_any_examples_are_read_in_the_order_asked_for(ids, noise, table):
    plain = make_dataset_fn(noise, "train", global_batch_size=1, training=False)
    sizes = [int(table.length[i]) for i in ids]
    found = read_records(record_files(table), table, np.array(ids))
    assert [len(record) for record in found] == sizes
    features = [tf.train.Example.FromString(record).features.feature for record in found]
    assert [example["key"].bytes_list.value[0].decode() for example in features] == [
        plain.batch_keys(i)[0] for i in ids
    ]


def test_what_lies_far_apart_is_not_read_along(table):
    spread = np.array([0, NUM_EXAMPLES - 1])
    files = record_files(table)
    read_records(files, table, spread)
    before = bytes_read()
    read_records(files, table, spread)
    assert bytes_read() - before < int(frame_bytes(table)[spread].sum()) + 1000


@pytest.mark.parametrize("training", [True, False])
def test_a_damaged_record_costs_itself_and_no_other(training, copied, noise, table):
    victims = [3, 4, 170]
    damage(table, victims, copied)
    options = {"global_batch_size": 4, "training": training, **BLOCKS}
    dataset_fn = make_dataset_fn(str(copied), "train", on_corrupt="skip", **options)
    plain = make_dataset_fn(noise, "train", global_batch_size=1, training=False)
    damaged_keys = {plain.batch_keys(i)[0] for i in victims}
    replaced = 0
    for step, batch in enumerate(fetched_batches(dataset_fn, 76)):
        for key, wanted in zip(texts(batch["key"]), dataset_fn.batch_keys(step), strict=True):
            assert key == wanted or wanted in damaged_keys
            replaced += wanted in damaged_keys
    assert replaced >= 2
    assert {record.key for record in dataset_fn.damaged_records} == damaged_keys


def test_a_damaged_record_is_named(copied, table):
    damage(table, [170], copied)
    dataset_fn = make_dataset_fn(str(copied), "train", global_batch_size=4, **BLOCKS)
    with pytest.raises(RecordError, match=r"train-\d+-of-00003.tfrecord: record \d+, key '\w+/\d+.png'"):
        list(fetched_batches(dataset_fn, 80))


def test_a_shard_that_goes_while_training_is_named_and_nothing_hangs(copied, table):
    dataset_fn = make_dataset_fn(str(copied), "train", global_batch_size=4, **BLOCKS)
    (copied / table.shards[1].path).unlink()
    with pytest.raises(RecordError, match=table.shards[1].path):
        list(fetched_batches(dataset_fn, 80))


def test_a_worker_reads_no_more_than_two_windows_ahead(noise, table):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=4, **BLOCKS)
    before, batches = bytes_read(), fetched_batches(dataset_fn, 80)
    next(batches)
    seen, read = 0, bytes_read() - before
    while read - seen > 1000:  # until it rests
        time.sleep(0.3)
        seen, read = read, bytes_read() - before
    window = 2 * 8 * float(frame_bytes(table).mean())
    assert 4 * window < read < 2 * 4 * window * 1.3 + 100_000
