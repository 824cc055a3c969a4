"""The tasks of an inventory: list a source in parallel and check every file once, into parts in the work folder.

An executor calls, on any worker and as often as it likes: `list_group` for each group of parts, `is_refused` once for
all listings, `check_listing` for each listing, `write_part_names` once. The driver calls `part_groups` before and
`read_part_names` after them. Errors are written to a file: raised by a worker, they would reach the user as the
runner's failure, wrapped in its own words.
"""

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from shardkit import naming
from shardkit.errors import CallError, DataError, MachineError, StaleRunError
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.inventory import parts
from shardkit.inventory.checking import check_batch, has_recovered
from shardkit.inventory.measuring import measure_files
from shardkit.option_values import Check
from shardkit.sources import Listing, Source
from shardkit.sources.folder_slices import FolderSlice, slice_source
from shardkit.sources.listing import merge_listings
from shardkit.sources.visibility import is_filled, refuse_other_counts, refuse_unseen, refuse_unseen_folders
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retry import retried, retried_iterator
from shardkit.writing.output.run_token import Fence, RunToken
from shardkit.writing.part_groups import PartGroup
from shardkit.writing.refusals import ListingCheck, ListingSummary
from shardkit.writing.worker_checks.driver_view import DriverView, check_worker
from shardkit.writing.worker_checks.failures import FAILURE, has_failed, raise_failure, report_failure

# Decoding a batch takes a fraction of a second: small enough to distribute evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"


# Plain tuples: Beam groups by them.
BatchKey = tuple[int, int, bool]  # a BatchId
NamedPart = tuple[BatchKey, str]


class BatchId(NamedTuple):
    """Position of a batch in the source: with these the driver finds missing batches."""

    group_index: int
    batch_index: int
    is_last: bool  # of its group


@dataclass(frozen=True, slots=True)
class InventoryJob:
    """What each worker needs to take an inventory; small and pickled into the pipeline's graph.

    Attributes:
        source: The source.
        output: The folder whose work folder receives the parts.
        check: What is checked.
        run: The run that the workers belong to.
        is_filled: Whether the driver sees entries in the source's folder.
        listing_check: Refuses a listing before anything is decoded; None if there is nothing to refuse.
        max_file_bytes: Size above which an image file is rejected before it is read.
        driver: What the driver runs and sees, if workers may run on other hosts; see `driver_view`.
    """

    source: Source
    output: Folder
    check: Check
    run: RunToken
    is_filled: bool
    listing_check: ListingCheck | None = None
    max_file_bytes: int = MAX_FILE_BYTES
    driver: DriverView | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        output: Folder,
        check: Check,
        run: RunToken,
        listing_check: ListingCheck | None = None,
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        is_remote: bool = False,
    ) -> "InventoryJob":
        """Return a job, with what the driver sees in the source."""
        driver = DriverView.of([source.folder]) if is_remote else None
        return cls(source, output, check, run, is_filled(source.folder, ""), listing_check, max_file_bytes, driver)


