"""Call a function for each of many elements on a runner; results travel as files, so the function returns nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import apache_beam as beam

from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress
from shardkit.writing.progress import Phase

_T = TypeVar("_T")


@dataclass
class ForEach(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """Elements to None, spread over the workers evenly.

    Reshuffle gives each of 4 workers 4 of 16 shards, on Flink by a rebalance. Grouping by a key would give them 2, 8, 4
    and 2, because it hashes the keys.
    """

    work: Callable[[Any], None]

    def expand(self, elements: Any) -> Any:
        """See PTransform."""
        return elements | "Spread" >> beam.Reshuffle() | "Work" >> beam.Map(self.work)  # None


def run_for_each(
    runner: RunnerConfig, name: str, elements: Sequence[_T], work: Callable[[_T], None], phase: Phase
) -> None:
    """Call a function for each element on a runner, and report the progress.

    Args:
        runner: The runner and its options.
        name: Name of the step on the engine, such as "WriteShards".
        elements: The elements, small, in the order in which to start them.
        work: The function; it is pickled, and may be called several times for one element.
        phase: The phase of the job.

    Raises:
        MachineError: The runner failed.
    """
    pipeline = runner.pipeline()
    _ = pipeline | "Elements" >> beam.Create(elements, reshuffle=False) | name >> ForEach(work)
    run_with_progress(runner, pipeline, phase)
