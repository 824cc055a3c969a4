"""Some rows of a table, without a copy of the table."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.hashing import COLUMN_BLOCK


@dataclass(frozen=True, slots=True)
class Gathered:
    """Some rows of a column; see Rows."""

    column: pa.ChunkedArray
    numbers: npt.NDArray[np.unsignedinteger] | None

    def __len__(self) -> int:
        return len(self.column) if self.numbers is None else len(self.numbers)

    def slice(self, start: int, count: int) -> pa.ChunkedArray:
        """Return the values of rows [start, start + count), of fewer at the end."""
        if self.numbers is None:
            return self.column.slice(start, count)
        return self.take(np.arange(start, min(start + count, len(self))))

    def take(self, rows: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        """Return the values of some rows."""
        return self.column.take(pa.array(rows if self.numbers is None else self.numbers[rows]))

    @property
    def has_nulls(self) -> bool:
        """Whether a row has no value."""
        starts = range(0, len(self) if self.column.null_count else 0, COLUMN_BLOCK)
        return any(self.slice(start, COLUMN_BLOCK).null_count for start in starts)


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of an inventory; a column's values are gathered when they are asked for.

    One rejected image among a hundred million would else cost a second inventory in memory.

    Attributes:
        table: The whole inventory.
        numbers: Rows of it, ascending; None for all.
    """

    table: pa.Table
    numbers: npt.NDArray[np.unsignedinteger] | None = None

    def __len__(self) -> int:
        return len(self.table) if self.numbers is None else len(self.numbers)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        column = self.table[name]
        return column if self.numbers is None else column.take(pa.array(self.numbers))

    def gathered(self, name: str) -> "Gathered":
        """Return a column that is read block by block, for columns of many bytes a row."""
        return Gathered(self.table[name], self.numbers)

    @property
    def column_names(self) -> list[str]:
        """Names of all columns."""
        names: list[str] = self.table.column_names
        return names

    def kept(self, mask: npt.NDArray[np.bool_]) -> "Rows":
        """Return those of the rows for which the mask is true."""
        if mask.all():
            return self
        numbers = np.flatnonzero(mask) if self.numbers is None else self.numbers[mask]
        return Rows(self.table, numbers.astype(np.uint32 if len(self.table) < 1 << 32 else np.uint64))

    def spread(self, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return int32[rows of the table], each row's value; -1 in rows that are not among these."""
        if self.numbers is None:
            return values
        spread = np.full(len(self.table), -1, np.int32)
        spread[self.numbers] = values
        return spread

    def spread_column(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of all rows of the table from one of these rows; null in the others."""
        if self.numbers is None:
            return column
        at = self.spread(np.arange(len(self), dtype=np.int32))
        return column.take(pa.array(at, mask=at < 0))
