"""The executor that does work on Beam, and the transforms that its pipelines are made of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.beam.counters import count_in_beam
from shardkit.beam.options import RunnerConfig
from shardkit.beam.progress import run_with_progress, submit
from shardkit.errors import CallError
from shardkit.parallel.for_each import Divided, Work
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.stages import Begin, JobStage


@dataclass(frozen=True, slots=True)
class BeamExecutor:
    """Runs each work as a pipeline; see `parallel.for_each.Executor` and `parallel.stages.Engine`.

    Attributes:
        runner: The runner and its options.
    """

    runner: RunnerConfig

    @property
    def is_remote(self) -> bool:
        """See Executor."""
        return True

    @property
    def temp_location(self) -> str | None:
        """See Executor."""
        return self.runner.temp_location

    def for_each(self, name: str, items: Sequence[Any], work: Work, phase: Phase) -> None:
        """See Executor."""
        self.run_job([JobStage(name, items, work)], phase)

    def run_job(self, stages: Sequence[JobStage], phase: Phase) -> None:
        """See Engine."""
        pipeline = self.runner.pipeline()
        _ = pipeline | "Job" >> RunStages(stages)
        run_with_progress(self.runner, pipeline, phase)

    def refuse_submitting(self) -> None:
        """See Engine."""
        if self.runner.engine.ends_with_driver:
            msg = (
                f"a job of --runner={self.runner.engine.runner} ends with this process; to return before its end, run "
                "it on Dataflow, or behind the --job_endpoint of a job server that runs already, with workers of its "
                "own (--environment_type other than LOOPBACK)"
            )
            raise CallError(msg)

    def submit_job(self, stages: Sequence[JobStage], listener: ProgressListener) -> None:
        """See Engine."""
        pipeline = self.runner.pipeline()
        _ = pipeline | "Job" >> RunStages(stages)
        submit(self.runner, pipeline, listener)


@dataclass
class RunStages(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """A pipeline to nothing: each stage begins when all of the one before is done.

    The items of a stage that the driver does not know are computed by one worker. They are elements, so the graph is as
    small for a hundred thousand shards as for one.
    """

    stages: Sequence[JobStage]

    def expand(self, pipeline: Any) -> Any:
        """See PTransform."""
        num_done: Any = None  # int, of the stage before
        for stage in self.stages:
            if isinstance(stage.items, Begin):
                begun = pipeline | f"Start{stage.name}" >> beam.Create([None], reshuffle=False)  # None
                after = () if num_done is None else (beam.pvalue.AsSingleton(num_done),)
                items = begun | f"Begin{stage.name}" >> beam.FlatMap(_begin, stage.items, *after)  # Any
            else:
                items = pipeline | f"Items{stage.name}" >> beam.Create(stage.items, reshuffle=False)  # Any
            done = items if stage.work is None else items | stage.name >> ForEach(stage.work)  # nothing
            num_done = done | f"End{stage.name}" >> beam.CombineGlobally(beam.combiners.CountCombineFn())  # int
        return num_done


def _begin(_: None, items: Begin, num_done: int = 0) -> Iterator[Any]:
    del num_done  # a side input, so that all of the stage before is done
    count_in_beam()
    return items()


@dataclass
class ForEach(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """Items to nothing: the work is done for each, spread over the workers evenly.

    Reshuffle gives each of 4 workers 4 of 16 shards, on Flink by a rebalance. Grouping by a key would give them 2, 8, 4
    and 2, because it hashes the keys. Without it, the worker that listed a folder or a table would check all of it.
    """

    work: Work
    closed: Any = ()  # a side input: not empty if the step before has failed

    def expand(self, items: Any) -> Any:
        """See PTransform."""
        spread = items | "Spread" >> beam.Reshuffle()  # Any
        if not isinstance(self.work, Divided):
            return spread | "Work" >> beam.FlatMap(_unless_closed, self.work, self.closed)  # nothing
        pieces = spread | "Divide" >> beam.FlatMap(_unless_closed, self.work.divide, self.closed)  # Any
        closed: Any = ()
        done = pieces
        if self.work.gather is not None:
            done = (
                pieces
                | "Summarise" >> beam.Map(_summarise, self.work.summary)  # Any
                | "Gather" >> beam.CombineGlobally(beam.combiners.ToListCombineFn())  # [Any]
                | "Decide" >> beam.FlatMap(_close, self.work.gather)  # True, if no piece may be begun
            )
            closed = beam.pvalue.AsList(done)
        return done if self.work.then is None else pieces | "Then" >> ForEach(self.work.then, closed)


def _unless_closed(item: Any, function: Callable[[Any], Iterable[Any] | None], closed: Sequence[bool]) -> Iterable[Any]:
    count_in_beam()
    return () if closed else function(item) or ()


def _summarise(piece: Any, summary: Callable[[Any], Any] | None) -> Any:
    return piece if summary is None else summary(piece)


def _close(gathered: Iterable[Any], gather: Callable[[Iterable[Any]], bool]) -> Iterator[bool]:
    if not gather(gathered):
        yield True
