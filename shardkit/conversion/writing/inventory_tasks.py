"""The tasks of an inventory: list a source in parallel and check every file once, into parts in the work folder.

A source is listed by `MAX_GROUPS` tasks at most. Each of their batches is then checked by a task of its own, so that a
single folder or table keeps all workers busy. The driver calls `part_groups` before and `read_part_names` after that.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import naming
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.checking import check_batch, measure_files, merge_listings, num_recovered
from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.inventory.parts import merge_parts, read_inventory, rewrite_part, runs_to_merge
from shardkit.conversion.planning.duplicates import compares_pixels
from shardkit.conversion.writing.refusals import ExistingDataset, ListingCheck, ListingSummary
from shardkit.conversion.writing.seen_rejects import refuse_seen_rejects
from shardkit.conversion.writing.taken_inventory import refuse_too_many
from shardkit.errors import MachineError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.for_each import Guard
from shardkit.parallel.progress import Phase, ProgressListener, count
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence
from shardkit.sources import Listing, Source
from shardkit.sources.folder_slices import FolderSlice, slice_source, slices_of
from shardkit.sources.ignoring.ignoring_source import unmatched_notes
from shardkit.sources.visibility import (
    count_folders,
    filled_folders,
    is_filled,
    refuse_other_counts,
    refuse_unseen,
    refuse_unseen_folders,
)
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried, retried_iterator

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_GROUPS = 256  # tasks that list a source
LOOKING_THREADS = 16  # of the driver; network file systems take a millisecond for a folder
# Decoding a batch takes a fraction of a second: small enough to distribute evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"


# The number of a group, that of its batch, and whether that is its last: with these the driver finds missing batches.
BatchId = tuple[int, int, bool]
Batch = tuple[BatchId, Listing]
NamedPart = tuple[BatchId, str]


def listed_rows(work: Folder) -> Reports:
    """Return the reports of the groups, with their numbers of rows: the sum is the total of the checking phase."""
    return Reports(work, "listed")


def rejected_rows(work: Folder) -> Reports:
    """Return the reports of the batches with rejected rows, with their number."""
    return Reports(work, "rejected-counts")


def recovered_rows(work: Folder) -> Reports:
    """Return the reports of the batches with images that an earlier run rejected and that are good now."""
    # They stay until the images are in a plan: a run that is killed before that has changed the parts already.
    return Reports(work, "recovered-counts")


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
        return count_folders(source, whole) if is_remote else filled_folders(source, whole)

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
            refuse_unseen_folders(source, part, num_entries)
            if group.is_counted:
                refuse_other_counts(source, part, num_entries)
            for listing in retried_iterator(partial(listed.list_part, part, batch_rows)):
                tick()
                yield listing

    return merge_listings(listings(), batch_rows // 2)


@dataclass(frozen=True, slots=True)
class InventoryTask:
    """What the listing and checking of a source need; pickled, and small but for its groups."""

    guard: Guard  # what each call of a worker begins and ends with
    listing: ListingCheck  # the source and the options; refuses a listing before anything is decoded
    groups: Sequence[tuple[int, PartGroup]]  # groups of the source's parts
    num_groups: int
    is_filled: bool  # whether the driver sees entries in the source's folder

    @classmethod
    def of(
        cls,
        source: Source,
        guard: Guard,
        options: ConvertOptions,
        existing: ExistingDataset | None,
        *,
        is_explicit: bool,
        **more: Any,  # fields of a subclass
    ) -> "Self":
        """Prepare an inventory, and remove what an earlier run has left of its results."""
        options = options.applied()
        if options.splits.splits is not None and not options.splits.splits_of:
            source = source.undivided()
        listing = ListingCheck(source, options, existing, is_explicit)
        listing.check_options()
        remove_earlier_results(guard.folder)
        groups = part_groups(source, is_remote=guard.driver is not None)
        return cls(guard, listing, groups, len(groups), is_filled(source.folder, ""), **more)

    @property
    def source(self) -> Source:
        return self.listing.source

    @property
    def options(self) -> ConvertOptions:
        return self.listing.options

    @property
    def decodes(self) -> bool:
        """Whether images are decoded; those of a checked source were."""
        return self.options.check == "decode" and not self.source.is_checked

    def phase(self, listener: ProgressListener) -> Phase:
        """Return the phase in which the work is shown."""
        work = self.guard.folder
        # All images are listed before the first one is decoded, so by then the sum of the listed rows is the total.
        count_total = listed_rows(work).total if self.decodes else None
        name = "checking" if self.decodes else "listing"
        return Phase(listener, name, None, partial(parts.count_rows, work), count_total, rejected_rows(work).total)

    def list_group(self, numbered: tuple[int, PartGroup], fence: Fence) -> Iterator[Batch]:
        """Yield the batches of a group of parts; every group has a last batch, which may be empty."""
        index, group = numbered
        batch_rows = DECODE_BATCH_ROWS if self.decodes else HEADER_BATCH_ROWS
        self._refuse_unseen_source()
        listings = list_parts(self.source, group, batch_rows, fence.check_sometimes)
        ahead = next(listings, None) or Listing(self.source.schema)
        num_rows = 0
        for number in itertools.count():
            listing, following = ahead, next(listings, None)
            num_rows += len(listing.table())
            fence.check_sometimes()
            if following is None:
                with writing_inventory(fence):
                    listed_rows(fence.folder).write(fence, index, num_rows)
            yield (index, number, following is None), listing
            if following is None:
                return
            ahead = following

    def summaries(self, batch: Batch) -> list[ListingSummary]:
        """Return what `prove` needs of a batch."""
        _, listing = batch
        return [self.listing.summary(listing.table(), listing.skipped)] if self.options.check == "decode" else []

    def prove(self, summaries: Iterable[ListingSummary]) -> bool:
        """Return whether the whole listing is fit to be checked, image by image; no other check needs it."""
        if self.options.check != "decode":
            return True
        return self.guard.call_once(lambda _: self.listing.refuse(summaries)) is not None

    def check_listing(self, batch: Batch, fence: Fence) -> Iterator[NamedPart]:
        """Check the files of a batch and write the result as a part, unless an earlier run left it; yield its name."""
        batch_id, listing = batch
        folder, output = self.source.folder, fence.folder
        self._refuse_unseen_source()
        checked = self.options.check, self.options.max_file_size
        thumbnails = compares_pixels(self.options, self.source.schema.names)
        measured = measure_files(folder, listing.table(), self.options.max_file_size)
        name = parts.part_name(measured, listing, *checked, thumbnails=thumbnails)
        with writing_inventory(fence):
            there = retried(partial(parts.find_part, output, name))
        recovered = 0 if there is None else num_recovered(folder, measured, there, *checked)
        if there is None or recovered:
            table = check_batch(folder, measured, *checked, thumbnails=thumbnails)
            fence.check()
            with writing_inventory(fence):
                if recovered:
                    recovered_rows(output).write(fence, _item(batch_id), recovered)  # before the part forgets it
                    rewrite_part(output)
                retried(partial(parts.write_part, output, name, table, listing, fence.check))
            _count_checked(table)
        else:
            table = there
        if num_rejected := len(table) - table["reason"].null_count:
            with writing_inventory(fence):
                rejected_rows(output).write(fence, _item(batch_id), num_rejected)
        yield batch_id, name

    def write_part_names(self, names: Iterable[NamedPart], fence: Fence) -> None:
        """Write the names of all parts, for the driver."""
        with writing_inventory(fence):
            fence.write(PART_NAMES, json.dumps(sorted(names)).encode())

    def keep_names(self, names: Iterable[NamedPart]) -> None:
        """Write the names of all parts, unless a step before has failed."""
        self.guard.call_once(partial(self.write_part_names, names))

    def runs_to_merge(self) -> list[list[str]]:
        """Return the runs of parts that workers merge for the one that plans; none of few parts."""
        return self.guard.call_once(lambda fence: runs_to_merge(read_part_names(fence.folder, self.num_groups))) or []

    def merge(self, run: list[str], fence: Fence) -> None:
        """Merge a run of parts."""
        with writing_inventory(fence):
            retried(partial(merge_parts, fence.folder, run, fence.check))

    def read(self, work: Folder, listener: ProgressListener, *, is_remote: bool) -> Inventory:
        """Return the inventory that was taken."""
        names = read_part_names(work, self.num_groups)
        refuse_too_many(names, self.options)
        inventory = Inventory.of(self.source, *read_inventory(work, names), parts.Thumbnails(work))
        self.source.check_accounts(inventory.skipped)

        def find_host(key: str) -> str:
            return next((host for host, _ in parts.find_rows(work, names, [key])), "unknown")

        refuse_seen_rejects(self.source, inventory.table, find_host if is_remote else None)
        for note in unmatched_notes(self.source, inventory.skipped, inventory.table):
            listener.say(f"note: {note}")
        return inventory

    def _refuse_unseen_source(self) -> None:
        if self.is_filled:
            refuse_unseen(self.source.folder, "")


def _item(batch_id: BatchId) -> int:
    group_index, batch_index, _ = batch_id
    return (group_index << 32) + batch_index


def _count_checked(table: pa.Table) -> None:
    count("images_checked", len(table))
    count("image_bytes_checked", pc.sum(table["source_bytes"]).as_py() or 0)
    for found in pc.value_counts(table["reason"].drop_null()).to_pylist():
        count(f"rejected_{found['values']}", found["counts"])


def remove_earlier_results(work: Folder) -> None:
    """Remove the names and the counts of an earlier run: for a source without files, none are written."""
    work.remove(PART_NAMES)
    listed_rows(work).remove()
    rejected_rows(work).remove()


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
    num_batches = {group: batch + 1 for group, batch, is_last in batch_ids if is_last}
    if len(num_batches) < num_groups or len(batch_ids) < sum(num_batches.values()):
        raise MachineError(
            f"{output.url}: workers checked {len(num_batches)} of {num_groups} parts of the source, "
            f"{len(batch_ids)} batches in all, and reported no error for the rest; make sure that all of them reach "
            "this folder, and run the same command again to resume"
        )
    return [name for _, name in found]