def list_group(index: int, group: PartGroup, job: InventoryJob) -> Iterator[tuple[BatchKey, Listing]]:
    """Yield the batches of a group of parts; every group has a last batch, which may be empty.

    Args:
        index: Index of the group.
        group: The group.
        job: The job.
    """
    decodes = job.check == "decode" and not job.source.is_checked
    batch_rows = DECODE_BATCH_ROWS if decodes else HEADER_BATCH_ROWS
    with _fenced(job) as fence:
        fence.check()
        check_worker(job.driver)
        _refuse_unseen_source(job)
        listings = merge_listings(_listings(group, job, fence, batch_rows), batch_rows // 2)
        ahead = next(listings, None) or Listing(job.source.schema)
        num_rows = 0
        for number in itertools.count():
            listing, following = ahead, next(listings, None)
            num_rows += len(listing.table())
            fence.check_sometimes()
            if following is None:
                _write_listed(index, num_rows, job, fence)
            yield (index, number, following is None), listing
            if following is None:
                return
            ahead = following


def _write_listed(index: int, num_rows: int, job: InventoryJob, fence: Fence) -> None:
    """Write the number of rows of a group: the driver shows their sum as the total of the checking phase."""
    fence.check()
    with _writing(job.output):
        retried(lambda: _write(job.output, parts.listed_path(index, num_rows), b"", fence))


def _listings(group: PartGroup, job: InventoryJob, fence: Fence, batch_rows: int) -> Iterator[Listing]:
    for one, num_entries in zip(group.parts, group.num_entries, strict=True):
        part, source = one, job.source
        if isinstance(one, FolderSlice):
            part, source = one.part, slice_source(job.source, one)
        refuse_unseen_folders(job.source, part, num_entries)
        if group.is_counted:
            refuse_other_counts(job.source, part, num_entries)
        for listing in retried_iterator(partial(source.list_part, part, batch_rows)):
            fence.check_sometimes()
            yield listing


def is_refused(summaries: Iterable[ListingSummary], job: InventoryJob) -> bool:
    """Return whether the job's listing check refuses the whole listing, or listing it failed.

    Args:
        summaries: Summaries of all batches.
        job: A job with a listing check.
    """
    if job.listing_check is not None:
        with _fenced(job):
            job.listing_check.refuse(summaries)
    return has_failed(job.output)


def check_listing(batch_id: BatchKey, listing: Listing, job: InventoryJob) -> Iterator[NamedPart]:
    """Check the files of a batch and write the result as a part, unless an earlier run left it; yield its name."""
    with _fenced(job) as fence:
        fence.check()
        check_worker(job.driver)
        _refuse_unseen_source(job)
        measured = measure_files(job.source.folder, listing.table(), job.max_file_bytes)
        name = parts.part_name(measured, listing, job.check, job.max_file_bytes)
        with _writing(job.output):
            there = retried(partial(_read_if_there, job.output, f"{parts.PARTS}/{name}"))
        checked = job.check, job.max_file_bytes
        if there is None or has_recovered(job.source.folder, measured, there, *checked):
            table = check_batch(job.source.folder, measured, *checked)
            fence.check()
            with _writing(job.output):
                retried(partial(parts.write_part, job.output, name, table, listing, fence.check))
            num_rejected = len(table) - table["reason"].null_count
        else:
            num_rejected = parts.num_rejected(there)
        if num_rejected:
            with _writing(job.output):
                retried(partial(_write, job.output, parts.rejected_path(name, num_rejected), b"", fence))
        yield batch_id, name


def write_part_names(names: Iterable[NamedPart], job: InventoryJob) -> None:
    """Write the names of all parts, for the driver."""
    with _fenced(job) as fence, _writing(job.output):
        fence.check()
        data = json.dumps(sorted(names)).encode()
        retried(lambda: _write(job.output, PART_NAMES, data, fence))


def remove_earlier_results(output: Folder) -> None:
    """Remove the names, the failure and the counts of an earlier run: for a source without files, none are written."""
    for path in (PART_NAMES, FAILURE):
        output.remove(path)
    output.remove_tree(parts.LISTED)
    output.remove_tree(parts.REJECTED_COUNTS)


def _refuse_unseen_source(job: InventoryJob) -> None:
    if job.is_filled:
        refuse_unseen(job.source.folder, "")


@contextlib.contextmanager
def _fenced(job: InventoryJob) -> Iterator[Fence]:
    """Stop silently if the run has ended; write an error of the source or of this host to a file."""
    fence = Fence(job.output, job.run)
    with contextlib.suppress(StaleRunError):
        try:
            yield fence
        except StaleRunError:
            raise
        except (CallError, DataError, OSError) as error:
            report_failure(job.output, error, fence, job.driver)


def _read_if_there(output: Folder, path: str) -> bytes | None:
    return None if output.stat(path) is None else output.read(path)


def _write(output: Folder, path: str, data: bytes, fence: Fence) -> None:
    with output.atomic_write(path, before_rename=fence.check) as file:
        file.write(data)


def _writing(output: Folder) -> AbstractContextManager[None]:
    return os_errors_as("write the inventory", f"{output.url}/{naming.WORK_FOLDER}")


def read_part_names(output: Folder, num_groups: int) -> list[str]:
    """Return the names of the parts of the inventory that the workers have taken.

    Args:
        output: The folder whose work folder holds the parts.
        num_groups: Number of groups of parts.

    Raises:
        CallError: The options do not fit the source.
        DataError: The source is at fault, as a worker found, or the output holds a dataset of another source.
        MachineError: A worker failed, or a batch of the source is missing.
    """
    raise_failure(output)
    found: list[tuple[list[Any], str]] = []
    if output.stat(PART_NAMES) is not None:
        found = json.loads(output.read(PART_NAMES))
    batch_ids = {BatchId(*batch_id) for batch_id, _ in found}
    num_batches = {one.group_index: one.batch_index + 1 for one in batch_ids if one.is_last}
    if len(num_batches) < num_groups or len(batch_ids) < sum(num_batches.values()):
        msg = (
            f"{output.url}: workers checked {len(num_batches)} of {num_groups} parts of the source, "
            f"{len(batch_ids)} batches in all, and reported no error for the rest; make sure that all of them reach "
            "this folder, and run the same command again to resume"
        )
        raise MachineError(msg)
    return [name for _, name in found]
