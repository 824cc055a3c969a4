"""The tasks of an inventory: list a source in parallel and check every file once, into parts in the work folder.

A source is listed by `MAX_GROUPS` tasks at most. Each of their batches is then checked by a task of its own, so that a
single folder or table keeps all workers busy. The driver calls `part_groups` before and `read_part_names` after that.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shardkit import naming
from shardkit.conversion.inventory.checking import merge_listings
from shardkit.conversion.inventory.parts import num_rows_of
from shardkit.conversion.planning.duplicates import counts_near
from shardkit.conversion.planning.sizing import format_size
from shardkit.errors import MachineError
from shardkit.host import this_host
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence
from shardkit.sources import Listing, Source
from shardkit.sources.hosts import (
    FolderSlice,
    look_into_folders,
    refuse_other_folders,
    slice_source,
    slices_of,
)
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried_iterator

MAX_GROUPS = 256  # tasks that list a source
LOOKING_THREADS = 16  # of the driver; network file systems take a millisecond for a folder
# Decoding a batch takes a fraction of a second: small enough to distribute evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
# Memory of planning for an image with a key of 27 bytes, by tests/benchmarks/bench_plan.py, from what 6 million more
# than 4 million add to the peak, with pyarrow 25: check="header", "decode", and "decode" with the search for
# near-identical images (169, and 198 in an earlier measurement).
LISTED_BYTES = 122
CHECKED_BYTES = 165
SEARCHED_BYTES = 198
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"


# Kinds of reports, each with a number of rows.
LISTED = "listed"  # of the groups, and the number of their batches: all rows are the total of the checking phase
REJECTED = "rejected-counts"  # of the batches with rejected rows
# Of the batches with images that an earlier run rejected and that are good now. They stay until these are in a plan: a
# run that is killed before that has changed the parts already.
RECOVERED = "recovered-counts"
BatchId = tuple[int, int]  # the number of a group, and that of its batch
Batch = tuple[BatchId, Listing]
NamedPart = tuple[BatchId, str]


@dataclass(frozen=True, slots=True)
class PartGroup:
    """Parts of a source that one task lists."""

    parts: Sequence[Any]  # the parts; see Source
    # For each part, the number of files and folders that the driver sees in each of its folders.
    num_entries: Sequence[tuple[int | None, ...]]
    is_counted: bool  # whether these are the numbers; otherwise 1 is for any number but 0


def part_groups(source: Source, *, is_remote: bool = False) -> list[tuple[int, PartGroup]]:
    """Return the groups of a source's parts, numbered: enough for any number of workers, the same on every executor.

    Of workers on other hosts, the driver counts what they must see.
    """
    listed = list(source.parts())
    if is_remote:
        listed = [one for part in listed for one in _divided(source, part)]
    size = -(-len(listed) // MAX_GROUPS)

    def look(part: Any) -> tuple[int | None, ...]:
        whole = part.part if isinstance(part, FolderSlice) else part
        return look_into_folders(source, whole, counts=is_remote)

    is_few = len(listed) <= LOOKING_THREADS
    seen = list(map(look, listed) if is_few else read_many(look, listed, LOOKING_THREADS))
    starts = range(0, len(listed), size)
    return [
        (index, PartGroup(listed[start : start + size], seen[start : start + size], is_remote))
        for index, start in enumerate(starts)
    ]


def _divided(source: Source, part: Any) -> Sequence[Any]:
    """Return the parts of a part that several workers list: ranges of a folder, or pieces of a file."""
    slices = slices_of(source, part)
    return slices if len(slices) > 1 else source.divided(part)


def list_parts(
    source: Source, group: PartGroup, batch_rows: int, tick: Callable[[], None] = lambda: None
) -> Iterator[Listing]:
    """Yield the rows of a group of a source's parts, in batches."""

    def listings() -> Iterator[Listing]:
        for one, num_entries in zip(group.parts, group.num_entries, strict=True):
            part, listed = one, source
            if isinstance(one, FolderSlice):
                part, listed = one.part, slice_source(source, one)
            refuse_other_folders(source, part, num_entries, counts=group.is_counted)
            for listing in retried_iterator(partial(listed.list_part, part, batch_rows)):
                tick()
                yield listing

    return merge_listings(listings(), batch_rows // 2)


def remove_earlier_results(work: Folder) -> None:
    """Remove the names and the counts of an earlier run: for a source without files, none are written."""
    work.remove(PART_NAMES)
    Reports(work, LISTED).remove()
    Reports(work, REJECTED).remove()


def is_taken(work: Folder) -> bool:
    """Return whether all images of this run are checked."""
    return work.stat(PART_NAMES) is not None


def writing_inventory(fence: Fence) -> AbstractContextManager[None]:
    """Raise an error of the file system as MachineError that says what could not be written."""
    return os_errors_as("write the inventory", f"{fence.folder.url}/{naming.WORK_FOLDER}")


def read_part_names(output: Folder, num_groups: int) -> list[str]:
    """Return the names of the parts that the workers have taken; raise MachineError if a batch is missing."""
    found: list[tuple[list[Any], str]] = []
    if output.stat(PART_NAMES) is not None:
        found = json.loads(output.read(PART_NAMES))
    batch_ids = {tuple(batch_id) for batch_id, _ in found}
    listed = {report.item: report.numbers[1] for report in Reports(output, LISTED).found()}
    num_checked = sum(all((group, batch) in batch_ids for batch in range(num)) for group, num in listed.items())
    if num_checked < num_groups:
        raise MachineError(
            f"{output.url}: workers checked {num_checked} of {num_groups} parts of the source, "
            f"{len(batch_ids)} batches in all, and reported no error for the rest; make sure that all of them reach "
            "this folder, and run the same command again to resume"
        )
    return [name for _, name in found]


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
