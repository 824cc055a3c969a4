"""The limit of planning: one worker holds what is known of all images in memory, so its memory limits their number."""

from collections.abc import Iterable

from shardkit.conversion.inventory.parts import num_rows_of
from shardkit.conversion.planning.sizing import format_size
from shardkit.errors import MachineError
from shardkit.host import this_host
from shardkit.options.values import Check

# Memory of planning for an image with a key of 27 bytes, measured by tests/benchmarks/bench_plan.py: 902 MiB for 10
# million images with check="header", 11.1 GiB for 100 million with "decode", which adds their hashes.
PLANNED_BYTES: dict[Check, int] = {"header": 94, "decode": 119}


def refuse_too_many(names: Iterable[str], check: Check) -> None:
    """Refuse to plan more images than this host's memory holds, before any is read.

    Args:
        names: Names of the parts of the inventory.
        check: The check that they are made with.

    Raises:
        MachineError: The host has too little memory.
    """
    num_images, memory = sum(map(num_rows_of, names)), this_host().memory_bytes
    needed = num_images * PLANNED_BYTES[check]
    if memory is not None and needed > memory:
        msg = (
            f"planning {num_images:,} images takes {format_size(needed)} of memory and this host has "
            f"{format_size(memory)}: run the same command where one host has more, or convert parts of the source to "
            "several datasets"
        )
        raise MachineError(msg)
