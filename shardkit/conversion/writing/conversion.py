"""The whole conversion: inventory, plan, write, check, publish. It resumes a run that was interrupted.

The order of its steps keeps the promises: the lock and the run token come first, so one run writes at a time; all
refusals that need no decoding come before decoding; the manifest is written last.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.inventory.parts import PARTS
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.plan_file import find_planned, read_planned
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.appending.addition import Addition
from shardkit.conversion.writing.job import (
    ConversionTask,
    Engine,
    take_inventory_in_threads,
    write_in_threads,
)
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import LateRejectsCount, count_written
from shardkit.conversion.writing.refusals import refuse_output
from shardkit.conversion.writing.reject_limit import (
    DEFAULT_MAX_REJECTED,
    REJECTED_IN_WORK,
    RejectLimit,
    counted_rejects,
)
from shardkit.conversion.writing.source_plan import chooses_reading
from shardkit.conversion.writing.step_notes import Notes, RunLog, WorkersNotes
from shardkit.conversion.writing.steps import AlreadyConvertedError, ConversionSteps
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.errors import CallError, ShardkitError, StaleRunError
from shardkit.naming import MANIFEST
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.for_each import FAILURE, Guard, untold_failure, watched
from shardkit.parallel.progress import Phase, ProgressListener, Silent
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.parallel.threads import ThreadExecutor
from shardkit.sources import Source, SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import Folder, open_folder, os_errors_as, remove_temporaries
from shardkit.storage.kernel_locks import locked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a conversion.

    Attributes:
        manifest: The dataset's manifest.
        seconds: Duration of this run.
        finished_before: Number of shards that an earlier run had finished.
        unchanged: Whether the dataset had everything already, so that nothing was written.
        findings: Facts about the source that the user should check; see `shardkit.conversion.planning.checks`.
    """

    manifest: Manifest
    seconds: float
    finished_before: int = 0
    unchanged: bool = False
    findings: tuple[Finding, ...] = ()


