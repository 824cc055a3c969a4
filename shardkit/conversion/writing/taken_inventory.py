"""Plan with the inventory that workers have taken of a source."""

from dataclasses import replace
from typing import Protocol

from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.plan import Plan, make_plan
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import ProgressListener
from shardkit.storage import Folder


class InventoryReader(Protocol):
    """What reads an inventory that workers have taken: `InventoryJob`, or that of staged rows."""

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory; see `InventoryJob.read`."""
        ...


def plan_inventory(
    inventory: Inventory,
    options: ConvertOptions,
    listener: ProgressListener,
    call: Call | None = None,
    earlier: EarlierExamples | None = None,
    *,
    is_explicit: bool = False,
) -> Plan:
    """Plan a conversion; see make_plan. The listener receives the findings that warn."""
    with listener.phase("planning", None):
        plan = make_plan(inventory, options, earlier, is_explicit=is_explicit)
    plan = replace(plan, findings=tuple(replace(one, call=call) for one in plan.findings))
    if text := findings_text(plan.findings):
        listener.say(text, "warning")
    refuse_stopping(plan.findings)
    return plan
