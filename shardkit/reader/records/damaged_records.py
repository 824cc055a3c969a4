"""A bad record costs that record only: another example takes its place, and no position moves.

Skipping it would shift all later positions, and workers that share the order would drift apart. Which example takes its
place is a pure function, so that every worker, every epoch and every resumed run has the same one. It is of the same
class and the same dataset, so that the shares of classes and datasets stay exact.
"""

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError, RecordError
from shardkit.hashing import hash64
from shardkit.naming import printable

# Prime, and larger than any number of examples: so it has no divisor in common with that, and steps of it meet every
# example once before they meet one again. Neighbours of a bad record are often bad, so steps are long ones.
STRIDE = (1 << 61) - 1
FAULTS_SHOWN = 10


def replacement(rank: int, attempt: int, seed: int, count: int) -> int:
    """Return the rank of the example that takes the place of a bad one, among the examples that may.

    Over attempts 1 to count - 1 every other example comes exactly once, in an order that depends on rank and seed: if
    one record is sound, it is found.

    Args:
        rank: Rank of the bad record among the examples of its class and dataset, in [0, count).
        attempt: From 1 to count - 1; the next one if the example chosen is bad too.
        seed: 0 to 2**63 - 1.
        count: Number of examples of the class and dataset, at least 2.
    """
    others = count - 1
    (start,) = hash64([str(rank)], seed=seed, purpose="replacement")
    return int((rank + 1 + (int(start) + (attempt - 1) * STRIDE) % others) % count)


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A record that could not be read.

    Attributes:
        example_id: its row in the table.
        shard: path of its shard, relative to the dataset.
        record: its number in the shard, from 0.
        key: of the example.
        found: what is wrong with it.
    """

    example_id: int
    shard: str
    record: int
    key: str
    found: str

    def __str__(self) -> str:
        return f"{self.shard}: record {self.record}, key {printable(self.key)!r}: {printable(self.found)}"


class DamagedRecords:
    """The bad records that were met, each counted once however often it comes round; from any thread."""

    def __init__(self, max_faults: int) -> None:
        """Begin without any.

        Args:
            max_faults: different bad records that are put up with, at least 0.

        Raises:
            CallError: fewer than 0.
        """
        if max_faults < 0:
            msg = f"the budget of bad records must be at least 0; found {max_faults}"
            raise CallError(msg)
        self._max_faults = max_faults
        self._faults: dict[int, DamagedRecord] = {}
        self._lock = threading.Lock()

    def known(self, example_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of the bad records met so far in an array of ids."""
        with self._lock:
            return np.flatnonzero(np.isin(example_ids, list(self._faults))) if self._faults else np.zeros(0, np.int64)

    @property
    def faults(self) -> list[DamagedRecord]:
        """All so far, by shard and record."""
        with self._lock:
            return sorted(self._faults.values(), key=lambda fault: fault.example_id)

    def add(self, fault: DamagedRecord) -> bool:
        """Count a bad record.

        Returns:
            Whether it was not known yet, and so is worth a line in the log.

        Raises:
            RecordError: it is one more than the budget allows; the message names it and how many there are.
        """
        with self._lock:
            is_new = fault.example_id not in self._faults
            # What is over the budget is not counted: several threads may meet such a record before training stops.
            is_over = is_new and len(self._faults) == self._max_faults
            if is_new and not is_over:
                self._faults[fault.example_id] = fault
        if is_over:
            msg = (
                f"{fault}; that is bad record {self._max_faults + 1}, and {self._max_faults} are allowed: run "
                f"`shardkit verify`, then restore the shard or convert again, or raise the budget"
            )
            raise RecordError(msg)
        return is_new

    def report(self) -> str:
        """What was replaced, in a few lines; empty where nothing was."""
        faults = self.faults
        if not faults:
            return ""
        lines = [
            f"{len(faults)} bad records were replaced by others:" if len(faults) > 1 else "1 bad record was replaced:"
        ]
        lines += [f"  {fault}" for fault in faults[:FAULTS_SHOWN]]
        if len(faults) > FAULTS_SHOWN:
            lines.append(f"  and {len(faults) - FAULTS_SHOWN} more")
        return "\n".join(lines)
