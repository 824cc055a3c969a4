"""How evenly the examples of a split are dealt over its shards."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Sizes = npt.NDArray[np.integer[Any]]  # bytes, in whatever integers hold them

_BLOCK_ROWS = 1 << 20  # rows whose classes are counted at a time


@dataclass(frozen=True, slots=True)
class Balance:
    """How far apart the shards of a split are.

    Attributes:
        count_spread: most examples in a shard less fewest.
        class_spread: the same for each class on its own, the largest over the classes.
        bytes_ratio: bytes of the heaviest shard over those of the lightest, less 1; 0.01 is 1 %.
    """

    count_spread: int
    class_spread: int
    bytes_ratio: float


def measure_balance(
    labels: npt.NDArray[np.int32], sizes: Sizes, shards: npt.NDArray[np.int32], num_shards: int
) -> Balance:
    """Measure the balance of examples dealt over shards, in memory linear in n (no table of class by shard).

    Args:
        labels: int32[n].
        sizes: int64[n] bytes.
        shards: int32[n], in [0, num_shards).
        num_shards: at least 1; shards without examples count as empty ones.

    Returns:
        All zero where there are no examples; a bytes_ratio of infinity where a shard has no bytes but others have.
    """
    if not len(labels):
        return Balance(0, 0, 0.0)
    counts = np.bincount(shards, minlength=num_shards)
    loads = np.zeros(num_shards, np.int64)
    np.add.at(loads, shards, sizes)
    lightest, heaviest = int(loads.min()), int(loads.max())
    ratio = heaviest / lightest - 1 if lightest else float("inf") if heaviest else 0.0
    return Balance(int(counts.max() - counts.min()), _class_spread(labels, shards, num_shards), ratio)


def _class_spread(labels: npt.NDArray[np.int32], shards: npt.NDArray[np.int32], num_shards: int) -> int:
    if (labels[1:] < labels[:-1]).any():
        order = np.argsort(labels, kind="stable")
        labels, shards = labels[order], shards[order]
    starts = run_starts(labels)
    spread = 0
    # Large classes one by one, small ones together: a table of all cells may be larger than the examples are.
    blocks = starts[run_starts(starts // _BLOCK_ROWS)].tolist()
    for start, end in itertools.pairwise([*blocks, len(labels)]):
        cells = (labels[start:end].astype(np.int64) - labels[start]) * num_shards + shards[start:end]
        found, in_cell = np.unique(cells, return_counts=True)
        first = run_starts(found // num_shards)
        everywhere = np.diff(first, append=len(found)) == num_shards
        least = np.where(everywhere, np.minimum.reduceat(in_cell, first), 0)
        spread = max(spread, int((np.maximum.reduceat(in_cell, first) - least).max()))
    return spread


def run_starts(numbers: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.intp]:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
