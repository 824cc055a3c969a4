"""Measure how evenly the examples of a split are distributed over its shards."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.rows import count_codes
from shardkit.dataset.manifest import Balance

Codes = npt.NDArray[np.signedinteger[Any]]  # classes, of any integer type
Sizes = npt.NDArray[np.integer[Any]]  # bytes, of any integer type

_BLOCK_ROWS = 1 << 20  # rows whose classes are counted at once


def measure_balance(labels: Codes, sizes: Sizes, shards: npt.NDArray[np.int32], num_shards: int) -> Balance:
    """Measure the balance of a split, in memory linear in n (without a table of class by shard).

    `labels`, `sizes` and `shards` are int[n]. Without examples all is zero; bytes_spread is infinite if a shard has no
    bytes but others have some.
    """
    if not len(labels):
        return Balance(count_spread=0, class_spread=0, bytes_spread=0.0)
    counts = count_codes(shards, num_shards)
    loads = np.zeros(num_shards, np.int64)
    np.add.at(loads, shards, sizes)
    lightest, heaviest = int(loads.min()), int(loads.max())
    ratio = heaviest / lightest - 1 if lightest else float("inf") if heaviest else 0.0
    return Balance(
        count_spread=int(counts.max() - counts.min()),
        class_spread=_class_spread(labels, shards, num_shards),
        bytes_spread=ratio,
    )


def _class_spread(labels: Codes, shards: npt.NDArray[np.int32], num_shards: int) -> int:
    if (labels[1:] < labels[:-1]).any():
        order = np.argsort(labels, kind="stable")
        labels, shards = labels[order], shards[order]
    starts = run_starts(labels)
    spread = 0
    # Large classes one by one and small ones together, because a table of all cells may be larger than the examples.
    blocks = starts[run_starts(starts // _BLOCK_ROWS)].tolist()
    for start, end in itertools.pairwise([*blocks, len(labels)]):
        cells = (labels[start:end].astype(np.int64) - labels[start]) * num_shards + shards[start:end]
        occupied, in_cell = np.unique(cells, return_counts=True)
        first = run_starts(occupied // num_shards)
        in_all_shards = np.diff(first, append=len(occupied)) == num_shards
        least = np.where(in_all_shards, np.minimum.reduceat(in_cell, first), 0)
        spread = max(spread, int((np.maximum.reduceat(in_cell, first) - least).max()))
    return spread


def run_starts(numbers: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.intp]:
    """Return the starts of the runs of equal numbers."""
    return np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
