"""Work in several stages, each of which begins when all of the one before is done.

In this process the stages run one after the other. On an engine they are one job, which needs no driver: what a stage
begins with is computed by a task of its own, on one worker, and results travel as files between the stages.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from shardkit.errors import CallError, MachineError
from shardkit.parallel.detached import has_published
from shardkit.parallel.driver_view import DriverView
from shardkit.parallel.for_each import (
    FAILURE,
    Executor,
    Guard,
    JobEnd,
    Work,
    for_each,
    guarded,
    has_failed,
    raise_failure,
    stop_after_failure,
)
from shardkit.parallel.job_progress import StagePhase, job_phase
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.run_token import Fence, Run
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a job.

    Attributes:
        name: Name of its work on an engine, such as "WriteShards".
        items: The items, if the driver knows them; otherwise a function of a Fence, which is called on one worker when
            the stage before is done, and yields them. An engine may call it again. It must be picklable.
        work: The work for each item; None if `items` does all of it.
        phase: The phase in which the driver shows the work; None without work, or if that of the next stage covers it.
        preparing: The phase in which it shows that an engine computes the items; None for none.
        only_on_engine: Whether the stage saves time on several hosts only, so that this process leaves it out.
    """

    name: str
    items: Sequence[Any] | Callable[[Fence], Iterable[Any] | None]
    work: Work | None = None
    phase: StagePhase | None = None
    preparing: StagePhase | None = None
    only_on_engine: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """The items of a stage as a function without arguments, for an engine; see Guard."""

    items: Callable[[Fence], Iterable[Any] | None]
    guard: Guard
    is_end: bool = False  # of a job without a driver

    def __call__(self) -> Iterator[Any]:
        """Yield the items; none if the run has ended or has failed.

        Raises:
            ShardkitError: At the end of a job without a driver: it has failed, which the engine shows.
        """
        yield from self.guard.call(self._begin, None)
        if self.is_end:
            self._raise_failure()

    def _raise_failure(self) -> None:
        folder = self.guard.folder
        if has_published(folder):
            return
        with contextlib.suppress(JobEnd):
            raise_failure(folder)
            Fence(folder, self.guard.run, is_remote=True).check()

    def _begin(self, _: None, fence: Fence) -> Iterable[Any] | None:
        return None if has_failed(fence.folder) else self.items(fence)


@dataclass(frozen=True, slots=True)
class JobStage:
    """A stage for an engine, whose functions are guarded.

    Attributes:
        name: See Stage.
        items: The items, or the function that returns them.
        work: See Stage.
    """

    name: str
    items: Sequence[Any] | Begin
    work: Work | None


@runtime_checkable
class Engine(Executor, Protocol):
    """An executor that runs all stages as one job, on workers alone: `pipelines.executor.BeamExecutor`."""

    def run_job(self, stages: Sequence[JobStage], phase: Phase) -> None:
        """Run stages as one job.

        Args:
            stages: The stages.
            phase: The phase of the whole job, for the progress.

        Raises:
            MachineError: The engine failed.
        """
        ...

    def refuse_submitting(self) -> None:
        """Raise CallError if jobs end with this process."""
        ...

    def submit_job(self, stages: Sequence[JobStage], listener: ProgressListener) -> None:
        """Begin one job, and return when the engine has taken it.

        Args:
            stages: The stages.
            listener: Is told the job's name.

        Raises:
            MachineError: The engine failed.
        """
        ...


def run_stages(
    executor: Executor,
    run: Run,
    stages: Sequence[Stage],
    *,
    reads: Sequence[Folder] = (),
    watch: Callable[[], None] = lambda: None,
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Run the stages of a job to their end; see for_each.

    Args:
        executor: Runs the work.
        run: The run of the folder that receives the results.
        stages: The stages.
        reads: Folders that workers read.
        watch: Called every second or so while a job runs on an engine.
        is_done: Function that looks whether the results are there, for engines that forget jobs that have ended.

    Raises:
        JobEnd: A stage has ended the job.
        CallError: The options do not fit.
        DataError: The data are at fault.
        MachineError: A worker's host or the engine failed.
        StaleRunError: Another run has taken over.
    """
    if isinstance(executor, Engine):
        _run_job(executor, run, stages, reads, watch, is_done)
        return
    for stage in stages:
        if stage.only_on_engine:
            continue
        items = stage.items
        if callable(items):
            with run.checked():
                items = list(items(Fence(run.folder, run.token, is_remote=executor.is_remote)) or ())
        if stage.work is not None and stage.phase is not None:
            for_each(executor, run, stage.name, items, stage.work, stage.phase.make(), reads=reads)


def _run_job(
    executor: Engine,
    run: Run,
    stages: Sequence[Stage],
    reads: Sequence[Folder],
    watch: Callable[[], None],
    is_done: Callable[[], bool],
) -> None:
    run.folder.remove(FAILURE)  # of an earlier run
    guard = Guard(run.folder, run.token, DriverView.of(reads))
    phases = [phase for stage in stages for phase in (stage.preparing, stage.phase) if phase is not None]

    def look() -> None:
        stop_after_failure(run)
        watch()

    phase = replace(job_phase(phases), watch=look, stop=run.stop_workers)
    with run.checked():
        try:
            executor.run_job(job_stages(stages, guard), phase)
        except MachineError:
            # The driver may have been silent until Flink forgot the job ("FlinkJobNotFound"): look before giving up.
            raise_failure(run.folder)
            if not is_done():
                raise
        raise_failure(run.folder)


def engine_without_driver(executor: Executor) -> Engine:
    """Return an executor whose jobs go on when this process ends.

    Raises:
        CallError: This one's do not.
    """
    if not isinstance(executor, Engine):
        msg = "a conversion in threads ends with this process; to return before its end, name the runner of an engine"
        raise CallError(msg)
    executor.refuse_submitting()
    return executor


def submit_stages(
    engine: Engine, run: Run, stages: Sequence[Stage], listener: ProgressListener, *, reads: Sequence[Folder] = ()
) -> None:
    """Begin a job that goes on without this process; see run_stages.

    Its last stage has to end the run, by `detached.end_run`.

    Raises:
        MachineError: The engine failed.
    """
    run.folder.remove(FAILURE)  # of an earlier run
    guard = Guard(run.folder, run.token, DriverView.of(reads), is_detached=True)
    with run.left():
        engine.submit_job(job_stages(stages, guard), listener)


def job_stages(stages: Sequence[Stage], guard: Guard) -> list[JobStage]:
    """Return stages for an engine."""
    return [
        JobStage(
            stage.name,
            Begin(stage.items, replace(guard, is_of_one=True), is_end=guard.is_detached and stage is stages[-1])
            if callable(stage.items)
            else stage.items,
            None if stage.work is None else guarded(stage.work, guard),
        )
        for stage in stages
    ]
