"""Find examples with the same content: with different labels one of them is wrong, in different splits they leak.

`report` and `view` show what is found here.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import NO_LABEL
from shardkit.images.similar.similar_sets import SimilarSets, similar_sets

MEMBERS_SHOWN = 4

_Ints = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]


class Sets(NamedTuple):
    """Sets of examples, in the order of their first examples.

    Attributes:
        rows: int64[m], the numbers of the examples of all sets end to end, ascending within each set.
        codes: int[m], the label or the split of each of them.
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


def equal_sets(
    values: _Hashes, codes: npt.NDArray[np.integer], *, differing: bool = True, ignored: int | None = None
) -> Sets:
    """Return the sets of examples that have equal values.

    The values are hashes of 64 bits: with a million examples, two contents have the same hash by chance once in 30
    million datasets.

    Args:
        values: uint64[n], hash of the content or of the group of each example.
        codes: int[n], the label or the split of each example.
        differing: Whether only sets with different codes are returned.
        ignored: A value that means nothing.
    """
    if not len(values):
        return NO_SETS
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_first)
    run_of = np.cumsum(is_first) - 1
    is_wanted = codes[order] != codes[order[starts]][run_of] if differing else ~is_first
    if ignored is not None:
        is_wanted &= ordered != ignored
    runs = np.unique(run_of[is_wanted])
    if not len(runs):
        return NO_SETS
    ends = np.append(starts[1:], len(values))
    # In the order of the first example, so that the page shows the same ones each time.
    runs = runs[np.argsort(order[starts[runs]], kind="stable")]
    rows = np.concatenate([order[starts[run] : ends[run]] for run in runs])
    return Sets(rows, codes[rows], np.cumsum(ends[runs] - starts[runs]))


def near_copies(contents: _Hashes, rows: _Ints, hashes: _Hashes) -> tuple[_Ints, SimilarSets]:
    """Return the first example of each content that has a perceptual hash, int64[m], and their near-identical sets.

    Args:
        contents: uint64[n], hash of the content of each example.
        rows: int64[k], the examples that have a perceptual hash.
        hashes: uint64[k, 2], their hashes.
    """
    first = np.unique(contents[rows], return_index=True)[1]
    return rows[first], similar_sets(hashes[first])


def labels_of(single: pa.ChunkedArray | None, several: pa.ChunkedArray | None) -> tuple[npt.NDArray[np.int32], _Ints]:
    """Return int32[m], all labels end to end, and int64[n], the number of labels of each example.

    An image that has no label on purpose has none here.
    """
    if several is not None and several.null_count < len(several):
        lengths = pc.fill_null(pc.list_value_length(several), 0).to_numpy().astype(np.int64)
        labels = pc.list_flatten(several).to_numpy().astype(np.int32)
    elif single is not None:
        lengths = pc.is_valid(single).to_numpy().astype(np.int64)
        labels = single.drop_null().to_numpy().astype(np.int32)
    else:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    is_class = labels != NO_LABEL
    if not is_class.all():
        lengths[np.repeat(np.arange(len(lengths)), lengths)[~is_class]] = 0
    return labels[is_class], lengths


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
