"""Annotations with many images in a file: the records that name the images, as what enumerates examples."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shardkit.naming import printable, split_of_folder
from shardkit.options.values import Missing
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, LINE, LISTING_SCHEMA, MAX_OBJECTS, UNMEASURED
from shardkit.sources.detection.image_paths import ImagePaths
from shardkit.sources.detection.rows import annotated_rows, detection_schema, image_row
from shardkit.sources.engine.drivers import Complete
from shardkit.sources.engine.images import ImagePaths as Images
from shardkit.sources.engine.matching import ImageNames, Matching
from shardkit.sources.engine.unannotated import unnamed_images, without_annotation
from shardkit.sources.formats.format import Format
from shardkit.sources.formats.record import ImageRecord, RecordTable
from shardkit.sources.listing import (
    BadRecord,
    ListingRow,
    RecordProblem,
    count_skipped,
    encodable_path,
    rejected_row,
)
from shardkit.sources.tables.column_names import split_of_text
from shardkit.storage import Entry, Folder, os_errors_as

_OF_SCHEMA = len(LISTING_SCHEMA)


@dataclass(frozen=True, slots=True)
class NamingFile:
    """A file that names images.

    Attributes:
        path: The file, below SOURCE.
        paths: How its paths become keys, if they are paths.
        matching: How they name images otherwise; None if they are paths.
        split: The split of all its images; None if the file does not give it.
        options: Settings of the format.
    """

    path: str
    paths: ImagePaths
    matching: Matching | None = None
    split: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnnotationDriver:
    """Enumerates the records of files that name many images each.

    Attributes:
        tree: SOURCE, where the paths of the files start.
        format: The format.
        files: The files.
        images: Which files are images that they may name.
        attribute: The attribute of images that gives their classes; None for boxes.
        has_several: Whether an image may have several classes.
        splits_of_folders: Whether the last folder of an image's path that is called like a split gives it, if nothing
            else does.
        policy: What happens to images that no record names.
        class_names: Class names in label order; None if the files do not order them.
        is_whole: Whether images in other folders are counted, too: if SOURCE is a folder that has the images.
    """

    tree: Folder
    format: Format
    files: tuple[NamingFile, ...]
    images: Images
    attribute: str | None = None
    has_several: bool = False
    splits_of_folders: bool = False
    policy: Missing = "reject"
    class_names: tuple[str, ...] | None = None
    is_whole: bool = False

    names_images = True

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """See Driver."""
        if self.attribute is None:
            return (*list(detection_schema(self.format.object_fields))[_OF_SCHEMA:], LINE)
        return (*([LABEL_NAMES] if self.has_several else []), LINE)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Driver."""
        return self.class_names

    @property
    def used(self) -> tuple[str, ...]:
        """See Driver."""
        return tuple(file.path for file in self.files)

    def describe(self) -> str:
        """See Driver."""
        what = "boxes" if self.attribute is None else f"the classes of {printable(repr(self.attribute))}"
        read = []
        for file in self.files:
            split = f" as {file.split}" if file.split else ""
            place = f"{file.paths.place or '.'}/" if file.matching is None else "the folders below"
            form = f", {file.options['form']}" if "form" in file.options else ""
            read.append(f"{printable(file.path)}{form}, with the images in {place}{split}{file.paths.remark()}")
        note = f"; note: {self.format.note}" if self.format.note and self.attribute is None else ""
        return f"{what} from {'; '.join(read)}{note}"

    def parts(self, folder: Folder) -> Sequence[NamingFile]:
        """See Driver; one for each file."""
        del folder
        return self.files

    def divided(self, part: NamingFile) -> Sequence[NamingFile]:
        """See Driver."""
        return [part]

    def listed_folders(self, part: NamingFile) -> tuple[()]:
        """See Driver."""
        del part
        return ()

    def sliceable_folder(self, part: NamingFile) -> None:
        """See Driver."""
        del part

    def records(self, file: NamingFile) -> Iterator[ImageRecord]:
        """Yield the records of a file."""
        url = f"{self.tree.url}/{file.path}"
        with os_errors_as("read", url), self.tree.open(file.path) as opened:
            yield from self.format.records(opened, url, file.options)

    def keys(self, folder: Folder) -> Iterator[str]:
        """See Driver."""
        for file in self.files:
            key_of, url = self._key_of(folder, file), f"{self.tree.url}/{file.path}"
            with os_errors_as("read", url), self.tree.open(file.path) as opened:
                for name in self.format.names(opened, url, file.options):
                    with contextlib.suppress(BadRecord):
                        yield key_of(name)

    def _key_of(self, folder: Folder, file: NamingFile) -> Callable[[str], str]:
        if file.matching is None:
            return file.paths.key
        names = ImageNames(self.images.paths(folder), file.matching)
        return lambda text: (names.find(text) if text.strip() else None) or file.paths.key(text)

    def rows(
        self, folder: Folder, part: NamingFile, complete: Complete, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        """See Driver; in the file's order, without looking up whether images exist."""
        key_of = self._key_of(folder, part)
        for record in self.records(part):
            yield from self._rows_of(record, part, key_of, complete, skipped)

    def tables(
        self, folder: Folder, part: NamingFile, complete: Complete, skipped: dict[str, int], num_rows: int
    ) -> Iterator[tuple[list[ListingRow], RecordTable]]:
        """Yield rows with the number of their record in a table in place of their objects, and the table."""
        key_of, url = self._key_of(folder, part), f"{self.tree.url}/{part.path}"
        with os_errors_as("read", url), self.tree.open(part.path) as opened:
            for table in self.format.tables(opened, url, part.options, num_rows) or ():
                rows: list[ListingRow] = []
                for number, record in enumerate(table.records):
                    if record is None:
                        continue
                    of_record = self._rows_of(record, part, key_of, complete, skipped)
                    rows += (one._replace(extra=(number, *one.extra[1:])) if one.extra else one for one in of_record)
                yield rows, table

    @property
    def has_tables(self) -> bool:
        """Whether `tables` gives the rows."""
        return self.attribute is None and type(self.format).tables is not Format.tables

    def _rows_of(
        self,
        record: ImageRecord,
        part: NamingFile,
        key_of: Callable[[str], str],
        complete: Complete,
        skipped: dict[str, int],
    ) -> Iterator[ListingRow]:
        """Yield the row of a record's image, and those of its bad objects."""
        if record.is_skipped:
            count_skipped(skipped, f"{self.format.noun}s that nobody annotated")
            return
        name = f"{encodable_path(part.path)}, {self.format.noun} {record.number}"
        try:
            key = key_of(record.image)
        except BadRecord as error:
            if record.image or not record.problems or record.bad:
                problem = RecordProblem(name, error.reason, str(error))
                if record.bad:
                    problem = RecordProblem(name, record.reason, record.bad)
                yield rejected_row(problem, part.split)
            yield from annotated_rows(None, record, part.path, skipped)
            return
        row = self._row(part, record, key, name)
        if row.reason is None:
            try:
                row = complete(row)
            except BadRecord as error:
                row = rejected_row(RecordProblem(key, error.reason, f"{name}: {error}"), row.split)
        if row.reason is not None:
            yield row._replace(extra=(*(None for _ in self.fields[1:]), record.number))
        else:
            yield from annotated_rows(row, record if self.attribute is None else ImageRecord(), part.path, skipped)

    def _row(self, file: NamingFile, record: ImageRecord, key: str, name: str) -> ListingRow:
        """Return the row of a record's image; a rejected one takes its boxes with it."""
        split = file.split
        try:
            split = split_of_text(record.split) or split or self._split_of_folders(key)
        except BadRecord as error:
            return rejected_row(RecordProblem(key, error.reason, f"{name}: {error}"), split)
        if record.bad:
            return rejected_row(RecordProblem(key, record.reason, f"{name}: {record.bad}"), split)
        if len(record.objects) > MAX_OBJECTS:
            message = f"{name} has more than {MAX_OBJECTS:,} boxes; split the image into tiles"
            return rejected_row(RecordProblem(key, BAD_ANNOTATION, message), split)
        if self.attribute is None:
            return image_row(key, split, None, record.objects, record.size, record.number)
        labels = record.attributes.get(self.attribute, [])
        if self.has_several:
            return ListingRow(key, split, None, UNMEASURED, 0, extra=(labels, record.number))
        if len(labels) == 1:
            return ListingRow(key, split, labels[0], UNMEASURED, 0, extra=(record.number,))
        message = f"{name} has {len(labels) or 'no'} classes of {self.attribute!r}; give it one"
        return rejected_row(RecordProblem(key, BAD_LABEL if labels else NO_LABEL, message), split)

    def _split_of_folders(self, key: str) -> str | None:
        folders = key.split("/")[-2::-1] if self.splits_of_folders else ()
        return next(filter(None, map(split_of_folder, folders)), None)

    def unnamed(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the rows of images that no record names, next to others that one does; count those in other folders."""
        yield from unnamed_images(folder, self.keys(folder), self.unnamed_row, skipped, is_whole=self.is_whole)

    def unnamed_row(self, key: str, entry: Entry, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the row of an image that no record names, by the reading's rule."""
        splits = {file.split for file in self.files}
        split = splits.pop() if len(splits) == 1 else self._split_of_folders(key)
        which = printable(self.files[0].path) if len(self.files) == 1 else "no file"
        what = f"{which} {'does not name' if len(self.files) == 1 else 'names'} the image; add a record for it"
        nulls = (None,) * (len(self.fields) - 1)
        negative: tuple[Any, ...] = ([], *nulls) if self.attribute is None or self.has_several else ()
        yield from without_annotation(self.policy, key, split, entry, what, skipped, negative)