@dataclass
class Conversion:
    """One run of a conversion."""

    source_url: str
    output_url: str  # the output folder
    options: ConvertOptions  # options that change the bytes written
    executor: ThreadExecutor | Engine  # runs the inventory and the writing
    source_options: SourceOptions = field(default_factory=SourceOptions)  # how the source is read
    # Maximum number or share of rejected images.
    limit: RejectLimit = field(default_factory=lambda: RejectLimit.parse(DEFAULT_MAX_REJECTED))
    overwrite: bool = False  # whether a different dataset in the output may be removed
    listener: ProgressListener = field(default_factory=Silent)  # receives messages and progress
    log: RunLog = field(default_factory=RunLog)  # the events of this run
    call: Call | None = None  # the user's call, for the findings; None where it is not known
    # The dataset that the examples are appended to, if the output is a folder in it; None for a new dataset.
    addition: Addition | None = None
    # Whether a reading that looks wrong, such as one with a single class, is not refused.
    takes_any_classes: bool = False

    def run(self) -> Outcome:
        return self._into_output(self._convert)

    def submit(self) -> None:
        """Begin the conversion as a job that goes on without this process."""
        engine = self.executor
        if not isinstance(engine, Engine):
            msg = (
                "a conversion in threads ends with this process; to return before its end, name the runner of an engine"
            )
            raise CallError(msg)
        engine.refuse_submitting()
        self.begin(submit=lambda task: engine.submit_job(task, self.listener))

    def begin(
        self, token: str | None = None, submit: Callable[[ConversionTask], None] = lambda _: None
    ) -> ConversionTask:
        """Claim the output for a job without a driver; submit, and return, what its steps need."""

        def begun(source: Source, output: Folder, run: Run) -> ConversionTask:
            self._begin(source, output, Notes())
            output.remove(FAILURE)  # of an earlier run
            task = self._task(source, output, run, None, is_detached=True)
            with run.left():
                submit(task)
            return task

        return self._into_output(begun, token)

    def _into_output(self, work: Callable[[Source, Folder, Run], T], token: str | None = None) -> T:
        refuse_pinned("OUTPUT", self.output_url)
        output = open_folder(self.output_url)
        if output.resolve("") == open_folder(self.source_url).resolve(""):
            raise CallError(f"{output.url}: OUTPUT is SOURCE itself; choose another folder")
        # First: an output that is a label folder would make the rest of the source look misread.
        with os_errors_as("write into the output", output.url):
            outputs.refuse_swapped(self.call, output)
            outputs.refuse_foreign(output)
        hidden = output if self.addition is None else self.addition.root
        with self.listener.phase("recognising", None):
            source = open_source(
                self.source_url, self.source_options, output=hidden, work=output, tell=self.listener.say
            )
        if self.addition is not None:
            self.addition.check_features(features_of(source.schema))
        # Remove temporary files only after the token is written: before, a live writer might still rename its own.
        with os_errors_as("write into the output", output.url), locked(output), claimed(output, token) as run:
            remove_temporaries(output)
            if why := untold_failure(output):
                self.listener.say(f"the job that was submitted before has failed: {why}", "warning")
            try:
                return work(source, output, run)
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

    def _convert(self, source: Source, output: Folder, run: Run) -> Outcome:
        notes = Notes(self.listener, self.log)
        workers_notes = self._begin(source, output, notes)
        try:
            if isinstance(self.executor, Engine):
                self._run_on_engine(self.executor, self._task(source, output, run, None), run, workers_notes)
            else:
                task = self._task(source, output, run, notes)
                take_inventory_in_threads(task, self.executor, run, self.listener)
                write_in_threads(task, self.executor, run, partial(self._writing, output))
            num_finished, is_unchanged = read_planned(output).finished_before, False
        except AlreadyConvertedError as there:
            num_finished, is_unchanged = there.facts["num_shards"], True
        finally:
            workers_notes.pass_on()
        manifest = read_manifest(output.url)
        self.log.write(output)
        # This also removes the lock: a process that waits for it finds a finished dataset.
        run.finish()
        return Outcome(manifest, self.log.seconds, num_finished, unchanged=is_unchanged, findings=notes.findings)

    def _run_on_engine(self, engine: Engine, task: ConversionTask, run: Run, workers_notes: WorkersNotes) -> None:
        output = run.folder

        def is_planned() -> bool:
            planned = find_planned(output)  # of this run, written after an earlier dataset is removed
            return planned is not None and planned.run == run.token

        def planning() -> Phase | None:
            if not inventory_tasks.is_taken(output):
                return None
            return Phase(self.listener, "planning", None, int, following=writing)

        def writing() -> Phase | None:
            return self._writing(output) if is_planned() else None

        def is_published() -> bool:
            return output.stat(MANIFEST) is not None and is_planned()

        phase = replace(task.phase(self.listener), following=planning)
        watched(run, phase, partial(engine.run_job, task), watch=workers_notes.pass_on, is_done=is_published)
        names = inventory_tasks.read_part_names(output, task.num_groups)
        task.steps.refuse_seen(names, Fence(output, run.token, is_remote=True))

    def _begin(self, source: Source, output: Folder, notes: Notes) -> WorkersNotes:
        """Remove what an earlier run has left of its results, except what this one goes on with."""
        self.listener.say(source.describe())
        output.remove(REJECTED_IN_WORK)
        return WorkersNotes(output, notes, self.call)

    def _task(
        self, source: Source, output: Folder, run: Run, notes: Notes | None, *, is_detached: bool = False
    ) -> ConversionTask:
        existing = None if self.overwrite else refuse_output(output, source, self.options)
        is_explicit = self.takes_any_classes or chooses_reading(self.source_options, self.options)
        guard = Guard.of(run, self.executor, [source.folder], is_detached=is_detached)
        steps = ConversionSteps(
            source,
            output,
            self.options,
            self.limit,
            self.overwrite,
            is_explicit,
            self.addition,
            self.call,
            notes,
            is_detached,
        )
        return ConversionTask.of(source, guard, self.options, existing, is_explicit=is_explicit, steps=steps)

    def _writing(self, output: Folder) -> Phase:
        """Return the phase in which the writing of the shards is shown."""
        planned = read_planned(output)
        counts, late = planned.shard_counts, LateRejectsCount(output, planned.digest)
        bytes_per_image = None
        if self.options.stored.keeps_sizes:  # otherwise the size of the images that are written is unknown
            bytes_per_image = planned.num_bytes / max(1, planned.num_examples)
        num_rejected = len(counted_rejects(planned.rejected))
        return Phase(
            self.listener,
            "writing",
            planned.num_examples,
            lambda: count_written(output, counts, bytes_per_image),
            count_rejected=lambda: num_rejected + late.count(),
        )
