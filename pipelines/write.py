"""Beam: write every shard of a plan, one element a shard; no image ever crosses a shuffle."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.planning.plan_file import ShardTask
from shardkit.storage import Folder
from shardkit.writing.run_token import RunToken
from shardkit.writing.shard import WriteOptions, write_shard


@dataclass
class WriteShards(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, ShardTask) pairs to shards and indexes in `output`; how each ended lies beside them as data."""

    source: Folder
    output: Folder
    options: WriteOptions
    run: RunToken

    def expand(self, tasks: Any) -> Any:
        """See PTransform."""
        return (
            tasks
            | "SpreadShards" >> beam.GroupByKey()  # (index, [ShardTask]); see pipelines/inventory.py
            | "WriteShard" >> beam.Map(_write, self.source, self.output, self.options, self.run)  # None
        )


def _write(
    spread: tuple[int, Iterable[ShardTask]], source: Folder, output: Folder, options: WriteOptions, run: RunToken
) -> None:
    for task in spread[1]:
        write_shard(source, output, task, options, run)
