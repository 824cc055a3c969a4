"""Find examples with the same bytes: with different labels one of them is wrong, in different splits they leak."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

MEMBERS_SHOWN = 4

_Ints = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]


class Sets(NamedTuple):
    """Sets of examples, in the order of their first examples.

    Attributes:
        rows: int64[m], the numbers of the examples of all sets end to end.
        codes: int[m], what differs within each set: the label, or the split.
        ends: int64[num], the end of each set in `rows`.
    """

    rows: _Ints
    codes: npt.NDArray[np.integer]
    ends: _Ints

    @property
    def num(self) -> int:
        """Number of sets."""
        return len(self.ends)

    def members(self, at: int) -> list[int]:
        """Return the numbers of all examples of a set."""
        rows: list[int] = self.rows[self._slice(at)].tolist()
        return rows

    def shown(self, at: int) -> list[int]:
        """Return the first example of each code of a set, at most MEMBERS_SHOWN."""
        part = self._slice(at)
        _, first = np.unique(self.codes[part], return_index=True)
        shown: list[int] = self.rows[part][np.sort(first)][:MEMBERS_SHOWN].tolist()
        return shown

    def _slice(self, at: int) -> slice:
        return slice(int(self.ends[at - 1]) if at else 0, int(self.ends[at]))


NO_SETS = Sets(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


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
    rows = np.concatenate([order[starts[run] : ends[run]] for run in runs])
    return Sets(rows, codes[rows], np.cumsum(ends[runs] - starts[runs]))


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
