"""Annotations with many images in a file: the records that name the images, as what enumerates examples."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from shardkit.naming import first_of, printable
from shardkit.reject_reasons import MISSING
from shardkit.sources.columns import UNMEASURED
from shardkit.sources.engine.drivers import Context, RowsOfTable
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.matching import ImageNames, Matching
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.engine.records import NamedFiles, RecordDriver, annotated_rows
from shardkit.sources.formats.column_names import split_of_text
from shardkit.sources.formats.format import CLASS_FILE, SLICE, Format, ImageRecord, Options
from shardkit.sources.listing import BadRecord, ListingRow, RecordProblem, count_skipped, rejected_row, unicode_problem
from shardkit.sources.readings.values import Unnamed
from shardkit.sources.walking import encodable_path, ending, file_or_folder, is_image
from shardkit.storage import Entry, Folder, os_errors_as

T = TypeVar("T")
KeyOf: TypeAlias = Callable[[str], str]  # from the text that names an image to its key; raises BadRecord
_MAX_SLICES = 64
_FILES_SHOWN = 4  # that `describe` names
_NOT_THERE = "its image is not there; restore it, or remove its record"


@dataclass(frozen=True, slots=True)
class NamingFile:
    """A file that names images."""

    path: str  # the file, below SOURCE
    paths: PathRule
    matching: Matching | None = None  # how they name images otherwise; None if they are paths
    split: str | None = None  # the split of all its images; None if the file does not give it
    options: Mapping[str, str] = field(default_factory=dict)

    def key_of(self, folder: Folder, images: ImagePaths) -> KeyOf:
        if self.matching is None:
            return self.paths.key
        names, plain = ImageNames(images.paths(folder), self.matching), self.paths.without_folders
        return lambda text: (names.find(plain(text)) if text.strip() else None) or self.paths.key(text)

    def read(self, tree: Folder, kind: Format, parse: Callable[[Any, str, Options], Iterable[T]]) -> Iterator[T]:
        url = f"{tree.url}/{self.path}"
        with os_errors_as("read", url), kind.open(tree, self.path) as opened:
            yield from parse(opened, url, self.options)

    def slices(self, tree: Folder, kind: Format) -> "Sequence[NamingFile]":
        """Return the file for each slice of its images."""
        entry = file_or_folder(tree, self.path) if kind.slice_bytes else None
        num = min(_MAX_SLICES, entry.num_bytes // kind.slice_bytes + 1) if entry else 1
        return [replace(self, options={**self.options, SLICE: f"{i} {num}"}) for i in range(num)] if num > 1 else [self]

    def describe(self, kind: Format, more: str = "") -> str:
        split = f" as {self.split}" if self.split else ""
        place = f"{self.paths.place or '.'}/" if self.matching is None else "the folders below"
        of_format = kind.describe(self.options)
        return f"{printable(self.path)}{of_format}, with the images in {place}{more}{split}{self.paths.remark()}"


@dataclass(frozen=True, slots=True)
class AnnotationDriver(RecordDriver):
    """Enumerates the records of files that name many images each."""

    tree: Folder
    format: Format
    files: tuple[NamingFile, ...]
    images: ImagePaths
    unnamed_images: Unnamed = "reject"  # which of them are listed
    # Whether no two files may name images of one folder, so that each part knows which images nothing names: no file is
    # read twice
    owns_images: bool = False

    @property
    def object_fields(self) -> Sequence[pa.Field]:
        return self.format.fields(self.files[0].options)

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(filter(None, (path for file in self.files for path in (file.path, file.options[CLASS_FILE]))))

    def describe(self) -> str:
        what = "boxes" if self.attribute is None else f"the classes of {printable(repr(self.attribute))}"
        note = f"; note: {self.format.note}" if self.format.note and self.attribute is None else ""
        read = first_of([file.describe(self.format) for file in self.files], _FILES_SHOWN, more="files more")
        return f"{what} from {read}{note}"

    def parts(self, folder: Folder) -> Sequence[NamingFile]:
        return [part for file in self.files for part in file.slices(self.tree, self.format)]

    def records(self, file: NamingFile) -> Iterator[ImageRecord]:
        return file.read(self.tree, self.format, self.format.records)

    def keys(self, folder: Folder) -> Iterator[str]:
        for file in self.files:
            key_of = file.key_of(folder, self.images)
            for name in file.read(self.tree, self.format, self.format.names):
                with contextlib.suppress(BadRecord):
                    yield key_of(name)

    def rows(self, context: Context, part: NamingFile) -> Iterator[ListingRow]:
        """See Driver; in the file's order, then the images that it does not name in the folders that are its own."""
        key_of, images = part.key_of(context.folder, self.images), NamedFiles(context.folder)
        for record in part.read(self.tree, self.format, partial(self.format.joined, key_of=key_of)):
            yield from self.rows_of(context, record, part, key_of, images)
        yield from self._unnamed_of(context, part, images)

    def object_tables(self, context: Context, part: NamingFile, num_rows: int) -> Iterator[RowsOfTable] | None:
        return self._tables(context, part, num_rows) if self.has_tables else None

    def _tables(self, context: Context, part: NamingFile, num_rows: int) -> Iterator[RowsOfTable]:
        key_of, images = part.key_of(context.folder, self.images), NamedFiles(context.folder)
        for table in part.read(self.tree, self.format, partial(self.format.tables, rows=num_rows)):
            rows: list[ListingRow] = []
            for number, record in enumerate(table.records):
                if record is not None:
                    rows += self.rows_of(context, record, part, key_of, images, number)
            yield rows, table
        yield self._unnamed_of(context, part, images), None

    @property
    def has_tables(self) -> bool:
        return type(self.format).tables is not Format.tables

    def rows_of(
        self,
        context: Context,
        record: ImageRecord,
        part: NamingFile,
        key_of: KeyOf,
        images: NamedFiles,
        number: int | None = None,
    ) -> Iterator[ListingRow]:
        """Yield the row of a record's image, and those of its bad objects; with `number` in place of its objects."""
        if record.is_skipped:
            for kind, count in (record.left_out or {f"{self.format.noun}s that nobody annotated": 1}).items():
                count_skipped(context.skipped, kind, count)
            with contextlib.suppress(BadRecord):
                images.named.add(key_of(record.image))
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
            for row in annotated_rows(context, None, record, part.path):
                yield row._replace(split=part.split)
            return
        entry = images.find(key) if self.owns_images or record.may_lack_image else None
        if entry is None and record.may_lack_image:
            context.skip(f"images of {encodable_path(part.path)} that are not there")
            return
        size = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
        row = ListingRow(key, part.split, None, *size)
        why_not: tuple[str, str] | None = None
        if self.owns_images and entry is None:
            bad_name = unicode_problem(key)
            why_not = (bad_name.reason, bad_name.message) if bad_name else (MISSING, _NOT_THERE)
        try:
            row = row._replace(split=split_of_text(record.split) or part.split or self.split_of(key))
        except BadRecord as error:
            why_not = error.reason, str(error)
        yield from self.record_rows(context, row, record, name, part.path, number, why_not)

    @property
    def places(self) -> set[str]:
        return {self._place_of(file) for file in self.files}

    def _place_of(self, file: NamingFile) -> str:
        """Return the folder that has the images that a file names, and none of another file's."""
        is_alone = len(self.files) == 1 and (file.matching is not None or not self.format.names_are_below)
        return "" if is_alone else file.paths.place

    def unnamed(self, context: Context, mode: Unnamed) -> Iterator[ListingRow] | None:
        """See Driver; the parts list the images below the folders that are theirs alone."""
        if not self.owns_images:
            return RecordDriver.unnamed(self, context, mode)
        places = self.places
        if mode == "reject":
            return self._images_outside(context, places)
        self.count_others(context, [""], places)
        return iter(())

    def _images_outside(self, context: Context, places: set[str]) -> Iterator[ListingRow]:
        outside = self.images.counted(context.folder, "", context.skipped, skip=places)
        for path, entry in () if "" in places else outside:
            yield from self.unnamed_row_of(context, None, path, entry)

    def _unnamed_of(self, context: Context, part: NamingFile, images: NamedFiles) -> Iterator[ListingRow]:
        """Yield the rows of the images that a file does not name, next to those that it names or in all its folder."""
        if not self.owns_images:
            return
        is_near = self.unnamed_images != "reject"
        place = self._place_of(part)
        in_place = self.images.counted(context.folder, place, context.skipped, images.named)
        for path, entry in images.others() if is_near else in_place:
            if is_image(path) and path not in images.named:
                yield from self.unnamed_row_of(context, part, path, entry)
            elif is_near and not is_image(path) and path not in self.used:
                context.skip(ending(path))
        if is_near:
            self.count_others(context, [place, *images.inner], images.places)

    def unnamed_row(self, context: Context, key: str, entry: Entry, which: str = "") -> Iterator[ListingRow]:
        return self.unnamed_row_of(context, None, key, entry)

    def unnamed_row_of(self, context: Context, part: NamingFile | None, key: str, entry: Entry) -> Iterator[ListingRow]:
        """Yield the row of an image that no record names, by the reading's rule; `part` is the file of its folder."""
        splits = {file.split for file in ([part] if part else self.files)}
        split = splits.pop() if len(splits) == 1 else self.split_of(key)
        part = self.files[0] if len(self.files) == 1 else part
        which = f"{printable(part.path)} does not name" if part else "no file names"
        what = f"{which} the image; add a record for it"
        yield from self.unannotated(context, ListingRow(key, split, None, 0, 0), entry, what)
