"""The inventory of a whole source: the value that planning takes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from shardkit.conversion.inventory.parts import ListingTotals, Thumbnails
from shardkit.sources.claim import Claim
from shardkit.sources.listing import Source
from shardkit.sources.readings.values import Reading
from shardkit.sources.used_files import UsedFile


@dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of a source.

    Attributes:
        table: A row for each file, with INVENTORY_SCHEMA's and the layout's own columns, sorted by key. Rejected files
            and annotations have a reason.
        layout: Name of the source's layout.
        skipped: Number of files that are no images, by ending or reason.
        classes: Class names in label order if the source's format fixes them; None to sort the names found.
        origin: See Source.
        claims: See Source.
        used_files: See Source.
        removed_before: See Source.
        reading: See Source.
        thumbnails: The small pictures of the images; None if there are none.
    """

    table: pa.Table
    layout: str
    skipped: Mapping[str, int]
    classes: tuple[str, ...] | None = None
    origin: str | None = None
    claims: tuple[Claim, ...] = ()
    used_files: tuple[UsedFile, ...] = ()
    removed_before: tuple[str, ...] = ()
    reading: Reading | None = None
    thumbnails: Thumbnails | None = None

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(
        cls, source: Source, table: pa.Table, totals: ListingTotals, thumbnails: Thumbnails | None = None
    ) -> "Inventory":
        """Return the inventory of a source from all of its rows and the totals of its listings."""
        source.check_classes(totals.classes)
        classes = source.classes or totals.class_names()
        said = source.origin, source.claims, source.used_files, source.removed_before, source.reading
        return cls(table, source.layout, totals.skipped, classes, *said, thumbnails)
