"""The whole conversion: inventory, plan, write, check, publish. It resumes a run that was interrupted.

The order of its steps keeps the promises: the lock and the run token come first, so one run writes at a time; all
refusals that need no decoding come before decoding; the manifest is written last.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import software
from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.inventory.parts import PARTS
from shardkit.conversion.inventory.schema import Reject
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.choosing import NothingNewError
from shardkit.conversion.planning.earlier_examples import LEFT_OUT
from shardkit.conversion.planning.options import ConvertOptions
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.plan_file import ShardTask, largest_first
from shardkit.conversion.writing.appending.addition import Addition
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import count_written, finished_shards
from shardkit.conversion.writing.output.run_log import RunLog
from shardkit.conversion.writing.output.shard_reports import (
    LateRejectsCount,
    forget_shards_with_rejects,
    late_rejects,
    raise_failures,
    remove_stale_reports,
)
from shardkit.conversion.writing.publishing import FinishedShard, check_finished_shards, copies_of_removed, publish
from shardkit.conversion.writing.refusals import ExistingDataset, refuse_output
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit, too_many_rejected
from shardkit.conversion.writing.rejected import rejected_parquet
from shardkit.conversion.writing.seen_rejects import refuse_seen_late_rejects
from shardkit.conversion.writing.shard import WriteJob, WriteOptions
from shardkit.conversion.writing.source_plan import chooses_reading, plan_inventory, take_inventory
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.errors import CallError, ShardkitError, StaleRunError
from shardkit.naming import MANIFEST, WORK_FOLDER
from shardkit.options.call import Call
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener, Silent
from shardkit.parallel.run_token import Run, claimed
from shardkit.reject_reasons import NOT_COUNTED, UNREADABLE
from shardkit.sources import Source, SourceOptions
from shardkit.sources.opening import open_source
from shardkit.sources.recognising.several_sources import named_source
from shardkit.storage import Folder, open_folder, os_errors_as, remove_temporaries
from shardkit.storage.kernel_locks import locked

REJECTED_IN_WORK = f"{WORK_FOLDER}/rejected.parquet"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a conversion.

    Attributes:
        manifest: The dataset's manifest.
        seconds: Duration of this run.
        finished_before: Number of shards that an earlier run had finished.
        unchanged: Whether an earlier run had finished the whole conversion, so that nothing was written.
        findings: Facts about the source that the user should check; see `shardkit.conversion.planning.checks`.
    """

    manifest: Manifest
    seconds: float
    finished_before: int
    unchanged: bool = False
    findings: tuple[Finding, ...] = ()


