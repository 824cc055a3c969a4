"""Records of one box each, as a table of boxes: the table's layout joins them by image, whatever their order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.sources.formats.box_tables.columns import BoxColumns
from shardkit.sources.formats.inferred.reading import Reading
from shardkit.sources.formats.inferred.trees import kind_of, records
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.storage import os_errors_as

COLUMNS = ("image", "xmin", "ymin", "xmax", "ymax", "width", "height")  # and the class


@dataclass(frozen=True, slots=True)
class BoxRecords(TableFile):
    """A file with a record for each box."""

    inside: str | None  # where the records are; see `trees.records`
    reading: Reading
    column: str | None  # the field of the class; None if there is nothing to choose

    @property
    def remark(self) -> str:
        return f"{self.reading.describe()}; "

    @property
    def box_columns(self) -> BoxColumns:
        image, xmin, ymin, xmax, ymax, width, height, label = range(len(self.columns))
        size = (width, height) if self.reading.size else None
        return BoxColumns(image, (xmin, xmax), (ymin, ymax), label=label if self.column else None, size=size)

    def records(self, part: Any, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        with os_errors_as("read", self.url), self.folder.open(self.path) as file:
            yield from self._records(file)

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        for place, record in records(file, self.url, kind_of(self.path), self.inside):
            image = ImageRecord(number=place)
            if isinstance(record, dict):
                self.reading.parse(image, record, self.column)
            else:
                image.bad = record if isinstance(record, str) else "it is no object"
            problems = [image.bad] if image.bad else [one.message for one in image.problems]
            yield from (Record(place, (), problem) for problem in problems)
            for one in image.objects:
                ymin, xmin, ymax, xmax = one["bbox"]
                yield Record(place, (image.image, xmin, ymin, xmax, ymax, *image.size, one["label_name"]), None)
            if not image.objects and not problems:
                yield Record(place, (image.image, *(None for _ in COLUMNS)), None)
