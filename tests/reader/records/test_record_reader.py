import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest
from shardkit.dataset import tfrecord
from shardkit.reader.records.batch_reader import BatchReader
from shardkit.reader.records.recovery import RecordRecovery
from shardkit.reader.records.repair import RepairRecords
from shardkit.reader.table.records import load_table

from .damaging import flip_bits


class Reading:
    """The records of a dataset, read as the graph reads them."""

    def __init__(self, folder):
        self.table = load_table(read_manifest(str(folder)), "train")
        recovery = RecordRecovery(self.table, None, seed=0)
        read, repair = BatchReader(recovery.records), RepairRecords(recovery, None)
        self.compiled = tf.function(lambda ids: repair(read({"id": ids}))["record"], reduce_retracing=True)

    def __call__(self, *example_ids):
        found = self.compiled(tf.constant(example_ids, tf.int64)).numpy()
        return found[0] if len(example_ids) == 1 else list(found)

    def file(self, example_id):
        return self.table.paths[int(np.searchsorted(self.table.starts, example_id, side="right")) - 1]

    def error(self, example_id):
        with pytest.raises(tf.errors.OpError) as caught:
            self(example_id)
        return str(caught.value)

    def named(self, example_id):
        shard, number = self.table.location(example_id)
        return f"{shard.path}: record {number}, key {self.table.keys(np.array([example_id]))[0]!r}"


def test_every_record_is_found_by_its_offset(noise):
    reading = Reading(noise)
    expected = []
    for path in reading.table.paths:
        with open(path, "rb") as file:
            expected += [data for _, data in tfrecord.read_records(file, name=path)]
    assert reading(*range(reading.table.num_examples)) == expected
    assert [reading(i) for i in (0, 150, 306)] == [expected[i] for i in (0, 150, 306)]


EXAMPLE = 150  # in the middle of the second shard


@pytest.mark.parametrize(
    ("at", "found"),
    [
        (0, "the CRC of the record's length"),  # of the frame: the length,
        (7, "the CRC of the record's length"),  # its highest byte: petabytes
        (8, "the CRC of the record's length"),  # the CRC of the length,
        (12, "the CRC of the record's data does not match"),  # the data,
        (200, "the CRC of the record's data does not match"),
        (-1, "the CRC of the record's data does not match"),  # the CRC of the data
    ],
)
def test_a_damaged_byte_is_told_with_shard_record_and_key_and_hurts_no_other(copied, noise, at, found):
    reading, whole = Reading(copied), Reading(noise)
    start, end = (int(reading.table.offset[i]) for i in (EXAMPLE, EXAMPLE + 1))
    flip_bits(reading.file(EXAMPLE), start + at if at >= 0 else end + at, 0x40)
    message = reading.error(EXAMPLE)
    assert f"{reading.named(EXAMPLE)}: {found}" in message
    assert "run `shardkit verify`" in message
    for neighbour in (EXAMPLE - 1, EXAMPLE + 1):
        assert reading(neighbour) == whole(neighbour)


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        (0, "the file ends before it"),
        (5, "the file ends inside the record's header"),
        (40, "the file ends inside the record"),
    ],
)
def test_a_shard_cut_short_meanwhile_is_told_with_shard_record_and_key(copied, kept, found):
    reading = Reading(copied)
    with open(reading.file(EXAMPLE), "r+b") as file:
        file.truncate(int(reading.table.offset[EXAMPLE]) + kept)
    message = reading.error(EXAMPLE)
    assert reading.named(EXAMPLE) in message
    assert found in message
    assert len(reading(EXAMPLE - 1)) > 0


def test_a_shard_removed_meanwhile_is_told_with_shard_record_and_key(copied):
    reading = Reading(copied)
    (copied / reading.table.location(EXAMPLE)[0].path).unlink()
    message = reading.error(EXAMPLE)
    assert reading.named(EXAMPLE) in message
    assert "No such file" in message


def test_a_record_that_is_intact_when_read_again_is_used(noise):
    """Stores answer wrongly now and then; nothing is wrong with the record."""
    reading = Reading(noise)
    assert RecordRecovery(reading.table, None, seed=0).reread_or_raise(EXAMPLE) == reading(EXAMPLE)
