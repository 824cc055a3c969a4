"""Fetches as plain functions: what is read, what is told of damage, and what takes its place."""

import numpy as np
import pytest

from shardkit import read_manifest
from shardkit.dataset import tfrecord
from shardkit.errors import RecordError
from shardkit.fetch import places
from shardkit.fetch.damaged_records import DamagedRecords
from shardkit.fetch.fetcher import RECORD, Fetcher
from shardkit.fetch.memory import HeldPixels
from shardkit.fetch.places import PLANNED, Places, Wanted
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import Sources
from shardkit.fetch.table.records import load_table
from shardkit.fetch.windows import Crops
from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.order.training import BlockOrder, BlockwiseOrder, FullOrder

from ..cli.calling import convert
from .damaging import flip_bits


def fetcher(table, damaged=None, *, order=None, batch=1, wanted=None, pixels=None):
    wanted = Wanted(0) if wanted is None else wanted
    end = steps_per_epoch(table.num_examples, batch) if order is None else 1 << 40
    planned = Places(table, order, BatchLayout(batch), wanted, end)
    sources = Sources(table, pixels)
    return Fetcher(table, planned, wanted, sources, RecordRecovery(table, damaged, 0, sources), pixels)


class Reading:
    """The records of a dataset, one by one in file order."""

    def __init__(self, folder):
        self.table = load_table(read_manifest(str(folder)), "train")
        self.fetcher = fetcher(self.table)

    def __call__(self, example_id, count=1):
        found = self.fetcher.fetch(example_id, count)[RECORD]
        return found[0] if count == 1 else list(found)

    def file(self, example_id):
        return self.table.paths[int(np.searchsorted(self.table.starts, example_id, side="right")) - 1]

    def error(self, example_id):
        with pytest.raises(RecordError) as caught:
            self(example_id)
        return str(caught.value)

    def named(self, example_id):
        _, shard, number = self.table.location(example_id)
        return f"{shard.path}: record {number}, key {self.table.keys(np.array([example_id]))[0]!r}"


def test_every_record_is_found_by_its_offset(noise):
    reading = Reading(noise)
    expected = []
    for path in reading.table.paths:
        with open(path, "rb") as file:
            expected += [data for _, data in tfrecord.read_records(file, name=path)]
    assert reading(0, reading.table.num_examples) == expected
    assert [reading(i) for i in (0, 150, 306)] == [expected[i] for i in (0, 150, 306)]


@pytest.mark.parametrize("cached", [None, lambda *_: -1, lambda *_: 7], ids=["no call", "not cached", "a part cached"])
def test_records_are_read_where_the_page_cache_cannot_be_asked_or_has_them_in_part(cached, noise, monkeypatch):
    wanted = Reading(noise)(0, 100)
    monkeypatch.setattr("shardkit.storage.open_files._preadv2", cached)
    assert Reading(noise)(0, 100) == wanted


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
    (copied / reading.table.location(EXAMPLE)[1].path).unlink()
    message = reading.error(EXAMPLE)
    assert reading.named(EXAMPLE) in message
    assert "No such file" in message


def test_a_record_that_is_intact_when_read_again_is_used(noise):
    """Stores answer wrongly now and then; nothing is wrong with the record."""
    reading = Reading(noise)
    recovery = RecordRecovery(reading.table, None, 0, Sources(reading.table))
    assert recovery.repaired(EXAMPLE) == (EXAMPLE, reading(EXAMPLE))


def test_an_example_that_cannot_be_given_is_marked_and_the_others_are_given(copied, noise):
    reading, whole = Reading(copied), Reading(noise)
    flip_bits(reading.file(EXAMPLE), int(reading.table.offset[EXAMPLE]) + 30, 1)
    found = reading.fetcher.fetch(EXAMPLE - 5, 10, marks=True)[RECORD].tolist()
    assert found == [b"" if row == 5 else data for row, data in enumerate(whole(EXAMPLE - 5, 10))]


