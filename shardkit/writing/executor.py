"""The interface of what runs the two parallel steps of a conversion.

`threads` has the executor that runs them in this process, `pipelines` the one that runs them on Beam. Results and
errors travel as files in the work folder, so an executor returns nothing and raises only for failures of the engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shardkit.planning.plan_file import ShardTask
from shardkit.storage import Folder
from shardkit.writing.inventory_tasks import InventoryJob
from shardkit.writing.output.run_token import RunToken
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.progress import Phase
from shardkit.writing.shard import WriteOptions, write_shard
from shardkit.writing.worker_checks.driver_view import DriverView


@dataclass(frozen=True, slots=True)
class WriteJob:
    """What each worker needs to write shards; small and pickled into the pipeline's graph.

    Attributes:
        source: The source's folder.
        output: The output folder.
        options: Options of every shard.
        run: The run that the workers belong to.
        driver: What the driver runs and sees, if workers may run on other hosts; see `driver_view`.
    """

    source: Folder
    output: Folder
    options: WriteOptions
    run: RunToken
    driver: DriverView | None = None

    def write(self, task: ShardTask) -> None:
        """Write one shard; see write_shard."""
        write_shard(self.source, self.output, task, self.options, self.run, self.driver)


class Executor(Protocol):
    """Runs the two parallel steps of a conversion to their end."""

    @property
    def is_remote(self) -> bool:
        """Whether workers may run on other hosts, or with other libraries, than the driver."""
        ...

    @property
    def temp_location(self) -> str | None:
        """A folder that all workers reach, for what is not part of an output; None for a local one."""
        ...

    def take_inventory(self, job: InventoryJob, groups: Sequence[tuple[int, PartGroup]], phase: Phase) -> None:
        """List and check the groups of a source's parts; see `inventory_tasks`.

        Raises:
            MachineError: The engine failed.
        """
        ...

    def write_shards(self, job: WriteJob, tasks: Sequence[ShardTask], phase: Phase) -> None:
        """Write shards; see `write_shard`.

        Raises:
            MachineError: The engine failed.
        """
        ...
