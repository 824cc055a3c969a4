"""Beam: list a source in parallel and look at every file once; the result lies in the work folder, in parts."""

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit import inventory, naming
from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.inventory import Check
from shardkit.refusing import Listed, ListingCheck
from shardkit.sources import Listing, Source
from shardkit.sources.listing import gathered
from shardkit.storage import Folder, explained

# Decoding a batch takes a fraction of a second: small enough to share out evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"
FAILURE = f"{naming.WORK_FOLDER}/inventory-failure.json"


@dataclass
class TakeInventory(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, [part]) pairs of a source to the inventory's parts, and the list of their names, below `output`.

    Nothing is decoded if `listing_check` refuses the listing.
    """

    source: Source
    output: Folder
    check: Check
    listing_check: ListingCheck | None = None

    def expand(self, parts: Any) -> Any:
        """See PTransform."""
        batch_rows = DECODE_BATCH_ROWS if self.check == "decode" else HEADER_BATCH_ROWS
        # Grouping by keys that are all different only spreads the elements over the workers. Reshuffle does the same
        # with five transforms more, and each costs the in-process runner 20 ms at its start.
        batches = (
            parts
            | "SpreadParts" >> beam.GroupByKey()  # (index, [[part]])
            | "ListPart" >> beam.FlatMap(_list, self.source, self.output, batch_rows)  # (batch id, Listing)
        )
        refused = None
        if self.listing_check is not None:
            refused = beam.pvalue.AsList(
                batches
                | "Summarise" >> beam.Map(_summarise, self.listing_check)  # (0, Listed)
                | "GatherSummaries" >> beam.GroupByKey()  # (0, [Listed])
                | "RefuseListing" >> beam.FlatMap(_refuse, self.listing_check, self.output)  # True, if refused
            )
        if self.check == "decode":
            # Without it, the thread that listed a folder would decode all of it.
            batches |= "SpreadBatches" >> beam.GroupByKey()  # (batch id, [Listing])
        else:
            batches |= "AlikeBatches" >> beam.MapTuple(lambda batch_id, listing: (batch_id, [listing]))
        return (
            batches
            | "CheckBatch" >> beam.FlatMap(_check, self.source, self.output, self.check, refused)  # (0, part name)
            | "GatherNames" >> beam.GroupByKey()  # (0, all names); in header mode a name stands for up to 16,384 files
            | "WriteNames" >> beam.Map(_write_names, self.output)
        )


def _list(
    spread: tuple[int, Iterable[Any]], source: Source, output: Folder, batch_rows: int
) -> Iterator[tuple[str, Listing]]:
    index, groups = spread
    listings = (listing for group in groups for part in group for listing in source.list_part(part, batch_rows))
    try:
        for batch_index, listing in enumerate(gathered(listings, batch_rows // 2)):
            yield f"{index}-{batch_index}", listing
    except DataError as error:
        _write_failure(output, error)


def _write_failure(output: Folder, error: ShardkitError) -> None:
    # As a file: raised, it would reach the user as the runner's failure, wrapped in its own words.
    with _writing(output), output.writing(FAILURE) as file:
        file.write(json.dumps({"message": str(error), "exit_code": error.exit_code}).encode())


def raise_failure(output: Folder) -> None:
    """Raise the error that stopped the last inventory, if there was one.

    Raises:
        CallError: the options do not fit the source.
        DataError: a file of labels cannot be read, or the output holds a dataset of another source.
    """
    if output.stat(FAILURE) is not None:
        failure = json.loads(output.read(FAILURE))
        raise (CallError if failure["exit_code"] == CallError.exit_code else DataError)(failure["message"])


def _summarise(batch: tuple[str, Listing], listing_check: ListingCheck) -> tuple[int, Listed]:
    return 0, listing_check.summary(batch[1].table())


def _refuse(gathered: tuple[int, Iterable[Listed]], listing_check: ListingCheck, output: Folder) -> Iterator[bool]:
    try:
        listing_check.refuse(gathered[1])
    except ShardkitError as error:
        _write_failure(output, error)
        yield True


def _check(
    spread: tuple[str, Iterable[Listing]], source: Source, output: Folder, check: Check, refused: list[bool] | None
) -> Iterator[tuple[int, str]]:
    for listing in () if refused else spread[1]:
        measured = inventory.measured(source.folder, listing.table())
        name = inventory.part_name(measured, listing, check)
        with _writing(output):
            path = f"{inventory.PARTS}/{name}"
            if output.stat(path) is None or inventory.has_mended(source.folder, measured, output.read(path), check):
                table = inventory.inventory_batch(source.folder, measured, check)
                inventory.write_part(output, name, table, listing)
        yield 0, name


def _write_names(gathered: tuple[int, Iterable[str]], output: Folder) -> None:
    with _writing(output), output.writing(PART_NAMES) as file:
        file.write(json.dumps(sorted(gathered[1])).encode())


def _writing(output: Folder) -> AbstractContextManager[None]:
    return explained("write the inventory", f"{output.url}/{naming.WORK_FOLDER}")


def part_names(output: Folder) -> Iterable[str]:
    """Names of the parts that the last inventory consists of; none where no file was found."""
    if output.stat(PART_NAMES) is None:
        return []
    names: list[str] = json.loads(output.read(PART_NAMES))
    return names
