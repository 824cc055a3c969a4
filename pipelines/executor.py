"""The executor that does work on Beam: the only shape of a pipeline that shardkit has."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.parallel.for_each import Divided, Work
from shardkit.parallel.progress import Phase
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress


@dataclass(frozen=True, slots=True)
class BeamExecutor:
    """Runs each work as a pipeline; see `parallel.for_each.Executor`.

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
        pipeline = self.runner.pipeline()
        _ = pipeline | "Items" >> beam.Create(items, reshuffle=False) | name >> ForEach(work)
        run_with_progress(self.runner, pipeline, phase)


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
                | "Summarise" >> beam.Map(_summarise, self.work.summary)  # (0, Any)
                | "Gather" >> beam.GroupByKey()  # (0, [Any])
                | "Decide" >> beam.FlatMap(_close, self.work.gather)  # True, if no piece may be begun
            )
            closed = beam.pvalue.AsList(done)
        return done if self.work.then is None else pieces | "Then" >> ForEach(self.work.then, closed)


def _unless_closed(item: Any, function: Callable[[Any], Iterable[Any] | None], closed: Sequence[bool]) -> Iterable[Any]:
    return () if closed else function(item) or ()


def _summarise(piece: Any, summary: Callable[[Any], Any] | None) -> tuple[int, Any]:
    return 0, piece if summary is None else summary(piece)


def _close(gathered: tuple[int, Iterable[Any]], gather: Callable[[Iterable[Any]], bool]) -> Iterator[bool]:
    if not gather(gathered[1]):
        yield True
