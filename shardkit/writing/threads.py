"""Run the two parallel steps of a conversion in threads of this process, without Beam.

Beam has runners for one process, too. They pass everything through gRPC between threads: under load they have aborted
the process and have waited without end, and they take two seconds to import and half a second for each step.
"""

import collections
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shardkit.planning.plan_file import ShardTask
from shardkit.sources import Listing
from shardkit.writing import inventory_tasks
from shardkit.writing.executor import WriteJob
from shardkit.writing.inventory_tasks import BatchKey, InventoryJob, NamedPart
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.progress import Phase
from shardkit.writing.run_in_threads import run_in_threads

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Runs both steps in threads; see `executor.Executor`. Pillow's codecs run without the interpreter's lock.

    Attributes:
        num_threads: Number of threads, at least 1.
    """

    num_threads: int

    @property
    def is_remote(self) -> bool:
        """See Executor."""
        return False

    @property
    def temp_location(self) -> None:
        """See Executor."""
        return

    def take_inventory(self, job: InventoryJob, groups: Sequence[tuple[int, PartGroup]], phase: Phase) -> None:
        """See Executor."""
        batches: collections.deque[tuple[BatchKey, Listing]] = collections.deque()
        names: list[NamedPart] = []

        def list_group(group: tuple[int, PartGroup]) -> None:
            for batch in inventory_tasks.list_group(*group, job):
                batches.append(batch)

        def check_batch(batch: tuple[BatchKey, Listing]) -> None:
            names.extend(tuple(inventory_tasks.check_listing(*batch, job)))

        with phase.listener.phase(phase.name, phase.total) as show:
            run_in_threads(list_group, groups, self.num_threads, show, phase)
            if job.listing_check is not None:
                summaries = [job.listing_check.summary(listing.table()) for _, listing in batches]
                if inventory_tasks.is_refused(summaries, job):
                    return
            run_in_threads(check_batch, _taken(batches), self.num_threads, show, phase)
            inventory_tasks.write_part_names(names, job)

    def write_shards(self, job: WriteJob, tasks: Sequence[ShardTask], phase: Phase) -> None:
        """See Executor."""
        with phase.listener.phase(phase.name, phase.total) as show:
            run_in_threads(job.write, tasks, self.num_threads, show, phase)


def _taken(items: "collections.deque[_T]") -> Iterator[_T]:
    """Yield items in their order; each is forgotten by then."""
    while items:
        yield items.popleft()
