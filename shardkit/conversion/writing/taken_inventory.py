"""Plan with the inventory that workers have taken of a source.

One worker holds what is known of all images in memory, so its memory limits their number.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.parts import num_rows_of
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.duplicates import counts_near
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.plan import Plan, make_plan
from shardkit.conversion.planning.sizing import format_size
from shardkit.errors import MachineError
from shardkit.host import this_host
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.parallel.progress import ProgressListener
from shardkit.storage import Folder

# Memory of planning for an image with a key of 27 bytes, by tests/benchmarks/bench_plan.py: 902 MiB for 10 million
# images with check="header"; with "decode" 11.4 GiB for 100 million, which are 18.4 GiB if near-identical images are
# searched (both from what 6 million more than 4 million add).
LISTED_BYTES = 94
CHECKED_BYTES = 125
SEARCHED_BYTES = 198


class InventoryReader(Protocol):
    """Reads the inventory that workers have taken: `InventoryTask.read`, or that of staged rows."""

    def __call__(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory: ...


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


def bytes_per_image(options: ConvertOptions) -> int:
    """Return the memory that planning takes for each image."""
    if options.check == "header":
        return LISTED_BYTES
    return SEARCHED_BYTES if counts_near(options) else CHECKED_BYTES


def refuse_too_many(names: Iterable[str], options: ConvertOptions) -> None:
    """Refuse to plan more images than this host's memory holds, before any is read."""
    num_images, memory = sum(map(num_rows_of, names)), this_host().memory_bytes
    needed = num_images * bytes_per_image(options)
    if memory is None or needed <= memory:
        return
    without_search = num_images * bytes_per_image(replace(options, dedupe="identical"))
    less = ","
    if without_search <= memory:
        less = (
            f", or add {named('dedupe', 'identical')}, which takes {format_size(without_search)} and does not look for "
            "near-identical images,"
        )
    raise MachineError(
        f"planning {num_images:,} images takes {format_size(needed)} of memory and this host has "
        f"{format_size(memory)}: run the same command where one host has more{less} or convert parts of the source to "
        "several datasets"
    )
