"""What is held in memory while a thread still fills it."""

import numpy as np

from shardkit import read_manifest
from shardkit.fetch import memory
from shardkit.fetch.memory import HeldPixels
from shardkit.fetch.table.records import load_table


def test_pixels_that_are_kept_while_they_are_taken_are_right_or_missing(noise, monkeypatch):
    """NumPy gives the interpreter's lock away while it copies: the thread that fills the memory goes on then."""
    table = load_table(read_manifest(noise), "train")
    pixels = HeldPixels(table, (1, 1, 1), np.int32, None, mirrors=False)
    ids, take = np.arange(8), np.take

    def take_then_keep(*arguments, **options):
        found = take(*arguments, **options)
        pixels.keep(ids, ids.reshape(-1, 1, 1, 1) + 100)
        return found

    pixels.keep(ids[:4], ids[:4].reshape(-1, 1, 1, 1) + 100)
    monkeypatch.setattr(memory.np, "take", take_then_keep)
    found, missing = pixels.take(ids)
    assert missing.tolist() == [4, 5, 6, 7]
    assert found[:4].ravel().tolist() == [100, 101, 102, 103]
    assert not len(pixels.take(ids)[1])
