"""Join records that are close together in a file into runs, each of which is read at once.

An object store takes tens of milliseconds to answer, however few bytes it is asked for. On a local disk a run saves the
system call and the bookkeeping of each small record.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a run.

    Attributes:
        max_bytes: Size of a run in bytes; a single record may be larger.
        max_gap: Number of unwanted bytes between two records, up to which they are read too.
    """

    max_bytes: int
    max_gap: int


# A run fits into the processor's cache; reading 4 KiB more takes about as long as another call.
LOCAL = RunLimits(max_bytes=256 << 10, max_gap=4 << 10)
# At 50 MB/s and 50 ms a request, 8 MiB take three times as long as the answer, 1 MiB less than half as long.
REMOTE = RunLimits(max_bytes=8 << 20, max_gap=1 << 20)


def runs(files: Numbers, starts: Numbers, stops: Numbers, limits: RunLimits) -> Iterator[tuple[int, int]]:
    """Yield half-open ranges of positions; together they cover all records, in order.

    Args:
        files: int64[n], number of the file of each record.
        starts: int64[n], offset of each record in its file.
        stops: int64[n], offset of the byte after each record.
        limits: Limits of a run.
    """
    gaps = starts[1:] - stops[:-1]
    overlap = (gaps < 0) & (starts[1:] != starts[:-1])  # a record may be asked for twice: at the end of an epoch
    splits = np.flatnonzero((files[1:] != files[:-1]) | overlap | (gaps > limits.max_gap)) + 1
    bounds = [0, *splits.tolist(), len(starts)]
    for first, end in itertools.pairwise(bounds):
        at = first
        while at < end:
            # Inside these bounds, records follow one another.
            fitting = np.searchsorted(stops[at:end], starts[at] + limits.max_bytes, "right") if end - at > 1 else 1
            stop = at + max(1, int(fitting))
            yield at, stop
            at = stop