@pytest.mark.parametrize("is_lock_free", [True, False])
def test_every_division_into_fetches_gives_the_same_columns(is_lock_free, noise, monkeypatch):
    """Also over the borders of what is planned together, of which there is less beside a busy thread."""
    table = load_table(read_manifest(noise), "train")
    order = FullOrder(table.num_examples, 7)
    wanted = Wanted(7, Crops((6, 6), (0.1, 1.0), flip=True), has_seed=True, has_image=True)
    whole = fetcher(table, order=order, wanted=wanted).fetch(PLANNED - 20, 60)
    monkeypatch.setattr(places, "_is_lock_free", lambda: is_lock_free)
    parts = fetcher(table, order=order, wanted=wanted)
    for first, count in ((0, 20), (20, 1), (21, 39)):
        found = parts.fetch(PLANNED - 20 + first, count)
        assert found.keys() == whole.keys()
        for name, column in found.items():
            np.testing.assert_array_equal(column, whole[name][first : first + count], name)


@pytest.mark.parametrize("blocks", [False, True])
def test_a_replaced_example_has_the_columns_of_the_one_that_steps_in(blocks, copied):
    table = load_table(read_manifest(str(copied)), "train")
    layout = BlockOrder(block_records=4, window_blocks=2, lanes=4).layout(table.starts)
    order = BlockwiseOrder(layout, 0, 8) if blocks else FullOrder(table.num_examples, 0)
    wanted = Wanted(0, Crops((6, 6), (0.1, 1.0), flip=True), has_seed=True, class_weights=(1.0, 2.0, 3.0))
    before = fetcher(table, order=order, batch=8, wanted=wanted).fetch(0, 64)
    victim = int(order.ids(np.arange(64))[9])
    flip_bits(f"{copied}/{table.location(victim)[1].path}", int(table.offset[victim]) + 30, 1)
    damaged = DamagedRecords(5)
    replacing = fetcher(table, damaged, order=order, batch=8, wanted=wanted)
    found = replacing.fetch(0, 64)
    (record,) = damaged.records
    assert record.example_id == victim
    others = np.flatnonzero(found[RECORD] != before[RECORD])
    assert 9 in others.tolist()
    for name, column in found.items():
        rows = np.setdiff1d(np.arange(64), others)
        np.testing.assert_array_equal(column[rows], before[name][rows], name)
    assert found["key_hash"][9] != before["key_hash"][9]
    assert (found["label"][9], found["weight"][9]) == (before["label"][9], before["weight"][9])
    np.testing.assert_array_equal(replacing.fetch(9, 1)["window"][0], found["window"][9])


def test_an_example_that_steps_in_has_its_own_pixels_where_those_of_the_damaged_one_are_held(copied):
    table = load_table(read_manifest(str(copied)), "train")
    ids = np.arange(table.num_examples)
    pixels = HeldPixels(
        table,
        (1, 1, 1),
        np.int32,
        lambda parts: ((found, found.reshape(-1, 1, 1, 1)) for found, _ in parts),
        mirrors=False,
    )
    pixels.keep(ids, ids.reshape(-1, 1, 1, 1))
    flip_bits(table.paths[0], int(table.offset[3]) + 30, 1)
    wanted = Wanted(0, Crops((1, 1)), has_image=True)
    found = fetcher(table, DamagedRecords(5), batch=8, wanted=wanted, pixels=pixels).fetch(0, 8)
    others = np.flatnonzero(found["pixels"][:, 0, 0, 0] != ids[:8])
    assert others.tolist() == [3]
    assert table.key_hash[found["pixels"][3, 0, 0, 0]] == found["key_hash"][3]


def test_damage_of_an_unchecked_dataset_is_mended_by_checking_its_source(noise_source, tmp_path):
    """Converted again without decoding, the same damaged images would be stored again."""
    convert(noise_source, tmp_path / "out", "--check", "header")
    table = load_table(read_manifest(str(tmp_path / "out")), "train")
    flip_bits(table.paths[0], int(table.offset[3]) + 30, 1)
    for damaged, end in ((None, ""), (DamagedRecords(0), ", or raise the limit")):
        with pytest.raises(RecordError, match=f"convert again with overwrite=True check='decode'{end}$"):
            fetcher(table, damaged).fetch(3, 1)
