"""What to do about damaged records, and those that were met and replaced."""

import threading
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from shardkit.arguments.checks import normalise_fields, whole_number
from shardkit.arguments.suggestions import suggest_arguments
from shardkit.errors import RecordError
from shardkit.naming import printable

MAX_SKIPPED_RECORDS = 100


@suggest_arguments(example="reader.Skip(max_records=100)")
@dataclass(frozen=True, slots=True)
class Skip:
    """Replace damaged records by others instead of stopping.

    Attributes:
        max_records: Largest number of different damaged records that are replaced; the reader stops at the next one.

    Raises:
        CallError: The number is not a whole number of at least 0.
    """

    max_records: Annotated[int, whole_number(0)] = MAX_SKIPPED_RECORDS

    def __post_init__(self) -> None:
        normalise_fields(self)


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A record that cannot be read, or whose image does not decode.

    Attributes:
        example_id: Row in the table.
        shard: Path of its shard, relative to the dataset.
        record: Number of the record in its shard, from 0.
        key: Key of the example.
        problem: What is wrong with it.
    """

    example_id: int
    shard: str
    record: int
    key: str
    problem: str

    def __str__(self) -> str:
        return f"{self.shard}: record {self.record}, key {printable(self.key)!r}: {printable(self.problem)}"


class DamagedRecords:
    """A limited set of damaged records; may be used from any thread."""

    def __init__(self, max_records: int) -> None:
        self._max_records = max_records
        self._records: dict[int, DamagedRecord] = {}
        self._lock = threading.Lock()

    def known(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of the damaged records in an array of ids."""
        with self._lock:
            return np.flatnonzero(np.isin(example_ids, list(self._records))) if self._records else np.zeros(0, np.int64)

    @property
    def records(self) -> list[DamagedRecord]:
        """All records, by shard and number."""
        with self._lock:
            return sorted(self._records.values(), key=lambda record: record.example_id)

    def add(self, record: DamagedRecord) -> bool:
        """Add a record."""
        with self._lock:
            is_new = record.example_id not in self._records
            # Above the limit nothing is added: several threads may meet such a record before training stops.
            is_over = is_new and len(self._records) == self._max_records
            if is_new and not is_over:
                self._records[record.example_id] = record
        if is_over:
            msg = f"{record}; that is damaged record {self._max_records + 1}, and {self._max_records} are allowed"
            raise RecordError(msg)
        return is_new
