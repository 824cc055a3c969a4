"""What Python does about a damaged record: read it again, name it by shard, record and key, or choose another."""

import logging

import numpy as np

from shardkit import tfrecord
from shardkit.errors import DataError, RecordError
from shardkit.reader.faults import Fault, FaultBudget, replacement
from shardkit.reader.table import RecordTable

_LOG = logging.getLogger(__name__)


class Rereader:
    """Answers for the records that a graph could not read."""

    def __init__(self, table: RecordTable, budget: FaultBudget | None, seed: int) -> None:
        """Make one.

        Args:
            table: of the split.
            budget: of damaged records that are replaced; None to stop at the first.
            seed: of the conversion's readers, 0 to 2**63 - 1; decides which example takes a damaged one's place.
        """
        self._table, self._budget, self._seed = table, budget, seed

    @property
    def replaces(self) -> bool:
        """Whether another example takes a damaged one's place."""
        return self._budget is not None

    def explain(self, example_id: int) -> bytes:
        """Raise what is wrong with a record; the data if a second reading finds nothing wrong with it.

        Raises:
            RecordError: naming shard, record and key.
        """
        try:
            return self._read(int(example_id))
        except RecordError as error:
            fault = self._fault(int(example_id), str(error))
            url = self._table.root(int(example_id)).url
            msg = f"{url}/{fault}; run `shardkit verify`, then restore the shard or convert again"
            raise RecordError(msg) from None

    def replace(self, example_id: int) -> tuple[np.int64, bytes]:
        """The example that takes the place of a damaged one, and its data; every damaged one met is counted.

        Raises:
            RecordError: no record is sound, or there were more damaged ones than the budget allows.
        """
        assert self._budget is not None  # noqa: S101 - else nobody asks
        candidate, attempt = int(example_id), 0
        while True:
            try:
                return np.int64(candidate), self._read(candidate)
            except RecordError as error:
                if self._budget.spend(fault := self._fault(candidate, str(error))):
                    _LOG.warning("%s/%s; another example takes its place", self._table.root(candidate).url, fault)
            attempt += 1
            candidate = replacement(int(example_id), attempt, self._seed, self._table.num_examples)

    def _read(self, example_id: int) -> bytes:
        shard, _ = self._table.place(example_id)
        try:
            with self._table.root(example_id).open(shard.path) as file:
                file.seek(int(self._table.offset[example_id]))
                data: bytes = next(tfrecord.read_records(file, name="read again"))[1]
        except StopIteration:
            msg = "the file ends before it"
            raise RecordError(msg) from None
        except OSError as error:
            raise RecordError(str(error)) from error
        return data

    def _fault(self, example_id: int, found: str) -> Fault:
        shard, number = self._table.place(example_id)
        try:
            key = self._table.keys(np.asarray([example_id]))[0]
        except (OSError, DataError) as error:
            key, found = "unknown", f"{found}; {error}"
        return Fault(example_id, shard.path, number, key, found)
