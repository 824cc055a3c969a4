"""Selections of a table's rows that copy no column before it is used, and functions of row numbers, block by block.

NumPy's `bincount`, `argsort` and indexing by 32-bit numbers make 64-bit copies of the whole column: 8 to 12 bytes a row
on top of the plan, which at a hundred million rows is a gigabyte.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.hashing import COLUMN_BLOCK

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


def run_starts(numbers: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.intp]:
    """Return the starts of the runs of equal numbers."""
    return np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))


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


@dataclass(frozen=True, slots=True)
class LazyColumn:
    """Selected rows of one column, gathered block by block."""

    column: pa.ChunkedArray
    numbers: npt.NDArray[np.unsignedinteger] | None  # numbers of the selected rows, ascending; None for all

    def __len__(self) -> int:
        return len(self.column) if self.numbers is None else len(self.numbers)

    def slice(self, start: int, count: int) -> pa.ChunkedArray:
        """Return the values of rows [start, start + count), of fewer at the end."""
        if self.numbers is None:
            return self.column.slice(start, count)
        return self.take(np.arange(start, min(start + count, len(self))))

    def take(self, rows: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        return self.column.take(pa.array(rows if self.numbers is None else self.numbers[rows]))

    @property
    def has_nulls(self) -> bool:
        """Whether a selected row has no value."""
        starts = range(0, len(self) if self.column.null_count else 0, COLUMN_BLOCK)
        return any(self.slice(start, COLUMN_BLOCK).null_count for start in starts)


@dataclass(frozen=True, slots=True)
class Rows:
    """Selected rows of an inventory. A column is gathered only when it is read.

    Copying all columns because of one rejected image among a hundred million would double the memory.
    """

    table: pa.Table  # the whole inventory
    numbers: npt.NDArray[np.unsignedinteger] | None = None  # numbers of the selected rows, ascending; None for all

    def __len__(self) -> int:
        return len(self.table) if self.numbers is None else len(self.numbers)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        column = self.table[name]
        return column if self.numbers is None else column.take(pa.array(self.numbers))

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """Return some of the rows with all columns."""
        return self.table.take(pa.array(rows if self.numbers is None else self.numbers[rows]))

    def lazy_column(self, name: str) -> LazyColumn:
        """Return a column to read block by block, for columns with many bytes per row."""
        return LazyColumn(self.table[name], self.numbers)

    @property
    def column_names(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    def filter(self, mask: npt.NDArray[np.bool_]) -> "Rows":
        if mask.all():
            return self
        numbers = np.flatnonzero(mask) if self.numbers is None else self.numbers[mask]
        return Rows(self.table, numbers.astype(np.uint32 if len(self.table) < 1 << 32 else np.uint64))

    def scatter(self, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return a value for each row of the table: that of a selected row, -1 for any other."""
        if self.numbers is None:
            return values
        scattered = np.full(len(self.table), -1, np.int32)
        scattered[self.numbers] = values
        return scattered

    def scatter_column(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a value for each row of the table: that of a selected row, null for any other."""
        if self.numbers is None:
            return column
        at = self.scatter(np.arange(len(self), dtype=np.int32))
        return column.take(pa.array(at, mask=at < 0))
