"""Run the two parallel steps of a conversion in threads of this process, without Beam.

Beam's own runner for one process passes everything through gRPC between threads. Under load it has aborted the process
and has waited without end, and it takes two seconds to import and half a second for each step.
"""

import collections
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

from shardkit.errors import MachineError, ShardkitError
from shardkit.planning.plan_file import ShardTask
from shardkit.sources import Listing
from shardkit.writing import inventory_tasks
from shardkit.writing.executor import WriteJob
from shardkit.writing.inventory_tasks import BatchKey, InventoryJob, NamedPart
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.progress import Phase, Show, show_once, show_while

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
            for batch in inventory_tasks.list_groups(group[0], [group[1]], job):
                batches.append(batch)

        def check_batch(batch: tuple[BatchKey, Listing]) -> None:
            names.extend(tuple(inventory_tasks.check_listing(*batch, job)))

        with phase.listener.phase(phase.name, phase.total) as show:
            self._run(list_group, groups, show, phase)
            if job.listing_check is not None:
                summaries = [job.listing_check.summary(listing.table()) for _, listing in batches]
                if inventory_tasks.is_refused(summaries, job):
                    return
            self._run(check_batch, _taken(batches), show, phase)
            inventory_tasks.write_part_names(names, job)

    def write_shards(self, job: WriteJob, tasks: Sequence[ShardTask], phase: Phase) -> None:
        """See Executor."""
        with phase.listener.phase(phase.name, phase.total) as show:
            self._run(job.write, tasks, show, phase)

    def _run(self, work: Callable[[_T], None], items: Iterable[_T], show: Show, phase: Phase) -> None:
        """Call `work` for every item. After an error or Ctrl-C, no further item is begun."""
        left, lock, is_over = iter(items), threading.Lock(), threading.Event()

        def work_on() -> None:
            try:
                for item in _shared(left, lock):
                    if is_over.is_set():
                        return
                    work(item)
            except BaseException:
                is_over.set()
                raise

        pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="convert")
        try:
            threads = [pool.submit(work_on) for _ in range(self.num_threads)]
            # The main thread waits in short steps: it answers Ctrl-C between them.
            show_while(lambda pause: bool(wait(threads, pause).not_done), show, phase)
            for thread in threads:
                _raise_error_of(thread)
            show_once(show, phase)  # the final numbers
        finally:
            is_over.set()
            pool.shutdown(wait=False)


def _raise_error_of(thread: Future[None]) -> None:
    try:
        thread.result()
    except (ShardkitError, OSError):
        raise
    except Exception as error:  # a fault of a library or of ours; the user gets a sentence, a program the cause
        msg = f"a worker failed: {type(error).__name__}: {error}"
        raise MachineError(msg) from error


def _shared(items: Iterator[_T], lock: threading.Lock) -> Iterator[_T]:
    """Yield items of an iterator that other threads take items of, too."""
    while True:
        with lock:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _taken(items: "collections.deque[_T]") -> Iterator[_T]:
    """Yield items in their order; each is forgotten by then."""
    while items:
        yield items.popleft()
