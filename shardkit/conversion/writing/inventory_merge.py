"""The stage in which the workers of an engine merge an inventory of many parts, for the one that plans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from shardkit.conversion.inventory.merged_parts import merge_parts, part_runs
from shardkit.conversion.writing.inventory_tasks import read_part_names, writing_inventory
from shardkit.parallel.run_token import Fence
from shardkit.parallel.stages import Stage
from shardkit.storage.retry import retried

# Planning reads so many parts from a store in 13 s: 50 ms each, 32 at once. A million decoded images have 8,000 parts.
MERGED_ABOVE = 1 << 13


def runs_to_merge(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the runs of parts to merge; none if there are few parts.

    Args:
        names: Names of the parts, in the order in which they are read.
    """
    if len(names) > MERGED_ABOVE:
        yield from part_runs(names)


@dataclass(frozen=True, slots=True)
class InventoryMerge:
    """Merges the parts of an inventory; small and pickled into a job.

    Attributes:
        num_groups: Number of groups of the source's parts.
    """

    num_groups: int

    @property
    def stage(self) -> Stage:
        """The stage. Threads of one process would read every part twice, so they leave it out."""
        return Stage("MergeInventory", self.runs, self.merge, only_on_engine=True)

    def runs(self, fence: Fence) -> Iterator[list[str]]:
        """Yield the runs of parts to merge; none if there are few parts.

        Raises:
            MachineError: A part of the source is missing.
        """
        yield from runs_to_merge(read_part_names(fence.folder, self.num_groups))

    def merge(self, run: list[str], fence: Fence) -> None:
        """Merge a run of parts."""
        with writing_inventory(fence):
            retried(partial(merge_parts, fence.folder, run, fence.check))
