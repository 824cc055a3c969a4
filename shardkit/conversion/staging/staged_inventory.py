"""Read the inventory of staged rows."""

from collections.abc import Sequence

from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.merged_parts import read_inventory
from shardkit.conversion.inventory.parts import Thumbnails
from shardkit.conversion.staging.kinds import merged_kind
from shardkit.conversion.staging.records import refuse_readings
from shardkit.conversion.staging.staged_part import StagedPart
from shardkit.conversion.staging.staged_source import ReadSource, StagedSource, merge_equal_rows
from shardkit.conversion.writing.planning_limit import refuse_too_many
from shardkit.conversion.writing.refusals import ListingCheck
from shardkit.errors import DataError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import ProgressListener
from shardkit.storage import Folder

_EMPTY = (
    "the PCollection has no rows, and a dataset has at least one example; look at the steps before it: a filter may "
    "drop everything, or a pattern match no file"
)


def part_names(staged: Sequence[StagedPart]) -> list[str]:
    """Return the names of parts, which may be there several times, in the order in which they are read."""
    return sorted({one.name for one in staged})


class StagedInventory:
    """What reads the inventory of staged rows; see `source_plan.InventoryReader`.

    Attributes:
        output: The output folder.
        source: The rows as a source.
    """

    def __init__(
        self, output: Folder, options: ConvertOptions, staged: Sequence[StagedPart], read: ReadSource | None = None
    ) -> None:
        """Read nothing yet.

        A part may be there several times, in any order.
        """
        self.output, self._options, self._staged, self._read = output, options, staged, read
        kinds = {one.kind: one.key for one in sorted(staged, reverse=True) if one.kind}
        self.source = StagedSource(output, merged_kind(kinds) or "label", read)

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory.

        Raises:
            CallError: The options do not fit the rows.
            DataError: There are no rows, their annotations are of several kinds, or two rows of one key differ.
            MachineError: The disk or the network failed, or the memory of this host is too small.
        """
        del listener, is_remote
        if not self._staged:
            raise DataError(_EMPTY)
        refuse_readings({one.reading: one.key for one in sorted(self._staged, reverse=True) if one.reading})
        check = ListingCheck.of(self.source, self._options, None, is_explicit=True)
        check.check_options(self.source.schema)
        names = part_names(self._staged)
        refuse_too_many(names, self._options)
        table, totals = read_inventory(work, names)
        table = merge_equal_rows(table)
        return Inventory.of(self.source, table, self._read.totals if self._read else totals, Thumbnails(work))
