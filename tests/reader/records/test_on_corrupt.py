"""Damaged records are replaced by others, always the same ones, and nothing else moves."""

from pathlib import Path

import numpy as np
import pytest

from shardkit import read_manifest, reader
from shardkit.dataset.index.shards import read_columns
from shardkit.errors import CallError, RecordError

from ...fetch.conftest import fetched_batches
from ..conftest import global_batches, texts

BATCH = 12


@pytest.fixture
def damaged(copied):
    """The noise dataset with five records damaged in their data; its folder, and their keys."""
    manifest, victims = read_manifest(str(copied)), []
    for number, shard in enumerate(manifest.splits["train"].shards):
        path = copied / shard.path
        raw = bytearray(path.read_bytes())
        rows = read_columns(manifest.root, shard).to_pylist()
        for row in rows[number::40][:2] if number else rows[5:6]:
            raw[row["offset"] + 12 + row["length"] // 2] ^= 0x55
            victims.append(row["key"])
        path.write_bytes(raw)
    return str(copied), set(victims)


def read(folder, **options):
    return reader.make_dataset_fn(folder, "train", **({"global_batch_size": BATCH, "on_corrupt": "skip"} | options))


def test_only_damaged_records_are_replaced_and_no_position_moves(damaged, noise):
    folder, victims = damaged
    dataset_fn, sound_fn = read(folder), reader.make_dataset_fn(noise, "train", global_batch_size=BATCH)
    steps = dataset_fn.steps_per_epoch
    num_replaced = 0
    for step, (batch, sound) in enumerate(
        zip(fetched_batches(dataset_fn, steps), fetched_batches(sound_fn, steps), strict=True)
    ):
        wanted = dataset_fn.batch_keys(step)
        assert texts(sound["key"]) == wanted
        for i, key in enumerate(texts(batch["key"])):
            if wanted[i] in victims:
                assert key not in victims
                num_replaced += 1
            else:
                assert key == wanted[i]
                assert batch["image"][i] == sound["image"][i]
    assert num_replaced >= len(victims) == 5
    assert {record.key for record in dataset_fn.damaged_records} == victims
    assert all(record.shard.startswith("train-") and record.problem for record in dataset_fn.damaged_records)


@pytest.mark.slow  # in NumPy: golden/test_sampler_and_sequence.py
@pytest.mark.parametrize("num_workers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_number_of_workers_puts_the_same_examples_in_their_place(num_workers, damaged):
    folder, _ = damaged
    alone = list(global_batches(read(folder, image_size=(8, 8)), 26))
    shared = list(global_batches(read(folder, image_size=(8, 8)), 26, num_workers=num_workers, replicas=2))
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_in_evaluation_what_steps_in_weighs_nothing(damaged):
    folder, victims = damaged
    dataset_fn = read(folder, training=False)
    seen = {}
    for batch in fetched_batches(dataset_fn):
        for key, weight in zip(texts(batch["key"]), batch["weight"], strict=True):
            seen[key] = seen.get(key, 0) + weight
    assert not victims & set(seen)
    assert len(seen) == 307 - len(victims)
    assert set(seen.values()) == {1.0}


def test_more_than_the_budget_stops_with_the_record_that_was_one_too_many(damaged):
    folder, victims = damaged
    dataset_fn = read(folder, on_corrupt=reader.Skip(3))
    with pytest.raises(RecordError, match="damaged record 4, and 3 are allowed: run `shardkit verify`"):
        list(fetched_batches(dataset_fn, dataset_fn.steps_per_epoch))
    assert read(folder, on_corrupt=reader.Skip(len(victims)))
    with pytest.raises(CallError):
        reader.make_dataset_fn(folder, "train", global_batch_size=4, on_corrupt="ignore")
    with pytest.raises(CallError):
        read(folder, on_corrupt=reader.Skip(-1))


def test_a_whole_shard_may_be_gone_while_training(damaged):
    folder, _ = damaged
    manifest = read_manifest(folder)
    dataset_fn = read(folder, on_corrupt=reader.Skip(307))
    (Path(folder) / manifest.splits["train"].shards[0].path).unlink()
    keys = [key for batch in fetched_batches(dataset_fn, 26) for key in texts(batch["key"])]
    gone = set(read_columns(manifest.root, manifest.splits["train"].shards[0])["key"].to_pylist())
    assert not gone & set(keys)
    assert len(keys) == 26 * BATCH
