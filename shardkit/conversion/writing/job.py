"""A conversion as a job: list, check, plan, write and publish, in threads of this process or on an engine.

Both call the same functions. On an engine they are one job, which needs no driver: `beam.conversion` only
wires them, and results travel as files between them.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.checking import check_batch, measure_files, num_recovered
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing.inventory_tasks import (
    DECODE_BATCH_ROWS,
    HEADER_BATCH_ROWS,
    LISTED,
    PART_NAMES,
    RECOVERED,
    REJECTED,
    Batch,
    BatchId,
    NamedPart,
    PartGroup,
    list_parts,
    part_groups,
    read_part_names,
    refuse_too_many,
    remove_earlier_results,
    writing_inventory,
)
from shardkit.conversion.writing.output.finished_shards import FailedShard, FinishedShard
from shardkit.conversion.writing.refusals import ExistingDataset, ListingCheck, ListingSummary
from shardkit.conversion.writing.seen_rejects import refuse_seen_rejects
from shardkit.conversion.writing.steps import ConversionSteps
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.detached import has_published
from shardkit.parallel.for_each import Executor, Guard, JobEnd, raise_failure, watched
from shardkit.parallel.progress import Phase, ProgressListener, count
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence, Run
from shardkit.parallel.threads import ThreadExecutor, taken
from shardkit.sources import Source
from shardkit.sources.hosts import is_filled, refuse_unseen
from shardkit.sources.left_out import unmatched_notes
from shardkit.storage import Folder
from shardkit.storage.retry import retried

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class InventoryTask:
    """What the listing and checking of a source need; pickled, and small but for its groups."""

    guard: Guard  # what each call of a worker begins and ends with
    listing: ListingCheck  # the source and the options; refuses a listing before anything is decoded
    groups: Sequence[tuple[int, PartGroup]]  # groups of the source's parts
    num_groups: int
    is_filled: bool  # whether the driver sees entries in the source's folder

    @classmethod
    def of(
        cls,
        source: Source,
        guard: Guard,
        options: ConvertOptions,
        existing: ExistingDataset | None,
        *,
        is_explicit: bool,
        **more: Any,  # fields of a subclass
    ) -> "Self":
        """Prepare an inventory, and remove what an earlier run has left of its results."""
        options = options.applied()
        if options.splits.splits is not None and not options.splits.splits_of:
            source = source.undivided()
        listing = ListingCheck(source, options, existing, is_explicit)
        listing.check_options()
        remove_earlier_results(guard.folder)
        groups = part_groups(source, is_remote=guard.driver is not None)
        return cls(guard, listing, groups, len(groups), is_filled(source.folder, ""), **more)

    def call(self, step: Callable[[Any, Fence], Iterable[Any] | None], item: Any) -> Iterator[Any]:
        """Yield what a step gives for an item; an error is reported in the work folder."""
        return self.guard.call(step, item)

    @property
    def source(self) -> Source:
        return self.listing.source

    @property
    def options(self) -> ConvertOptions:
        return self.listing.options

    @property
    def decodes(self) -> bool:
        """Whether images are decoded; those of a checked source were."""
        return self.options.check == "decode" and not self.source.is_checked

    def phase(self, listener: ProgressListener) -> Phase:
        work = self.guard.folder
        # All images are listed before the first one is decoded, so by then the sum of the listed rows is the total.
        count_total = Reports(work, LISTED).total if self.decodes else None
        name, count_done = "checking" if self.decodes else "listing", partial(parts.count_rows, work)
        return Phase(listener, name, None, count_done, count_total, Reports(work, REJECTED).total)

    def list_group(self, numbered: tuple[int, PartGroup], fence: Fence) -> Iterator[Batch]:
        """Yield the batches of a group of parts, and report their number."""
        index, group = numbered
        batch_rows = DECODE_BATCH_ROWS if self.decodes else HEADER_BATCH_ROWS
        self._refuse_unseen_source()
        num_rows = num_batches = 0
        for listing in list_parts(self.source, group, batch_rows, fence.check_sometimes):
            num_rows += len(listing.table())
            yield (index, num_batches), listing
            num_batches += 1
        with writing_inventory(fence):
            Reports(fence.folder, LISTED).write(fence, index, num_rows, num_batches)

    def summaries(self, batch: Batch) -> list[ListingSummary]:
        """Return what `prove` needs of a batch."""
        _, listing = batch
        return [self.listing.summary(listing.table(), listing.skipped)] if self.options.check == "decode" else []

    def prove(self, summaries: Iterable[ListingSummary]) -> bool:
        """Return whether the whole listing is fit to be checked, image by image; no other check needs it."""
        if self.options.check != "decode":
            return True
        return self.guard.call_once(lambda _: self.listing.refuse(summaries)) is not None

    def check_listing(self, batch: Batch, fence: Fence) -> Iterator[NamedPart]:
        """Check the files of a batch and write the result as a part, unless an earlier run left it; yield its name."""
        batch_id, listing = batch
        folder, output = self.source.folder, fence.folder
        self._refuse_unseen_source()
        checked = self.options.check, self.options.max_file_size
        measured = measure_files(folder, listing.table(), self.options.max_file_size)
        name = parts.part_name(measured, listing, *checked)
        with writing_inventory(fence):
            there = retried(partial(parts.find_part, output, name))
        recovered = 0 if there is None else num_recovered(folder, measured, there, *checked)
        if there is None or recovered:
            table = check_batch(folder, measured, *checked)
            fence.check()
            with writing_inventory(fence):
                if recovered:
                    Reports(output, RECOVERED).write(fence, _item(batch_id), recovered)  # before the part forgets it
                retried(partial(parts.write_rows, output, parts.part_path(name), table, listing, fence.check))
            _count_checked(table)
        else:
            table = there
        if num_rejected := len(table) - table["reason"].null_count:
            with writing_inventory(fence):
                Reports(output, REJECTED).write(fence, _item(batch_id), num_rejected)
        yield batch_id, name

    def keep_names(self, names: Iterable[NamedPart]) -> Any:  # of the same type
        """Write the names of all parts, for the driver, unless a step before has failed; return the task."""

        def write(fence: Fence) -> None:
            with writing_inventory(fence):
                fence.write(PART_NAMES, json.dumps(sorted(names)).encode())

        self.guard.call_once(write)
        return self

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        names = read_part_names(work, self.num_groups)
        refuse_too_many(names, self.options)
        inventory = Inventory.of(self.source, *parts.read_parts(work, names), self.options.max_file_size)
        self.source.check_accounts(inventory.skipped)
        refuse_seen_rejects(self.source, work, names, inventory.table, is_remote=is_remote)
        for note in unmatched_notes(self.source, inventory.skipped, inventory.table):
            listener.say(f"note: {note}")
        return inventory

    def _refuse_unseen_source(self) -> None:
        if self.is_filled:
            refuse_unseen(self.source.folder, "")


@dataclass(frozen=True, slots=True)
class ConversionTask(InventoryTask):
    """What a whole conversion needs."""

    steps: ConversionSteps

    def plan(self) -> list[ShardTask]:
        """Decide where every example goes, and return the shards to write."""
        return self.guard.call_once(partial(self.steps.plan, self.read)) or []

    def write(self, shard: ShardTask, fence: Fence) -> list[FinishedShard | FailedShard]:
        return self.steps.write(shard, fence)

    def publish(self, written: Iterable[FinishedShard | FailedShard]) -> None:
        folder = self.guard.folder
        self.guard.call_once(partial(self.steps.publish, written))
        if self.guard.is_detached and not has_published(folder):
            with contextlib.suppress(JobEnd):
                raise_failure(folder)
                Fence(folder, self.guard.run, is_remote=True).check()


def _item(batch_id: BatchId) -> int:
    group_index, batch_index = batch_id
    return (group_index << 32) + batch_index


def _count_checked(table: pa.Table) -> None:
    count("images_checked", len(table))
    count("image_bytes_checked", pc.sum(table["source_bytes"]).as_py() or 0)
    for found in pc.value_counts(table["reason"].drop_null()).to_pylist():
        count(f"rejected_{found['values']}", found["counts"])


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


def take_inventory_in_threads(
    task: InventoryTask, threads: ThreadExecutor, run: Run, listener: ProgressListener
) -> None:
    """List and check a source."""

    def take(shown: Phase) -> None:
        with threads.working(shown) as each:
            batches = each(partial(task.call, task.list_group), task.groups)
            summaries = (one for batch in batches for one in task.summaries(batch))
            if task.prove(summaries):
                task.keep_names(each(partial(task.call, task.check_listing), taken(batches)))

    watched(run, task.phase(listener), take)


def write_in_threads(task: ConversionTask, threads: ThreadExecutor, run: Run, make_phase: Callable[[], Phase]) -> None:
    """Plan, write and publish what was listed and checked."""
    steps, fence = task.steps, Fence(run.folder, run.token, is_remote=threads.is_remote)
    with run.checked():
        shards = list(steps.plan(task.read, fence))

    written = list[FinishedShard | FailedShard]()

    def write(shown: Phase) -> None:
        with threads.working(shown) as each:
            written.extend(each(partial(task.call, task.write), shards))

    watched(run, make_phase(), write)
    with run.checked():
        steps.publish(written, fence)
