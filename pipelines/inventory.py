"""Beam: list a source in parallel and look at every file once; the result lies in the work folder, in parts."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit import inventory, naming
from shardkit.inventory import Check
from shardkit.sources import Listing, Part, Source
from shardkit.storage import Folder

# Decoding a batch takes a fraction of a second: small enough to share out evenly, large enough to be columnar.
DECODE_BATCH_ROWS = 128
HEADER_BATCH_ROWS = 1 << 14
PART_NAMES = f"{naming.WORK_FOLDER}/inventory.json"


@dataclass
class TakeInventory(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """Parts of a source to the names of the inventory's parts, which it writes into the work folder of `output`."""

    source: Source
    output: Folder
    check: Check

    def expand(self, parts: Any) -> Any:
        """See PTransform."""
        batch_rows = DECODE_BATCH_ROWS if self.check == "decode" else HEADER_BATCH_ROWS
        batches = (
            parts
            | "SpreadParts" >> beam.Reshuffle()  # Part
            | "ListPart" >> beam.FlatMap(_list, self.source, batch_rows)  # Listing
        )
        if self.check == "decode":
            # Lists that are long and a few: without this, the thread that listed a folder would decode all of it.
            batches |= "SpreadBatches" >> beam.Reshuffle()
        return (
            batches
            | "CheckBatch" >> beam.Map(_check, self.source, self.output, self.check)  # part name
            | "Gather" >> beam.combiners.ToList()  # list of all part names; a name stands for up to 16,384 files
            | "WriteNames" >> beam.Map(_write_names, self.output)
        )


def _list(part: Part, source: Source, batch_rows: int) -> Iterator[Listing]:
    return source.list_part(part, batch_rows)


def _check(listing: Listing, source: Source, output: Folder, check: Check) -> str:
    name = inventory.part_name(listing, check)
    if output.stat(f"{inventory.PARTS}/{name}") is None:
        table = inventory.inventory_batch(source.folder, listing, check)
        inventory.write_part(output, name, table, listing.skipped)
    return name


def _write_names(names: list[str], output: Folder) -> None:
    with output.writing(PART_NAMES) as file:
        file.write(json.dumps(sorted(names)).encode())


def part_names(output: Folder) -> Iterable[str]:
    """Names of the parts that the last inventory consists of."""
    names: list[str] = json.loads(output.read(PART_NAMES))
    return names
