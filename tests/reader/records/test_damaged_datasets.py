import json
import re

import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest
from shardkit.dataset.manifest import digest_of, parse_manifest
from shardkit.errors import DataError, ManifestError
from shardkit.reader import make_dataset_fn
from shardkit.storage import open_folder

from ...fetch.conftest import fetched_batches
from ...fetch.damaging import damage as damage_records
from ..conftest import texts


def shard_of(folder, number=1):
    return read_manifest(str(folder)).split("train").shards[number]


def make(folder, **changed):
    return make_dataset_fn(str(folder), "train", **({"global_batch_size": 8} | changed))


def remove_shard(folder):
    (folder / shard_of(folder).path).unlink()


def truncate_shard(folder):
    path = folder / shard_of(folder).path
    path.write_bytes(path.read_bytes()[:-1])


def lengthen_shard(folder):
    path = folder / shard_of(folder).path
    path.write_bytes(path.read_bytes() + b"\0")


def remove_index(folder):
    (folder / shard_of(folder).index.path).unlink()


def swap_indexes(folder):
    first, second = (folder / shard_of(folder, number).index.path for number in (0, 1))
    (a, b) = (first.read_bytes(), second.read_bytes())
    first.write_bytes(b)
    second.write_bytes(a)


def damage_index(at):
    def damage(folder):
        path = folder / shard_of(folder).index.path
        raw = bytearray(path.read_bytes())
        raw[at] ^= 0x10
        path.write_bytes(raw)

    return damage


def empty_index(folder):
    (folder / shard_of(folder).index.path).write_bytes(b"")


def remove_manifest(folder):
    (folder / "manifest.json").unlink()


def edit_manifest(*, seal=False, **fields):
    """Changes the manifest's text; `seal` computes its digest anew, as an attacker would."""

    def edit(folder):
        path = folder / "manifest.json"
        content = json.loads(path.read_text()) | fields
        if seal:
            content["splits"]["train"]["shards"][1]["path"] = "../elsewhere.tfrecord"
        path.write_text(json.dumps(content))

    return edit


@pytest.mark.parametrize(
    ("damage", "error", "sentence"),
    [
        (
            remove_shard,
            DataError,
            "train-00001-of-00003.tfrecord: the shard is missing; restore it or convert again with overwrite=True",
        ),
        (truncate_shard, DataError, "train-00001-of-00003.tfrecord: the shard has"),
        (lengthen_shard, DataError, "train-00001-of-00003.tfrecord: the shard has"),
        (remove_index, DataError, "train-00001-of-00003.index.parquet: the index is missing"),
        (empty_index, DataError, "train-00001-of-00003.index.parquet: the index is not the one"),
        (swap_indexes, DataError, ".index.parquet: the index is not the one that the manifest names"),
        # In the data of a column Parquet itself notices nothing: labels would be wrong without a word.
        (damage_index(500), DataError, "train-00001-of-00003.index.parquet: the index is not the one"),
        (damage_index(-5), DataError, "train-00001-of-00003.index.parquet: the index is not the one"),
        (remove_manifest, ManifestError, "manifest.json: there is no manifest here"),
        (edit_manifest(format_version=99), ManifestError, "manifest format 99 is newer than this shardkit's 3"),
        (edit_manifest(name="other"), ManifestError, "manifest.json: the digest does not match the content"),
        (edit_manifest(seal=True), ManifestError, "path '../elsewhere.tfrecord' may not be used"),
    ],
)
def test_damage_is_told_when_the_function_is_made(copied, damage, error, sentence):
    damage(copied)
    with pytest.raises(error, match=re.escape(sentence)):
        make(copied)


def test_the_index_of_another_conversion_is_told(copied, noise):
    """Manifest and index agree with each other and in the number of examples, and not with the shard."""
    manifest = read_manifest(str(copied))
    split = manifest.split("train")
    first, second, third = split.shards
    assert second.num_examples == third.num_examples
    (copied / second.index.path).write_bytes((copied / third.index.path).read_bytes())
    other = second.index.model_copy(update={"sha256": third.index.sha256})
    mixed_up = [first, second.model_copy(update={"index": other}), third]
    changed = manifest.model_copy(update={"splits": {"train": split.model_copy(update={"shards": mixed_up})}})
    (copied / "manifest.json").write_bytes(changed.model_copy(update={"digest": digest_of(changed)}).to_bytes())
    parse_manifest(
        (copied / "manifest.json").read_bytes(), open_folder(str(copied)), where="the manifest itself is intact"
    )
    with pytest.raises(DataError, match=r"index\.parquet: this is the index of another shard or another conversion"):
        make(copied)


class Damaged:
    """A dataset of which one record is damaged after the function is made, and what its error must name."""

    def __init__(self, folder, step, position, **options):
        self.dataset_fn = make(folder, **options)
        self.key = self.dataset_fn.batch_keys(step)[position]
        table = self.dataset_fn._table
        (example_id,) = (i for i, key in enumerate(table.keys(np.arange(307))) if key == self.key)
        _, shard, number = table.location(example_id)
        damage_records(table, [example_id])
        self.named = f"{shard.path}: record {number}, key {self.key!r}: "


@pytest.mark.parametrize(("training", "image_size"), [(True, None), (False, (4, 4))])
def test_a_damaged_record_is_named_by_the_batch_that_holds_it(copied, training, image_size):
    damaged = Damaged(copied, 2, 5, training=training, image_size=image_size)
    iterator = iter(damaged.dataset_fn())
    next(iterator)
    next(iterator)
    with pytest.raises(tf.errors.OpError) as caught:
        next(iterator)
    assert damaged.named in str(caught.value)
    assert "CRC" in str(caught.value)


@pytest.mark.parametrize("replication", ["PER_WORKER", pytest.param("PER_REPLICA", marks=pytest.mark.slow)])
def test_a_damaged_record_is_named_within_a_mirrored_strategy(copied, replication):
    damaged = Damaged(copied, 2, 5, image_size=(4, 4))
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    mode = getattr(tf.distribute.InputReplicationMode, replication)
    options = tf.distribute.InputOptions(
        experimental_replication_mode=mode, experimental_fetch_to_device=replication == "PER_WORKER"
    )
    iterator = iter(strategy.distribute_datasets_from_function(damaged.dataset_fn, options))

    def steps():
        for _ in range(3):
            next(iterator)

    with pytest.raises(tf.errors.OpError) as caught:
        steps()
    assert damaged.named in str(caught.value)


def test_reading_goes_on_behind_a_damaged_record(copied):
    """Nobody has to reconvert at night: a job that starts one step later loses one batch."""
    damaged = Damaged(copied, 2, 5)
    damaged.dataset_fn.start_step = 3
    batch = next(fetched_batches(damaged.dataset_fn, 1))
    assert texts(batch["key"]) == damaged.dataset_fn.batch_keys(3)