@dataclass
class Conversion:
    """One run of a conversion.

    Attributes:
        source_url: The source.
        output_url: The output folder.
        options: Options that change the bytes written.
        executor: Runs the inventory and the writing.
        source_options: How the source is read.
        limit: Maximum number or share of rejected images.
        overwrite: Whether a different dataset in the output may be removed.
        listener: Receives messages and progress.
        log: The events of this run.
        call: The user's call, for the findings; None where it is not known.
        addition: The dataset that the examples are appended to, if the output is a folder in it; None for a new
            dataset.
        takes_any_classes: Whether a reading that looks wrong, such as one with a single class, is not refused.
    """

    source_url: str
    output_url: str
    options: ConvertOptions
    executor: Executor
    source_options: SourceOptions = field(default_factory=SourceOptions)
    limit: RejectLimit = field(default_factory=lambda: RejectLimit.parse(DEFAULT_MAX_REJECTED))
    overwrite: bool = False
    listener: ProgressListener = field(default_factory=Silent)
    log: RunLog = field(default_factory=RunLog)
    call: Call | None = None
    addition: Addition | None = None
    takes_any_classes: bool = False

    def run(self) -> Outcome:
        """Convert the source.

        Raises:
            CallError: The options do not fit, or the output holds files that shardkit did not write.
            DataError: Too many images are bad, the source changed meanwhile, there is nothing to convert, or the output
                holds a different conversion and `overwrite` is off.
            MachineError: The disk, the network or the engine failed. Finished shards are kept for the next run.
        """
        refuse_pinned("OUTPUT", self.output_url)
        output = open_folder(self.output_url)
        sources = [named_source(one).url for one in (self.source_url, *self.source_options.also)]
        if output.resolve("") in {open_folder(one).resolve("") for one in sources}:
            msg = f"{output.url}: OUTPUT is SOURCE itself; choose another folder"
            raise CallError(msg)
        # First: an output that is a label folder would make the rest of the source look misread.
        with os_errors_as("write into the output", output.url):
            outputs.refuse_foreign(output)
        hidden = output if self.addition is None else self.addition.root
        with self.listener.phase("recognising", None):
            source = open_source(self.source_url, self.source_options, output=hidden, work=output)
        if self.addition is not None:
            self.addition.check_features(features_of(source.schema))
        # Remove temporary files only after the token is written: before, a live writer might still rename its own.
        with os_errors_as("write into the output", output.url), locked(output), claimed(output) as run:
            remove_temporaries(output)
            try:
                outcome = self._convert(source, output, run)
            except StaleRunError:
                raise
            except ShardkitError:
                # Keep an existing dataset as it was, what the next run can go on with, and the list of rejects that the
                # message names.
                with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
                    is_resumable = output.stat(MANIFEST) is None and any(map(output.scan, (PARTS, plan_file.FOLDER)))
                    if not is_resumable and output.stat(REJECTED_IN_WORK) is None:
                        run.finish()
                raise
            self.log.write(output)
            # This also removes the lock: a process that waits for it finds a finished dataset.
            run.finish()
            return outcome

    def _convert(self, source: Source, output: Folder, run: Run) -> Outcome:
        self.listener.say(source.describe())
        output.remove(REJECTED_IN_WORK)  # of an earlier run
        existing = self._refuse_output(source, output)
        is_explicit = self.takes_any_classes or chooses_reading(self.source_options, self.options)
        with run.checked():
            inventory = take_inventory(
                source, output, run, self.options, self.executor, self.listener, existing, is_explicit=is_explicit
            )
        self.log.add("inventory", num_files=len(inventory), check=self.options.check)
        earlier = None if self.addition is None else self.addition.earlier(inventory, self.options)
        num_listed = len(inventory)  # with what the dataset has or had, so that a few new images have no tighter limit
        try:
            plan = plan_inventory(inventory, self.options, self.listener, self.call, earlier, is_explicit=is_explicit)
        except NothingNewError as nothing:
            self._enforce_limit(output, num_listed, nothing.rejected)
            raise
        del inventory
        if self.addition is not None:
            self.addition.check_features(features_of(plan.schema))
        self._enforce_limit(output, num_listed, plan.rejected)
        run.check()
        there = self._already_there(output, plan)
        if there is not None:
            return Outcome(there, self.log.seconds, plan.num_shards, unchanged=True, findings=plan.findings)
        zlib = software.zlib_version()  # may differ between runs that write the same bytes
        self.log.add("plan", num_examples=plan.num_examples, num_shards=plan.num_shards, zlib=zlib)
        tasks = plan_file.shard_tasks(plan)
        run.start(plan.digest)
        with run.checked():
            finished_before = self._write(source, output, plan, tasks, run)
        late = late_rejects(output, plan.digest)
        refuse_seen_late_rejects(source, plan.examples, late, is_remote=self.executor.is_remote)
        self._enforce_limit(output, num_listed, plan.with_late(late))
        remove_temporaries(output)  # left by workers that died and by superfluous copies of tasks
        with self.listener.phase("publishing", None):
            source.refuse_changed()
            shards = check_finished_shards(output, [task.name for task in tasks], plan.digest)
            run.check()
            if self.addition is not None:
                self._refuse_nothing_new(plan, shards, late)
            withdrawn = source.withdrawn()
            if self.addition is not None:
                withdrawn = self.addition.withdrawn_after(withdrawn, plan)
            manifest = publish(output, plan, shards, late, withdrawn)
        removes = withdrawn is not None and self.options.drop is not None
        if removes and (text := copies_of_removed(plan, withdrawn)):
            self.listener.say(text, "warning")
        rate = plan.num_examples / self.log.seconds
        self.log.add("publish", images_per_second=round(rate, 1), source_bytes=plan.source.num_bytes)
        return Outcome(manifest, self.log.seconds, finished_before, findings=plan.findings)

    @staticmethod
    def _refuse_nothing_new(plan: Plan, shards: Sequence[FinishedShard], late: Sequence[Reject]) -> None:
        """Raise NothingNewError if the writers rejected every image that the dataset neither has nor had."""
        left_out = {kind: plan.source.skipped[kind] for kind in LEFT_OUT if kind in plan.source.skipped}
        if left_out and not any(one.counted.shard.num_examples for one in shards):
            raise NothingNewError(left_out, plan.with_late(late), has_written=True)

    def _refuse_output(self, source: Source, output: Folder) -> ExistingDataset | None:
        """Refuse an output that holds something else, before any image is decoded."""
        if self.overwrite:
            return None
        there = refuse_output(output, source, self.options)
        return None if there is None else ExistingDataset.of(there)

    def _already_there(self, output: Folder, plan: Plan) -> Manifest | None:
        """Return the finished dataset if it is this conversion's; otherwise prepare the output or refuse it."""
        wanted = plan.description()
        if not self.overwrite and (there := outputs.refuse_different(output, wanted)) is not None:
            return there
        pending = None if output.stat(MANIFEST) else plan_file.read_description(output)
        if pending is not None and not outputs.difference(pending, wanted):
            return None
        outputs.clear(output)
        plan_file.write_plan(output, plan)
        return None

    def _write(
        self,
        source: Source,
        output: Folder,
        plan: Plan,
        tasks: list[ShardTask],
        run: Run,
    ) -> int:
        """Write the missing shards; return the number of shards that were finished before."""
        token = run.token  # the run's changes when its workers have to stop
        forget_shards_with_rejects(output, UNREADABLE)  # the disk, the mount or the permission may be repaired now
        finished = finished_shards(output, [task.name for task in tasks], token.plan_digest)
        unfinished = largest_first([task for task in tasks if task.name not in finished], plan)
        if len(unfinished) < len(tasks):
            self.listener.say(f"resuming: {len(tasks) - len(unfinished)} of {len(tasks)} shards are already finished")
        remove_stale_reports(output, finished)
        counts = (count for split in plan.splits for count in split.shard_counts)
        num_examples = dict(zip((task.name for task in tasks), counts, strict=True))
        late = LateRejectsCount(output, token.plan_digest)
        bytes_per_image = None
        form = self.options.stored_form()
        if form.keeps_sizes:  # otherwise the size of the images that are written is unknown
            bytes_per_image = sum(split.num_bytes for split in plan.splits) / max(1, plan.num_examples)
        num_rejected = len(_counted_rejects(plan.rejected))
        phase = Phase(
            self.listener,
            "writing",
            plan.num_examples,
            lambda: count_written(output, num_examples, bytes_per_image),
            count_rejected=lambda: num_rejected + late.count(),
        )
        options = WriteOptions(tuple(plan.classes), form, self.options.max_file_bytes)
        write = WriteJob(source.folder, options).write
        for_each(self.executor, run, "WriteShards", unfinished, write, phase, reads=[source.folder])
        self.log.add("write", num_shards=len(unfinished), finished_before=len(tasks) - len(unfinished))
        raise_failures(output, [task.name for task in unfinished], token)
        return len(tasks) - len(unfinished)

    def _enforce_limit(self, output: Folder, num_files: int, rejected: pa.Table) -> None:
        rejected = _counted_rejects(rejected)
        if self.limit.allows(len(rejected), num_files):
            return
        with output.atomic_write(REJECTED_IN_WORK) as file:
            file.write(rejected_parquet(rejected))
        raise too_many_rejected(self.limit, num_files, rejected, f"{output.url}/{REJECTED_IN_WORK}")


def _counted_rejects(rejected: pa.Table) -> pa.Table:
    """Return the rejects that are bad; duplicates that dedupe drops, for instance, are good images."""
    return rejected.filter(pc.invert(pc.is_in(rejected["reason"], pa.array(NOT_COUNTED))))
