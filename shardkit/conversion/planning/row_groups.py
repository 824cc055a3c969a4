"""Count, group and gather by row numbers, block by block.

NumPy's `bincount`, `argsort` and indexing by 32-bit numbers make 64-bit copies of the whole column: 8 to 12 bytes a row
on top of the plan, which at a hundred million rows is a gigabyte.
"""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)

_BLOCK_ROWS = 1 << 20


def count_codes(codes: npt.NDArray[np.signedinteger[Any]], num_codes: int) -> npt.NDArray[np.int64]:
    """Return int64[num_codes], the number of rows of each code."""
    counts = np.zeros(num_codes, np.int64)
    for start in range(0, len(codes), _BLOCK_ROWS):
        counts += np.bincount(codes[start : start + _BLOCK_ROWS], minlength=num_codes)
    return counts


def gather(
    values: npt.NDArray[T], rows: npt.NDArray[np.integer[Any]], dtype: npt.DTypeLike | None = None
) -> npt.NDArray[T]:
    """Return the values of some rows, optionally in another type that holds them all."""
    gathered = np.empty(len(rows), values.dtype if dtype is None else dtype)
    for start in range(0, len(rows), _BLOCK_ROWS):
        gathered[start : start + _BLOCK_ROWS] = values[rows[start : start + _BLOCK_ROWS]]
    return gathered


def group_rows(
    codes: npt.NDArray[np.signedinteger[Any]], num_codes: int, *, first: int = 0
) -> npt.NDArray[np.signedinteger[Any]]:
    """Return the rows sorted by code, those of one code in ascending order, like a stable argsort.

    Codes are in [first, num_codes); -1 is that of rows without one. The rows are int32, or int64 if 32 bits do not hold
    one.
    """
    rows = np.empty(len(codes), np.int32 if len(codes) < 1 << 31 else np.int64)
    counts = np.zeros(num_codes - first, np.int64)
    for start in range(0, len(codes), _BLOCK_ROWS):
        counts += np.bincount(codes[start : start + _BLOCK_ROWS] - first, minlength=num_codes - first)
    following = np.cumsum(counts) - counts  # where the next row of each code goes
    for start in range(0, len(codes), _BLOCK_ROWS):
        block = codes[start : start + _BLOCK_ROWS] - first
        order = np.argsort(block, kind="stable")
        counts = np.bincount(block, minlength=num_codes - first)
        # A code's rows of this block go next to each other, behind those of earlier blocks.
        shift = following - (np.cumsum(counts) - counts)
        rows[np.arange(len(block)) + np.repeat(shift, counts)] = start + order
        following += counts
    return rows
