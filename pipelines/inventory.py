"""Beam: list a source in parallel and look at every file once; the result lies in the work folder, in parts."""

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import apache_beam as beam

from shardkit import naming
from shardkit.errors import CallError, DataError, MachineError, ShardkitError, StaleRunError
from shardkit.inventory import parts
from shardkit.inventory.checking import check_batch, has_recovered
from shardkit.inventory.measuring import measure_files
from shardkit.inventory.schema import Check
from shardkit.sources import Listing, Source
from shardkit.sources.listing import merge_listings
from shardkit.sources.visibility import filled_folders, is_filled, refuse_unseen, refuse_unseen_folders
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retrying import retried, retried_iterator
from shardkit.writing.refusals import Listed, ListingCheck
from shardkit.writing.run_token import Fence, RunToken

# Decoding a batch takes a fraction of a second: small enough to share out evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
MAX_ELEMENTS = 256  # in which parts of a source are listed
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"
FAILURE = f"{naming.WORK_FOLDER}/inventory-failure.json"
_ERRORS = {kind.exit_code: kind for kind in (CallError, DataError, MachineError)}


@dataclass(frozen=True, slots=True)
class Group:
    """One element of the pipeline: parts of a source, and which of their folders the driver saw filled."""

    parts: Sequence[Any]
    filled: Sequence[tuple[bool, ...]]


class BatchId(NamedTuple):
    """Place of a batch in the source: by these the driver sees that none is missing."""

    group_index: int
    batch_index: int
    is_last: bool  # of its group


