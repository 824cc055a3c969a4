"""The Beam transform that writes the shards of a plan, one element per shard; no image passes through a shuffle."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.pipelines.spread import Spread
from shardkit.planning.plan_file import ShardTask
from shardkit.writing.executor import WriteJob


@dataclass
class WriteShards(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, ShardTask) pairs to shards and indexes in the job's output, with a report of each failure as a file."""

    job: WriteJob
    is_remote: bool = False

    def expand(self, tasks: Any) -> Any:
        """See PTransform."""
        return (
            tasks
            | "SpreadShards" >> Spread(self.is_remote)  # (index, [ShardTask])
            | "WriteShard" >> beam.Map(_write, self.job)  # None
        )


def _write(spread: tuple[int, Iterable[ShardTask]], job: WriteJob) -> None:
    for task in spread[1]:
        job.write(task)
