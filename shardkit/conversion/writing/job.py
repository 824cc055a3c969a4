"""A conversion as a job: list, check, plan, write and publish, in threads of this process or on an engine.

Both call the same functions. On an engine they are one job, which needs no driver: `beam.conversion` only
wires them, and results travel as files between them.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.parts import merge_parts, runs_to_merge
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.inventory_tasks import (
    Batch,
    InventoryJob,
    NamedPart,
    PartGroup,
    read_part_names,
    writing_inventory,
)
from shardkit.conversion.writing.output.finished_shards import SummaryRow
from shardkit.conversion.writing.refusals import ExistingDataset, ListingCheck, ListingSummary
from shardkit.conversion.writing.steps import ConversionSteps
from shardkit.errors import CallError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.detached import has_published
from shardkit.parallel.for_each import Executor, Guard, JobEnd, raise_failure, watched
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.run_token import Fence, Run
from shardkit.parallel.threads import ThreadExecutor, taken
from shardkit.sources import Source
from shardkit.sources.visibility import is_filled
from shardkit.storage.retry import retried


@dataclass(frozen=True, slots=True)
class InventoryTask:
    """What the listing and checking of a source need; pickled, and small but for its groups."""

    guard: Guard  # what each call of a worker begins and ends with
    groups: Sequence[tuple[int, PartGroup]]  # groups of the source's parts
    inventory: InventoryJob  # the work, which reads its result too

    @classmethod
    def of(
        cls,
        source: Source,
        guard: Guard,
        options: ConvertOptions,
        existing: ExistingDataset | None,
        *,
        is_explicit: bool,
    ) -> "InventoryTask":
        """Prepare an inventory, and remove what an earlier run has left of its results; see `take_inventory`."""
        options = options.applied()
        if options.splits.splits is not None and not options.splits.splits_of:
            source = source.undivided()
        listing_check = ListingCheck(source, options, existing, is_explicit)
        listing_check.check_options()
        inventory_tasks.remove_earlier_results(guard.folder)
        groups = inventory_tasks.part_groups(source, is_remote=guard.driver is not None)
        needed = listing_check if options.check == "decode" else None
        inventory = InventoryJob(source, len(groups), options, is_filled(source.folder, ""), needed)
        return cls(guard, groups, inventory)

    def phase(self, listener: ProgressListener) -> Phase:
        """Return the phase in which the work is shown."""
        work, decodes = self.guard.folder, self.inventory.decodes
        # All images are listed before the first one is decoded, so by then the sum of the listed rows is the total.
        count_total = inventory_tasks.listed_rows(work).total if decodes else None
        count_rejected = inventory_tasks.rejected_rows(work).total
        name = "checking" if decodes else "listing"
        return Phase(listener, name, None, lambda: parts.count_rows(work), count_total, count_rejected)

    def summaries(self, batch: Batch) -> list[ListingSummary]:
        """Return what `prove` needs of a batch."""
        check, (_, listing) = self.inventory.listing_check, batch
        return [] if check is None else [check.summary(listing.table(), listing.skipped)]

    def prove(self, summaries: Iterable[ListingSummary]) -> bool:
        """Return whether the whole listing is fit to be checked, image by image."""
        check = self.inventory.listing_check
        return check is None or self.guard.call_once(lambda _: check.refuse(summaries)) is not None

    def keep_names(self, names: Iterable[NamedPart]) -> None:
        """Write the names of all parts."""
        self.guard.call_once(partial(self.inventory.write_part_names, names))

    def runs_to_merge(self) -> list[list[str]]:
        """Return the runs of parts that workers merge for the one that plans; none of few parts."""
        num_groups = self.inventory.num_groups
        return self.guard.call_once(lambda fence: runs_to_merge(read_part_names(fence.folder, num_groups))) or []


@dataclass(frozen=True, slots=True)
class ConversionTask(InventoryTask):
    """What a whole conversion needs."""

    steps: ConversionSteps

    def plan(self) -> list[ShardTask]:
        """Decide where every example goes, and return the shards to write."""
        return self.guard.call_once(self.steps.plan) or []

    def publish(self, summaries: Iterable[SummaryRow]) -> None:
        """Publish the dataset."""
        folder = self.guard.folder
        if self.guard.call_once(partial(self.steps.write_summaries, summaries)) is not None:
            self.guard.call_once(self.steps.publish)
        if self.guard.is_detached and not has_published(folder):
            with contextlib.suppress(JobEnd):
                raise_failure(folder)
                Fence(folder, self.guard.run, is_remote=True).check()


def merge(run: list[str], fence: Fence) -> None:
    """Merge a run of parts."""
    with writing_inventory(fence):
        retried(partial(merge_parts, fence.folder, run, fence.check))


@runtime_checkable
class Engine(Executor, Protocol):
    """An executor that runs a whole job on workers alone: `beam.conversion.BeamExecutor`."""

    def run_job(self, task: InventoryTask, phase: Phase) -> None:
        """Run a job to its end, with one phase for the progress of all of its steps."""
        ...

    def refuse_submitting(self) -> None:
        """Raise CallError if jobs end with this process."""
        ...

    def submit_job(self, task: ConversionTask, listener: ProgressListener) -> None:
        """Begin a job, and return when the engine has taken it; the listener is told the job's name."""
        ...


def engine_without_driver(executor: Executor) -> Engine:
    """Return an executor whose jobs go on when this process ends."""
    if not isinstance(executor, Engine):
        msg = "a conversion in threads ends with this process; to return before its end, name the runner of an engine"
        raise CallError(msg)
    executor.refuse_submitting()
    return executor


def take_inventory_in_threads(
    task: InventoryTask, threads: ThreadExecutor, run: Run, listener: ProgressListener
) -> None:
    """List and check a source."""

    def take(shown: Phase) -> None:
        with threads.working(shown) as each:
            batches = each(partial(task.guard.call, task.inventory.list_group), task.groups)
            summaries = (one for batch in batches for one in task.summaries(batch))
            if task.prove(summaries):
                task.keep_names(each(partial(task.guard.call, task.inventory.check_listing), taken(batches)))

    watched(run, task.phase(listener), take)


def write_in_threads(task: ConversionTask, threads: ThreadExecutor, run: Run, make_phase: Callable[[], Phase]) -> None:
    """Plan, write and publish what was listed and checked."""
    steps, fence = task.steps, Fence(run.folder, run.token, is_remote=threads.is_remote)
    with run.checked():
        shards = list(steps.plan(fence))

    def write(shown: Phase) -> None:
        with threads.working(shown) as each:
            steps.write_summaries(each(partial(task.guard.call, steps.write), shards), fence)

    watched(run, make_phase(), write)
    with run.checked():
        steps.publish(fence)
