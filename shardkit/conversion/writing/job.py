"""A conversion as a job: list, check, plan, write and publish, in threads of this process or on an engine.

Both call the same functions. On an engine they are one job, which needs no driver: `beam.conversion` only
wires them, and results travel as files between them.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing.inventory_tasks import InventoryTask
from shardkit.conversion.writing.output.finished_shards import SummaryRow
from shardkit.conversion.writing.steps import ConversionSteps
from shardkit.errors import CallError
from shardkit.parallel.detached import has_published
from shardkit.parallel.for_each import Executor, JobEnd, raise_failure, watched
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.run_token import Fence, Run
from shardkit.parallel.threads import ThreadExecutor, taken


@dataclass(frozen=True, slots=True)
class ConversionTask(InventoryTask):
    """What a whole conversion needs."""

    steps: ConversionSteps

    def plan(self) -> list[ShardTask]:
        """Decide where every example goes, and return the shards to write."""
        return self.guard.call_once(partial(self.steps.plan, self.read)) or []

    def write(self, shard: ShardTask, fence: Fence) -> list[SummaryRow]:
        """Write a shard; see `ConversionSteps.write`."""
        return self.steps.write(shard, fence)

    def publish(self, summaries: Iterable[SummaryRow]) -> None:
        """Publish the dataset."""
        folder = self.guard.folder
        if self.guard.call_once(partial(self.steps.write_summaries, summaries)) is not None:
            self.guard.call_once(self.steps.publish)
        if self.guard.is_detached and not has_published(folder):
            with contextlib.suppress(JobEnd):
                raise_failure(folder)
                Fence(folder, self.guard.run, is_remote=True).check()


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
            batches = each(partial(task.guard.call, task.list_group), task.groups)
            summaries = (one for batch in batches for one in task.summaries(batch))
            if task.prove(summaries):
                task.keep_names(each(partial(task.guard.call, task.check_listing), taken(batches)))

    watched(run, task.phase(listener), take)


def write_in_threads(task: ConversionTask, threads: ThreadExecutor, run: Run, make_phase: Callable[[], Phase]) -> None:
    """Plan, write and publish what was listed and checked."""
    steps, fence = task.steps, Fence(run.folder, run.token, is_remote=threads.is_remote)
    with run.checked():
        shards = list(steps.plan(task.read, fence))

    def write(shown: Phase) -> None:
        with threads.working(shown) as each:
            steps.write_summaries(each(partial(task.guard.call, steps.write), shards), fence)

    watched(run, make_phase(), write)
    with run.checked():
        steps.publish(fence)
