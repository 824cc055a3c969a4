"""The executor that runs a conversion's parallel steps on Beam."""

from collections.abc import Sequence
from dataclasses import dataclass

import apache_beam as beam

from shardkit.pipelines.for_each import run_for_each
from shardkit.pipelines.inventory import TakeInventory
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress
from shardkit.planning.plan_file import ShardTask
from shardkit.writing.executor import WriteJob
from shardkit.writing.inventory_tasks import InventoryJob
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.progress import Phase


@dataclass(frozen=True, slots=True)
class BeamExecutor:
    """Runs each step as a pipeline; see `writing.executor.Executor`.

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

    def take_inventory(self, job: InventoryJob, groups: Sequence[tuple[int, PartGroup]], phase: Phase) -> None:
        """See Executor."""
        pipeline = self.runner.pipeline()
        _ = (
            pipeline
            | "Parts" >> beam.Create(groups, reshuffle=False)  # (index, PartGroup)
            | "TakeInventory" >> TakeInventory(job)
        )
        run_with_progress(self.runner, pipeline, phase)

    def write_shards(self, job: WriteJob, tasks: Sequence[ShardTask], phase: Phase) -> None:
        """See Executor. No image passes through a shuffle."""
        run_for_each(self.runner, "WriteShards", tasks, job.write, phase)
