"""The steps of a conversion as a pipeline: list, check, plan, write, publish (see `writing.job`).

`ConvertImages` is them in a user's pipeline, and `BeamExecutor` runs them for ``shardkit convert --runner``.
"""

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam

from shardkit.beam.arguments import read_given
from shardkit.beam.counters import count_in_beam
from shardkit.beam.exchanges import Keep, SpreadAgain
from shardkit.beam.options import RunnerConfig
from shardkit.beam.progress import run_with_progress, submit
from shardkit.beam.write_dataset import each, write_shards, written_dataset
from shardkit.conversion.option_values import absolute_location, conversion_values, location, source_locations
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.inventory_tasks import Batch, NamedPart, PartGroup
from shardkit.conversion.writing.job import ConversionTask, InventoryTask
from shardkit.conversion.writing.refusals import ListingSummary
from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
from shardkit.errors import CallError
from shardkit.parallel.for_each import Work
from shardkit.parallel.progress import Logged, Phase, ProgressListener


class ConvertImages(beam.PTransform):  # type: ignore[misc] # Beam is untyped
    """A pipeline to a dataset of balanced shards: a `WrittenDataset`.

    The source is any that `shardkit.convert` reads, and the bytes are those that it writes. The steps are those of
    ``shardkit convert --runner``: list, check, plan, write, publish. What refuses the conversion fails the pipeline
    with its sentence, before a shard is written.

    A worker opens the source and claims the output when the pipeline runs. After a failure the pipeline, or a new one,
    goes on with the images that were checked and the shards that are finished.
    """

    _yaml_requires_inputs = False  # Beam YAML asks

    def __init__(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        output: str | os.PathLike[str],
        **options: Any,
    ) -> None:
        """Check the options.

        Args:
            source: See `shardkit.convert`.
            output: A new or empty folder that all workers reach.
            **options: Those of `shardkit.convert`, except `workers`, `beam_options` and `listener`, by their names or
                in their groups.

        Raises:
            CallError: An argument is wrong.
        """
        super().__init__()
        self._begin = _Begin(
            tuple(map(absolute_location, source_locations(source))),
            absolute_location(location("output", output)),
            read_given("ConvertImages", options),
            secrets.token_hex(8),
        )

    def expand(self, pipeline: Any) -> Any:
        tasks = (
            pipeline
            | "Start" >> beam.Create([None], reshuffle=False)  # None
            | "DrawToken" >> beam.Map(_draw)  # str; drawn in each run of a template
            | "KeepToken" >> Keep()  # str; the same when a later step is repeated
            | "Claim" >> beam.Map(self._begin)  # ConversionTask
            | "KeepTask" >> Keep()  # ConversionTask
        )
        return written_dataset(convert_task(tasks), self._begin.output)


@dataclass(frozen=True, slots=True)
class _Begin:
    """Opens the source and claims the output, on a worker."""

    sources: tuple[str, ...]
    output: str
    given: dict[str, Any]
    pipeline: str  # what all runs of one pipeline have in common

    def __call__(self, drawn: str) -> ConversionTask:
        source, *also = self.sources
        listener = Logged()
        source_options, converting = conversion_values(source, self.given, listener.say, also, self.output)
        return Conversion(
            source,
            self.output,
            converting,
            BeamExecutor(RunnerConfig(())),
            source_options=source_options,
            limit=RejectLimit.parse(self.given.get("max_rejected", DEFAULT_MAX_REJECTED)),
            overwrite=self.given.get("overwrite", False),
            listener=listener,
        ).begin(f"{self.pipeline}-{drawn}")


def _draw(_: None) -> str:
    return secrets.token_hex(8)


def convert_task(tasks: Any) -> Any:
    """One `ConversionTask` to what is there once its dataset is published, or it has failed and a driver tells why."""
    taken = take_inventory(tasks)
    return write_shards(taken, beam.pvalue.AsSingleton(taken))


def take_inventory(tasks: Any) -> Any:
    """One task to itself once all images of its source are checked.

    Reshuffle gives each of 4 workers 4 of 16 groups, batches or shards, on Flink by a rebalance; see `beam.exchanges`.
    Grouping by a key alone would give them 2, 8, 4 and 2, because it hashes the keys. Without either, the worker that
    lists a folder would check all of it.
    """
    alone = tasks | "WithoutGroups" >> beam.Map(_without_groups)  # ConversionTask or InventoryTask
    task = beam.pvalue.AsSingleton(alone)
    batches = (
        tasks
        | "Groups" >> beam.FlatMap(_groups)  # (number, PartGroup)
        | "SpreadGroups" >> beam.Reshuffle()  # (number, PartGroup)
        | "ListRows" >> beam.FlatMap(each, task, "list_group").with_output_types(Batch)  # Batch of 128 rows or more
    )
    summaries = batches | "Summarise" >> beam.FlatMap(_summaries, task)  # ListingSummary
    proved = alone | "Prove" >> beam.Map(InventoryTask.prove, beam.pvalue.AsIter(summaries))  # bool
    names = (
        batches
        | "SpreadBatches" >> SpreadAgain()  # Batch
        | "CheckImages" >> beam.FlatMap(_check, task, beam.pvalue.AsSingleton(proved))  # NamedPart
    )
    return alone | "KeepNames" >> beam.Map(InventoryTask.keep_names, beam.pvalue.AsIter(names))  # the task


def _groups(task: InventoryTask) -> Sequence[tuple[int, PartGroup]]:
    return task.groups


def _without_groups(task: Any) -> Any:  # of the same type
    return replace(task, groups=())


def _summaries(batch: Batch, task: InventoryTask) -> list[ListingSummary]:
    return task.summaries(batch)


def _check(batch: Batch, task: InventoryTask, is_proved: bool) -> Iterable[NamedPart]:  # noqa: FBT001 - Beam's way
    return each(batch, task, "check_listing") if is_proved else ()


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
