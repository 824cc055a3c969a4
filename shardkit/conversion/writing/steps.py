"""The steps of a conversion after its inventory: plan, write, publish. None needs a driver or anything in memory.

Each step finds what the one before it left in the work folder, so it runs in this process or on any worker. A step may
be done again, also after a later one has begun, because engines repeat what failed: planning returns what it planned
before, and writing and publishing give the same files.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pyarrow as pa

from shardkit import software
from shardkit.conversion.inventory.columns import Reject, features_of
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.choosing import NothingNewError
from shardkit.conversion.planning.earlier_examples import LEFT_OUT, EarlierExamples
from shardkit.conversion.planning.plan import Plan, make_plan
from shardkit.conversion.planning.plan_file import (
    PlannedDataset,
    ShardTask,
    find_planned,
    planned_facts,
    read_planned,
    shard_tasks,
)
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.appending.addition import Addition
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import (
    FailedShard,
    FinishedShard,
    check_finished_shards,
    finished_shards,
    forget_shards_with_rejects,
    late_rejects,
    remove_stale_reports,
    shards_with_rejects,
)
from shardkit.conversion.writing.publishing import copies_of_removed, publish
from shardkit.conversion.writing.reject_limit import RejectLimit, enforce_limit
from shardkit.conversion.writing.seen_rejects import as_converted, refuse_seen_late_rejects, refuse_seen_rejects
from shardkit.conversion.writing.shard import WriteJob
from shardkit.conversion.writing.step_notes import Notes, worker_notes, write_workers_log
from shardkit.errors import MachineError
from shardkit.naming import MANIFEST, counted
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.detached import end_run
from shardkit.parallel.for_each import JobEnd
from shardkit.parallel.progress import ProgressListener, count
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence
from shardkit.reject_reasons import NARROW_BIT_DEPTH, UNREADABLE
from shardkit.sources import Source
from shardkit.storage import Folder, os_errors_as, remove_temporaries

InventoryReader = Callable[..., Inventory]  # `InventoryTask.read`, or the same for staged rows


def plan_inventory(
    inventory: Inventory,
    options: ConvertOptions,
    listener: ProgressListener,
    call: Call | None = None,
    earlier: EarlierExamples | None = None,
    *,
    is_explicit: bool = False,
) -> Plan:
    """Plan a conversion; see make_plan. The listener receives the findings that warn."""
    with listener.phase("planning", None):
        plan = make_plan(inventory, options, earlier, is_explicit=is_explicit)
    plan = replace(plan, findings=tuple(replace(one, call=call) for one in plan.findings))
    if text := findings_text(plan.findings):
        listener.say(text, "warning")
    refuse_stopping(plan.findings)
    return plan


class AlreadyConvertedError(JobEnd):
    """The output holds this conversion, finished, with `num_shards` shards."""


@dataclass(frozen=True, slots=True)
class ConversionSteps:
    """The steps of one conversion; small and pickled into a job."""

    source: Source
    output: Folder
    options: ConvertOptions  # options that change the bytes written
    limit: RejectLimit  # maximum number or share of rejected images
    overwrite: bool  # whether a different dataset in the output may be removed
    is_explicit: bool  # whether the user chose how the source is read
    addition: Addition | None = None  # the dataset that the examples are appended to; None for a new dataset
    call: Call | None = None  # the user's call, for the findings; None where it is not known
    notes: Notes | None = None  # receives what the steps tell, if the driver runs them; None on workers
    is_detached: bool = False  # whether the driver has left, so that publishing ends the run

    def plan(self, read: InventoryReader, fence: Fence) -> Iterator[ShardTask]:
        """Decide the split, shard and position of every example, and write the plan; yield the shards to write.

        Raises:
            AlreadyConvertedError: The output holds this conversion, finished.
            AlreadyAppendedError: The dataset has the source already.
            NothingNewError: The dataset has all good images of the source already.
        """
        planned = find_planned(self.output)
        if planned is None or planned.run != fence.token:
            with self._notes(fence, 0) as notes, self._errors():
                planned = self._plan(read, fence, notes)
        yield from planned.unfinished(finished_shards(self.output, planned.shard_counts, planned.digest))

    def _notes(self, fence: Fence, step: int) -> AbstractContextManager[Notes]:
        return worker_notes(fence, step) if self.notes is None else contextlib.nullcontext(self.notes)

    def _errors(self) -> AbstractContextManager[None]:
        return os_errors_as("write into the output", self.output.url)

    def _plan(self, read: InventoryReader, fence: Fence, notes: Notes) -> PlannedDataset:
        inventory = read(self.output, notes.listener, is_remote=fence.is_remote)
        if self.addition is None and not self.overwrite:
            inventory = as_converted(self.source, self.output, inventory, self.options.accept)
        notes.log.add("inventory", num_files=len(inventory), check=self.options.check)
        plan, num_listed = self._planned(inventory, notes)
        listed = Counter(inventory.table["reason"].drop_null().to_pylist())
        del inventory
        if self.addition is not None:
            self.addition.check_features(features_of(plan.schema))
        for reason, number in (Counter(plan.rejected["reason"].to_pylist()) - listed).items():
            count(f"rejected_{reason}", number)
        enforce_limit(self.output, self.limit, num_listed, plan.rejected)
        fence.check()
        self._write_rows(plan, notes)
        zlib = software.zlib_version()  # may differ between runs that write the same bytes
        notes.log.add("plan", num_examples=plan.num_examples, num_shards=plan.num_shards, zlib=zlib)
        forget_shards_with_rejects(self.output, UNREADABLE)  # the disk, the mount or the permission may be repaired now
        if NARROW_BIT_DEPTH in self.options.accept:
            forget_shards_with_rejects(self.output, NARROW_BIT_DEPTH)
        planned = PlannedDataset.of(self.output, fence.token, plan)
        finished = finished_shards(self.output, planned.shard_counts, planned.digest)
        if finished:
            notes.listener.say(f"resuming: {len(finished)} of {plan.num_shards} shards are already finished")
        remove_stale_reports(self.output, finished)
        planned = replace(planned, num_listed=num_listed, finished_before=len(finished))
        fence.write(plan_file.PATH, planned.to_bytes())
        return planned

    def _planned(self, inventory: Inventory, notes: Notes) -> tuple[Plan, int]:
        """Return the plan, and the number of rows that the limit of rejects is a share of."""
        earlier = None if self.addition is None else self.addition.earlier(self.source, inventory, self.options)
        num_listed = len(inventory)  # with what the dataset has or had, so that a few new images have no tighter limit
        try:
            plan = plan_inventory(
                inventory, self.options, notes.listener, self.call, earlier, is_explicit=self.is_explicit
            )
        except NothingNewError as nothing:
            enforce_limit(self.output, self.limit, num_listed, nothing.rejected)
            raise
        notes.findings = plan.findings
        return plan, num_listed

    def _write_rows(self, plan: Plan, notes: Notes) -> None:
        """Write the rows of the plan, unless an earlier run wrote the same; clear or refuse what else is there."""
        wanted = plan.description()
        recovered = Reports(self.output, inventory_tasks.RECOVERED)
        has_recovered = recovered.total() > 0
        if not self.overwrite and outputs.refuse_different(self.output, wanted, has_recovered=has_recovered):
            raise AlreadyConvertedError({"num_shards": plan.num_shards})
        pending = None if self.output.stat(MANIFEST) else find_planned(self.output)
        if pending is None or outputs.difference(pending.description, wanted):
            if pending is not None and (number := recovered.total()):
                recovered_images = counted(number, "image")
                notes.listener.say(
                    f"{recovered_images} that an earlier run rejected can be used now; writing all shards"
                )
            outputs.clear(self.output)
            plan_file.write_rows(self.output, plan)
        recovered.remove()

    def write(self, task: ShardTask, fence: Fence) -> list[FinishedShard | FailedShard]:
        """Write a shard, unless it is finished; see `WriteJob.write`."""
        classes, bit_depth = planned_facts(self.output, task.plan_digest)
        form = replace(self.options.stored, bit_depth=bit_depth)
        takes_few_levels = NARROW_BIT_DEPTH in self.options.accept
        job = WriteJob(self.source.folder, classes, form, self.options.max_file_size, takes_few_levels)
        return job.write(task, fence)

    def refuse_seen(self, names: Sequence[str], fence: Fence) -> None:
        """Look at what workers could not read, on the driver, once they have published."""
        planned = read_planned(self.output)
        try:
            refuse_seen_rejects(self.source, self.output, names, planned.rejected, is_remote=True)
            self._refuse_seen(planned, late_rejects(self.output, planned.digest), fence)
        except MachineError:
            self.output.remove(MANIFEST)
            raise

    def publish(self, written: Iterable[FinishedShard | FailedShard], fence: Fence) -> None:
        """Check the finished shards, and write the manifest; NothingNewError: no new image was written.

        `written` has the shards that this run has written; others are checked by their indexes.
        """
        planned = read_planned(self.output)
        with self._notes(fence, 1) as notes, notes.listener.phase("publishing", None), self._errors():
            self._publish(planned, written, fence, notes)
        if self.is_detached:
            with self._errors():
                write_workers_log(self.output)
                end_run(fence, keeps_work=False)

    def _publish(
        self, planned: PlannedDataset, written: Iterable[FinishedShard | FailedShard], fence: Fence, notes: Notes
    ) -> None:
        names = list(planned.shard_counts)
        shards = check_finished_shards(self.output, names, planned.digest, written)
        notes.log.add("write", num_shards=len(names) - planned.finished_before, finished_before=planned.finished_before)
        late = late_rejects(self.output, planned.digest)
        self._refuse_seen(planned, late, fence)
        enforce_limit(self.output, self.limit, planned.num_listed, planned.with_late(late))
        remove_temporaries(self.output)  # left by workers that died and by superfluous copies of tasks
        self.source.refuse_changed()
        fence.check()
        if self.addition is not None:
            self._refuse_nothing_new(planned, shards, late)
        withdrawn = self.source.withdrawn()
        if self.addition is not None:
            withdrawn = self.addition.withdrawn_after(withdrawn, planned)
        publish(self.output, planned, shards, late, withdrawn)
        if withdrawn is not None and self.options.drop is not None and (text := copies_of_removed(planned, withdrawn)):
            notes.listener.say(text, "warning")
        rate = planned.num_examples / max(notes.log.seconds, 1e-3)
        # Nothing that is written may name what a user removed or left out of a dataset.
        is_silent = self.call is None or not {"drop", "where"}.isdisjoint(self.call.given)
        command = {} if self.call is None or is_silent else {"command": self.call.line}
        notes.log.add("publish", images_per_second=round(rate, 1), source_bytes=planned.source.num_bytes, **command)

    def _refuse_seen(self, planned: PlannedDataset, late: Sequence[Reject], fence: Fence) -> None:
        if not any(one.reason == UNREADABLE for one in late):
            return
        rejecting = shards_with_rejects(self.output, UNREADABLE)
        tasks = [task for task in shard_tasks(planned) if task.name.stem in rejecting]
        rows = [plan_file.read_shard_rows(self.output, task) for task in tasks]
        refuse_seen_late_rejects(self.source, pa.concat_tables(rows), late, is_remote=fence.is_remote)

    @staticmethod
    def _refuse_nothing_new(planned: PlannedDataset, shards: Sequence[FinishedShard], late: Sequence[Reject]) -> None:
        """Raise NothingNewError if the writers rejected every image that the dataset neither has nor had."""
        skipped = planned.source.skipped
        left_out = {kind: skipped[kind] for kind in LEFT_OUT if kind in skipped}
        if left_out and not any(one.shard.num_examples for one in shards):
            raise NothingNewError.of(left_out, planned.with_late(late), has_written=True)
