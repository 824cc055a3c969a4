"""Read Parquet files without threads of Arrow.

One that lets go of a Python file, or of Python's bytes, when the interpreter is gone aborts a process whose work is
done, or lets it hang (apache/arrow, issues 33975, 34314 and 50482).
"""

from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq


class ParquetReader(pq.ParquetFile):  # type: ignore[misc] # noqa: TID251 - pyarrow has no types; no other place uses it
    """A Parquet file; every read is in the thread that asks for it."""

    def __init__(self, source: Any, *, buffer_size: int = 0) -> None:
        """Read the footer; with a buffer, in bytes, columns are read page by page."""
        super().__init__(source, buffer_size=buffer_size, pre_buffer=False)  # a thread would read ahead

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Return the rows of some columns, or of all, as a pa.Table."""
        return super().read(columns, use_threads=False)

    def read_row_group(self, number: int) -> Any:
        """Return the rows of a row group as a pa.Table."""
        return super().read_row_group(number, use_threads=False)

    def iter_batches(self, batch_size: int, row_groups: Sequence[int], columns: Sequence[str]) -> Any:
        """Yield rows of row groups as pa.RecordBatch, at most that many at a time."""
        return super().iter_batches(batch_size, row_groups, columns, use_threads=False)
