"""The executor that does work on Beam."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.beam.conversion import convert_task, take_inventory
from shardkit.beam.counters import count_in_beam
from shardkit.beam.options import RunnerConfig
from shardkit.beam.progress import run_with_progress, submit
from shardkit.conversion.writing.job import ConversionTask, InventoryTask
from shardkit.errors import CallError
from shardkit.parallel.for_each import Work
from shardkit.parallel.progress import Phase, ProgressListener


@dataclass(frozen=True, slots=True)
class BeamExecutor:
    """Runs each work as a pipeline; see `parallel.for_each.Executor` and `conversion.writing.job.Engine`."""

    runner: RunnerConfig

    @property
    def is_remote(self) -> bool:
        return True

    @property
    def temp_location(self) -> str | None:
        return self.runner.temp_location

    def for_each(self, name: str, items: Sequence[Any], work: Work, phase: Phase) -> None:
        """See Executor. Each worker gets as many items: see `beam.conversion.take_inventory`."""
        pipeline = self.runner.pipeline()
        _ = work_on_each(pipeline | f"Items{name}" >> beam.Create(items, reshuffle=False), name, work)
        run_with_progress(self.runner, pipeline, phase)

    def run_job(self, task: InventoryTask, phase: Phase) -> None:
        run_with_progress(self.runner, self._pipeline_of(task), phase)

    def refuse_submitting(self) -> None:
        if self.runner.engine.ends_with_driver:
            raise CallError(
                f"a job of --runner={self.runner.engine.runner} ends with this process; to return before its end, run "
                "it on Dataflow, or behind the --job_endpoint of a job server that runs already, with workers of its "
                "own (--environment_type other than LOOPBACK)"
            )

    def submit_job(self, task: ConversionTask, listener: ProgressListener) -> None:
        submit(self.runner, self._pipeline_of(task), listener)

    def _pipeline_of(self, task: InventoryTask) -> beam.Pipeline:
        pipeline = self.runner.pipeline()
        tasks = pipeline | "Task" >> beam.Create([task], reshuffle=False)  # ConversionTask or InventoryTask
        _ = convert_task(tasks) if isinstance(task, ConversionTask) else take_inventory(tasks)
        return pipeline


def work_on_each(items: Any, name: str, work: Work) -> Any:
    """Items to nothing: the work is done for each, spread over the workers evenly."""
    return items | f"Spread{name}" >> beam.Reshuffle() | name >> beam.FlatMap(_work, work)


def _work(item: Any, work: Work) -> Iterable[Any]:
    count_in_beam()
    return work(item) or ()
