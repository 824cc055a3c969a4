"""Read the inventory that workers have taken of a source, and plan with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.merged_parts import read_inventory
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.plan import Plan, make_plan
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.planning_limit import refuse_too_many
from shardkit.conversion.writing.seen_rejects import refuse_seen_rejects
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import ProgressListener
from shardkit.sources import Source
from shardkit.sources.ignoring.ignoring_source import unmatched_notes
from shardkit.storage import Folder


class InventoryReader(Protocol):
    """What reads an inventory that workers have taken: `TakenInventory`, or that of staged rows."""

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory; see `TakenInventory.read`."""
        ...


@dataclass(frozen=True, slots=True)
class TakenInventory:
    """What reads the inventory of a source that workers have taken; small and pickled into a job.

    Attributes:
        source: The source, as it was listed.
        num_groups: Number of groups of its parts.
        options: Options of the conversion.
    """

    source: Source
    num_groups: int
    options: ConvertOptions

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory.

        Raises:
            DataError: Two listings contradict each other.
            MachineError: A part is missing, an image was rejected that can be read here, or the memory of this host is
                too small.
        """
        names = inventory_tasks.read_part_names(work, self.num_groups)
        refuse_too_many(names, self.options)
        inventory = Inventory.of(self.source, *read_inventory(work, names), parts.Thumbnails(work))
        self.source.check_accounts(inventory.skipped)
        find_host = partial(_find_host, work, names) if is_remote else None
        refuse_seen_rejects(self.source, inventory.table, find_host)
        for note in unmatched_notes(self.source, inventory.skipped, inventory.table):
            listener.say(f"note: {note}")
        return inventory


def _find_host(work: Folder, names: Sequence[str], key: str) -> str:
    return next((host for host, _ in parts.find_rows(work, names, [key])), "unknown")


def plan_inventory(
    inventory: Inventory,
    options: ConvertOptions,
    listener: ProgressListener,
    call: Call | None = None,
    earlier: EarlierExamples | None = None,
    *,
    is_explicit: bool = False,
) -> Plan:
    """Plan a conversion; see make_plan. The listener receives the findings that warn.

    Raises:
        DataError: No good image is left.
        CallError: The options do not fit the source, or a finding stops the conversion.
    """
    with listener.phase("planning", None):
        plan = make_plan(inventory, options, earlier, is_explicit=is_explicit)
    plan = replace(plan, findings=tuple(replace(one, call=call) for one in plan.findings))
    if text := findings_text(plan.findings):
        listener.say(text, "warning")
    refuse_stopping(plan.findings)
    return plan