def part_groups(source: Source) -> list[tuple[int, Group]]:
    """Return the elements of the pipeline: enough for any number of workers, the same whatever runs them."""
    parts = source.parts()
    size = -(-len(parts) // MAX_ELEMENTS)
    groups = [parts[start : start + size] for start in range(0, len(parts), size)]
    filled = [[filled_folders(source, part) for part in group] for group in groups]
    return list(enumerate(map(Group, groups, filled)))


@dataclass
class TakeInventory(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, Group) pairs of a source to the inventory's parts, and the list of their names, below `output`.

    Nothing is decoded if `listing_check` refuses the listing.
    """

    source: Source
    output: Folder
    check: Check
    run: RunToken
    listing_check: ListingCheck | None = None

    def expand(self, groups: Any) -> Any:
        """See PTransform."""
        job = _Job(self.source, self.output, self.check, self.run, is_filled(self.source.folder, ""))
        # Grouping by keys that are all different only spreads the elements over the workers. Reshuffle does the same
        # with five transforms more, and each costs the in-process runner 20 ms at its start.
        batches = (
            groups
            | "SpreadParts" >> beam.GroupByKey()  # (index, [Group])
            | "ListPart" >> beam.FlatMap(_list, job)  # (BatchId, Listing)
        )
        refused: Any = ()
        if self.listing_check is not None:
            refused = beam.pvalue.AsList(
                batches
                | "Summarise" >> beam.Map(_summarise, self.listing_check)  # (0, Listed)
                | "GatherSummaries" >> beam.GroupByKey()  # (0, [Listed])
                | "RefuseListing" >> beam.FlatMap(_refuse, self.listing_check, job)  # True, if refused
            )
        if self.check == "decode":
            # Without it, the thread that listed a folder would decode all of it.
            batches |= "SpreadBatches" >> beam.GroupByKey()  # (BatchId, [Listing])
        else:
            batches |= "AlikeBatches" >> beam.MapTuple(lambda batch_id, listing: (batch_id, [listing]))
        return (
            batches
            | "CheckBatch" >> beam.FlatMap(_check, job, refused)  # (0, (BatchId, part name))
            | "GatherNames" >> beam.GroupByKey()  # (0, all names); in header mode a name stands for up to 16,384 files
            | "WriteNames" >> beam.Map(_write_names, job)
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """What every worker gets."""

    source: Source
    output: Folder
    check: Check
    run: RunToken
    is_filled: bool  # whether the driver sees entries in the source


def _list(spread: tuple[int, Iterable[Group]], job: _Job) -> Iterator[tuple[tuple[int, int, bool], Listing]]:
    index, groups = spread
    batch_rows = DECODE_BATCH_ROWS if job.check == "decode" else HEADER_BATCH_ROWS
    with _fenced(job) as fence:
        fence.check()
        _refuse_unseen_source(job)
        listings = merge_listings(_listings(groups, job, fence, batch_rows), batch_rows // 2)
        # An empty one at the end if there is nothing: every group has a last batch.
        ahead = next(listings, None) or Listing(job.source.schema)
        for number in itertools.count():
            listing, following = ahead, next(listings, None)
            fence.check_sometimes()
            yield (index, number, following is None), listing
            if following is None:
                return
            ahead = following


def _listings(groups: Iterable[Group], job: _Job, fence: Fence, batch_rows: int) -> Iterator[Listing]:
    for group in groups:
        for part, filled in zip(group.parts, group.filled, strict=True):
            refuse_unseen_folders(job.source, part, filled)
            for listing in retried_iterator(partial(job.source.list_part, part, batch_rows)):
                fence.check_sometimes()
                yield listing


def _summarise(batch: tuple[Any, Listing], listing_check: ListingCheck) -> tuple[int, Listed]:
    return 0, listing_check.summary(batch[1].table())


def _refuse(gathered_summaries: tuple[int, Iterable[Listed]], listing_check: ListingCheck, job: _Job) -> Iterator[bool]:
    with _fenced(job):
        listing_check.refuse(gathered_summaries[1])
    if job.output.stat(FAILURE) is not None:
        yield True


def _check(
    spread: tuple[tuple[int, int, bool], Iterable[Listing]], job: _Job, refused: Sequence[bool] = ()
) -> Iterator[tuple[int, tuple[tuple[int, int, bool], str]]]:
    batch_id, listings = spread
    for listing in () if refused else listings:
        with _fenced(job) as fence:
            fence.check()
            _refuse_unseen_source(job)
            measured = measure_files(job.source.folder, listing.table())
            name = parts.part_name(measured, listing, job.check)
            with _writing(job.output):
                there = retried(partial(_read_if_there, job.output, f"{parts.PARTS}/{name}"))
            if there is None or has_recovered(job.source.folder, measured, there, job.check):
                table = check_batch(job.source.folder, measured, job.check)
                fence.check()
                with _writing(job.output):
                    retried(partial(parts.write_part, job.output, name, table, listing, fence.check))
            yield 0, (batch_id, name)


def _write_names(gathered_names: tuple[int, Iterable[tuple[tuple[int, int, bool], str]]], job: _Job) -> None:
    with _fenced(job) as fence, _writing(job.output):
        fence.check()
        names = json.dumps(sorted(gathered_names[1])).encode()
        retried(lambda: _write(job.output, PART_NAMES, names, fence))


def _refuse_unseen_source(job: _Job) -> None:
    if job.is_filled:
        refuse_unseen(job.source.folder, "")


@contextlib.contextmanager
def _fenced(job: _Job) -> Iterator[Fence]:
    """End quietly if the run has ended; report an error of the source or of this host as a file.

    Raised, it would reach the user as the runner's failure, wrapped in its own words.
    """
    fence = Fence(job.output, job.run)
    with contextlib.suppress(StaleRunError):
        try:
            yield fence
        except StaleRunError:
            raise
        except (CallError, DataError, OSError) as error:
            fence.check()
            exit_code = error.exit_code if isinstance(error, ShardkitError) else MachineError.exit_code
            said = json.dumps({"error": str(error), "exit_code": exit_code}).encode()
            with _writing(job.output):
                retried(lambda: _write(job.output, FAILURE, said, fence))


def _read_if_there(output: Folder, path: str) -> bytes | None:
    return None if output.stat(path) is None else output.read(path)


def _write(output: Folder, path: str, data: bytes, fence: Fence) -> None:
    with output.atomic_write(path, before_rename=fence.check) as file:
        file.write(data)


def _writing(output: Folder) -> AbstractContextManager[None]:
    return os_errors_as("write the inventory", f"{output.url}/{naming.WORK_FOLDER}")


def part_names(output: Folder, num_groups: int) -> list[str]:
    """Return the names of the parts that the last inventory consists of.

    Raises:
        CallError: The options do not fit the source.
        DataError: The source is at fault, as a worker found, or the output holds a dataset of another source.
        MachineError: A worker failed, or a batch of the source is missing.
    """
    if output.stat(FAILURE) is not None:
        failure = json.loads(output.read(FAILURE))
        raise _ERRORS[failure["exit_code"]](failure["error"])
    found: list[tuple[list[Any], str]] = []
    if output.stat(PART_NAMES) is not None:
        found = json.loads(output.read(PART_NAMES))
    batch_ids = {BatchId(*batch_id) for batch_id, _ in found}
    num_batches = {one.group_index: one.batch_index + 1 for one in batch_ids if one.is_last}
    if len(num_batches) < num_groups or len(batch_ids) < sum(num_batches.values()):
        msg = (
            f"{output.url}: workers checked {len(num_batches)} of {num_groups} parts of the source, "
            f"{len(batch_ids)} batches in all, and none said why the rest is missing; make sure that all of them reach "
            "this folder; the same command goes on"
        )
        raise MachineError(msg)
    return [name for _, name in found]
