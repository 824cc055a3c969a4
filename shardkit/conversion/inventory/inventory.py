"""The inventory of a whole source: the value that planning takes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from shardkit.conversion.inventory.source_files import Thumbnails
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.listing import Listing, Source
from shardkit.sources.readings.values import Reading


@dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of a source."""

    # A row for each file, with INVENTORY_SCHEMA's and the layout's own columns, sorted by key. Rejected files and
    # annotations have a reason.
    table: pa.Table
    layout: str  # name of the source's layout
    skipped: Mapping[str, int]  # number of files that are no images, by ending or reason
    # Class names in label order if the source's format fixes them; None to sort the names found.
    classes: tuple[str, ...] | None = None
    origin: str | None = None  # see Source
    claims: tuple[Claim, ...] = ()  # see Source
    used_files: tuple[UsedFile, ...] = ()  # see Source
    removed_before: tuple[str, ...] = ()  # see Source
    reading: Reading | None = None  # see Source
    thumbnails: Thumbnails | None = None  # of the images; None if these cannot be read

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(cls, source: Source, table: pa.Table, totals: Listing, thumbnails: Thumbnails | None = None) -> "Inventory":
        """Return the inventory of a source; `totals` has what all of its listings say besides their rows."""
        source.check_classes(totals.classes)
        classes = source.classes or tuple(name for _, name in sorted(totals.classes.items())) or None
        said = source.origin, source.claims, source.used_files, source.removed_before, source.reading
        return cls(table, source.layout, totals.skipped, classes, *said, thumbnails)
