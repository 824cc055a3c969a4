"""Selections of a table's rows that copy no column before it is used."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.hashing import COLUMN_BLOCK


def run_starts(numbers: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.intp]:
    """Return the starts of the runs of equal numbers."""
    return np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))


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
