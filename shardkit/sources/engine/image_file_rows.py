"""The rows of an image and of its file of annotations."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from shardkit.naming import printable
from shardkit.options.values import Missing
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, MAX_OBJECTS
from shardkit.sources.engine.drivers import Complete
from shardkit.sources.engine.rows import annotated_rows, detection_fields, rejected_image, without_annotation
from shardkit.sources.file_names import encodable_path
from shardkit.sources.formats.format import Options
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.sources.walking import read_label_file
from shardkit.storage import Entry, Folder

_WITH_BOXES = (
    "has boxes, unlike the first files, and classes of whole images are read; remove them, or give the files with "
    "boxes apart"
)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files of one image each."""

    tree: Folder  # the folder that their paths start at
    format: ImageFormat
    options: Options = field(default_factory=lambda: MappingProxyType({}))
    policy: Missing = "reject"  # what happens to images without a file
    attribute: str | None = None  # the attribute of images that gives their classes; None for boxes
    has_several: bool = False  # whether an image may have several classes
    keeps_boxed: bool = False  # whether a file with boxes gives its image a class, too

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        if self.attribute is None:
            return detection_fields(self.format.object_fields)
        return (LABEL_NAMES,) if self.has_several else ()

    def read(self, path: str, entry: Entry) -> ImageRecord:
        data = read_label_file(self.tree, path, entry.num_bytes, self.format.max_bytes)
        return ImageRecord(bad=data) if isinstance(data, str) else self.format.parse(data, self.options)

    def pair_rows(
        self,
        split: str | None,
        images: Sequence[tuple[str, Entry]],
        path: str,
        entry: Entry,
        complete: Complete,
        skipped: dict[str, int],
    ) -> Iterator[ListingRow]:
        """Yield the rows of a file and its image; of several that differ in their endings, the file has to name it."""
        if len(images) == 1:
            [(key, image)] = images
            yield from self.example(key, image, split, path, lambda: self.read(path, entry), complete, skipped)
            return
        record = self.read(path, entry)
        chosen = [key for key, _ in images if posixpath.basename(key) == posixpath.basename(record.image)]
        names = " or ".join(repr(printable(posixpath.basename(key))) for key, _ in images)
        for key, image in images:
            if [key] == chosen:
                yield from self.example(key, image, split, path, lambda: record, complete, skipped)
                continue
            belongs = f"belongs to {printable(posixpath.basename(chosen[0]))!r}" if chosen else f"may belong to {names}"
            message = f"{printable(path)} {belongs}, which differ in their endings only; rename or remove one"
            yield rejected_image(key, split, image, NO_LABEL, message)

    def example(
        self,
        key: str,
        image: Entry,
        split: str | None,
        path: str,
        read: Callable[[], ImageRecord],
        complete: Complete,
        skipped: dict[str, int],
    ) -> Iterator[ListingRow]:
        """Yield the rows of an image and of the bad objects in its file, which is read if the image is an example."""
        row = self.completed(key, image, split, complete)
        if row.reason is not None:
            yield row
            return
        record = read()
        if problem := self._problem(record, path, skipped):
            yield rejected_row(RecordProblem(key, *problem), row.split, image)
            return
        extra: tuple[Any, ...] = (record.objects, *record.size)
        if self.attribute is not None:
            labels = record.attributes.get(self.attribute, [])
            extra = (labels,) if self.has_several else ()
            row = row if self.has_several else row._replace(label_name=labels[0])
            record = ImageRecord()
        yield from annotated_rows(row._replace(extra=(*extra, *row.extra)), record, path, skipped, self.format.advice)

    def completed(self, key: str, image: Entry, split: str | None, complete: Complete) -> ListingRow:
        """Return the row of an image with the facts of its key; a rejected one if it is no example."""
        if problem := unicode_problem(key):
            return rejected_row(problem, split, image)
        try:
            return complete(ListingRow(key, split, None, image.num_bytes, image.mtime_ns))
        except BadRecord as error:
            return rejected_row(RecordProblem(key, error.reason, str(error)), split, image)

    def _problem(self, record: ImageRecord, path: str, skipped: dict[str, int]) -> tuple[str, str] | None:
        name = encodable_path(path)
        if record.bad:
            return BAD_ANNOTATION, f"{name}: {record.bad}; correct the file, or write it again"
        if record.has_too_many:
            return BAD_ANNOTATION, f"{name}: it has more than {MAX_OBJECTS:,} objects; split the image into tiles"
        if self.attribute is None:
            if record.attributes and not record.objects and self.format.of_classes:
                return BAD_ANNOTATION, f"{name} {self.format.of_classes}"
            if record.attributes:
                count_skipped(skipped, f"classes of whole images ({', '.join(record.attributes)})")
            return None
        if not self.keeps_boxed and (record.objects or record.problems or record.left_out):
            return BAD_ANNOTATION, f"{name} {_WITH_BOXES}"
        num = len(record.attributes.get(self.attribute, ()))
        if self.has_several or num == 1:
            return None
        return BAD_LABEL if num else NO_LABEL, f"{name} has {num or 'no'} classes of {self.attribute!r}; give it one"

    def unannotated(self, row: ListingRow, image: Entry, what: str, skipped: dict[str, int]) -> Iterator[ListingRow]:
        nulls = (None,) * (len(self.fields) - 1)
        negative = ([], *nulls, *row.extra) if self.attribute is None or self.has_several else ()
        yield from without_annotation(self.policy, row.key, row.split, image, what, skipped, negative)
