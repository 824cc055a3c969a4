"""Find examples with the same bytes: with different labels one of them is wrong, in different splits they leak."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SETS_SHOWN = 12
MEMBERS_SHOWN = 4

_Ints = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]


class Sets(NamedTuple):
    """Sets of examples.

    Attributes:
        num: Number of sets.
        shown: Numbers of the examples of the first sets: at most SETS_SHOWN sets, MEMBERS_SHOWN examples of each.
    """

    num: int
    shown: tuple[tuple[int, ...], ...]


NO_SETS = Sets(0, ())


def differing_sets(values: _Hashes, codes: npt.NDArray[np.integer], *, ignored: int | None = None) -> Sets:
    """Return the sets of examples that have equal values and different codes.

    The values are hashes of 64 bits: with a million examples, two contents have the same hash by chance once in 30
    million datasets.

    Args:
        values: uint64[n], hash of the content or of the group of each example.
        codes: int[n], what must not differ: the label, or the split.
        ignored: A value that means nothing.
    """
    if not len(values):
        return NO_SETS
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_first)
    run_of = np.cumsum(is_first) - 1
    differs = codes[order] != codes[order[starts]][run_of]
    if ignored is not None:
        differs &= ordered != ignored
    runs = np.unique(run_of[differs])
    if not len(runs):
        return NO_SETS
    ends = np.append(starts[1:], len(values))
    # In the order of the first example, so that the page shows the same ones each time.
    runs = runs[np.argsort(order[starts[runs]], kind="stable")]
    shown = [_members(order[starts[run] : ends[run]], codes) for run in runs[:SETS_SHOWN]]
    return Sets(len(runs), tuple(shown))


def _members(rows: _Ints, codes: npt.NDArray[np.integer]) -> tuple[int, ...]:
    """Return the first example of each code."""
    _, first = np.unique(codes[rows], return_index=True)
    return tuple(int(row) for row in rows[np.sort(first)][:MEMBERS_SHOWN])


def label_codes(labels: npt.NDArray[np.int32], num_labels: _Ints) -> _Hashes:
    """Return uint64[n], a hash of each example's labels.

    Args:
        labels: int32[m], the labels of all examples end to end.
        num_labels: int64[n], number of labels of each example.
    """
    mixed = (labels.astype(np.int64).view(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)  # the constants of splitmix64
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    ends = np.cumsum(num_labels)
    codes: _Hashes = sums[ends] - sums[ends - num_labels]
    return codes
