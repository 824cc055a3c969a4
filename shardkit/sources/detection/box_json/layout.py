"""Boxes or classes in files of JSON with one record for each image: BDD100K, VIA, CrowdHuman, SageMaker and others.

A file with boxes is read as boxes; ``label_columns=NAME`` reads an attribute of the images as their classes instead, or
tells which attribute of the regions, or which labelling job, gives the classes of boxes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, NO_LABEL
from shardkit.sources.columns import LABEL_NAMES, LINE, LISTING_SCHEMA, MAX_OBJECTS, UNMEASURED
from shardkit.sources.context import Opening
from shardkit.sources.detection.annotation_files import ImageRecords, read_records
from shardkit.sources.detection.box_json.files import JsonFile, find_json_files, format_of, open_json_file
from shardkit.sources.detection.box_json.single_files import find_single_files, open_single_files
from shardkit.sources.detection.rows import annotated_rows, detection_schema, image_row
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.vendors.formats import VENDORS, JsonFormat
from shardkit.sources.listing import (
    BadRecord,
    ListingRow,
    RecordProblem,
    Source,
    count_skipped,
    encodable_path,
    rejected_row,
)
from shardkit.sources.name_index import NameIndex
from shardkit.sources.tables.column_names import split_of_text
from shardkit.sources.walking import join
from shardkit.storage import Folder

__all__ = ["BoxJson", "has_box_json", "open_box_json"]


@dataclass(frozen=True, slots=True)
class BoxJson(ImageRecords[JsonFile, ImageRecord]):
    """A source of such files.

    Attributes:
        folder: The folder that keys start at.
        files_folder: The folder of the files.
        files: The files, all with boxes or all with classes of the same attribute.
        is_whole: Whether all images are counted that no file names: if SOURCE is a folder.
    """

    folder: Folder
    files_folder: Folder
    files: tuple[JsonFile, ...]
    is_whole: bool

    layout = LAYOUTS["box-json"].title
    record_noun = "record"

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        if self.files[0].attribute is None:
            return pa.schema([*detection_schema(()), LINE])
        return pa.schema([*LISTING_SCHEMA, *([LABEL_NAMES] if self._has_several else []), LINE])

    @property
    def _has_several(self) -> bool:
        return any(file.has_several for file in self.files)

    def describe(self) -> str:
        """See Source."""
        read = []
        for file in self.files:
            split = f" as {file.split}" if file.split else ""
            images = join(self.folder.url, file.paths.place)
            read.append(
                f"{printable(file.path)}, {file.format.title}, with the images in {images}{split}: {file.describe()}"
                f"{file.paths.remark()}"
            )
        return f"{self.files_folder.url}: read {'; '.join(read)}"

    def records(self, file: JsonFile) -> Iterator[ImageRecord]:
        """See ImageRecords."""
        index = NameIndex(self.folder) if file.paths.by_name else None
        for record in read_records(self.files_folder, file.path, partial(file.format.images, column=file.column)):
            if index is not None and record.image:
                try:
                    record.image = index.key(record.image)
                except BadRecord as error:
                    record.bad = record.bad or str(error)
            yield record

    def key(self, file: JsonFile, record: ImageRecord) -> str:
        """See ImageRecords."""
        if record.bad:
            raise BadRecord(BAD_ANNOTATION, f"{record.bad}; correct the file, or write it again")
        return record.image if file.paths.by_name else file.paths.key(record.image)

    def record_rows(
        self, file: JsonFile, record: ImageRecord, key: str, skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        """See ImageRecords."""
        name, split = f"{encodable_path(file.path)}, record {record.number}", file.split
        num_objects = len(record.objects)
        message, reason = "", BAD_ANNOTATION
        if record.is_skipped:
            count_skipped(skipped, "images of records that are marked as skipped")
            return
        try:
            split = (
                split_of_text(split_of_folder(record.split) or record.split) or split or _split_of_folders(file, key)
            )
        except BadRecord as error:
            message, reason = f"{name}: {error}", error.reason
        if num_objects > MAX_OBJECTS:
            message = f"{name} has {num_objects:,} boxes, more than {MAX_OBJECTS:,}; split the image into tiles"
        if message:
            row = rejected_row(RecordProblem(key, reason, message), split)
            yield row._replace(extra=(*(None for _ in self.schema.names[len(LISTING_SCHEMA) : -1]), record.number))
        elif file.attribute is not None:
            yield self._class_row(file, record, key, name, split)
        else:
            row = image_row(key, split, None, record.objects, record.size, record.number)
            yield from annotated_rows(row, record, file.path, skipped)

    def _class_row(self, file: JsonFile, record: ImageRecord, key: str, name: str, split: str | None) -> ListingRow:
        labels = record.attributes.get(file.attribute or "", [])
        if self._has_several:
            return ListingRow(key, split, None, UNMEASURED, 0, extra=(labels, record.number))
        if len(labels) == 1:
            return ListingRow(key, split, labels[0], UNMEASURED, 0, extra=(record.number,))
        message = f"{name} has {len(labels) or 'no'} classes of {file.attribute!r}; give it one"
        problem = RecordProblem(key, BAD_LABEL if labels else NO_LABEL, message)
        return rejected_row(problem, split)._replace(extra=(record.number,))


def _split_of_folders(file: JsonFile, key: str) -> str | None:
    """Return the split that the folders of an image name, if nothing else does: the last one that does."""
    folders = [] if file.has_split_name else key.split("/")[-2::-1]
    return next(filter(None, map(split_of_folder, folders)), None)


def has_box_json(folder: Folder) -> bool:
    """Return whether a folder has such files, judging by names and the beginning of a few files."""
    return bool(find_json_files(folder)) or find_single_files(folder) is not None


def open_box_json(opening: Opening) -> Source:
    """Find the files and their images.

    Raises:
        DataError: There is no such file, it gives neither boxes nor classes, or its images are not found.
        CallError: Several attributes may be the classes.
    """
    folder, path = opening.folder, opening.file
    paths = find_json_files(folder) if path is None else [path] if format_of(folder, path) else []
    if not paths and path is None and (title := find_single_files(folder)):
        return open_single_files(folder, title, opening.options.label_columns)
    if not paths:
        titles = ", ".join(one.title for one in VENDORS)
        msg = f"{folder.url if path is None else f'{folder.url}/{path}'}: none of these formats was found: {titles}"
        raise DataError(msg)
    return open_files(opening, paths, None, BoxJson)


def open_files(opening: Opening, paths: Sequence[str], kind: JsonFormat | None, source: type["BoxJson"]) -> "BoxJson":
    """Open files of one format.

    Args:
        opening: What the user opens.
        paths: The files.
        kind: Their format; None for that of each.
        source: The class of the source.

    Raises:
        DataError: A file gives neither boxes nor classes, or its images are not found.
        CallError: Several attributes may be the classes.
    """
    folder, path = opening.folder, opening.file
    opened = []
    for one in paths:
        if (own := kind or format_of(folder, one)) is None:
            msg = f"{folder.url}/{one}: the file's format is not known"
            raise DataError(msg)
        opened.append(open_json_file(folder, one, own, opening.options, may_leave=path is not None))
    files = tuple(file for _, file in opened)
    if len({file.attribute for file in files}) > 1:
        names = ", ".join(printable(file.path) for file in files)
        msg = f"{folder.url}: {names} do not all give boxes, or classes of the same attribute; give one file as SOURCE"
        raise DataError(msg)
    if len(files) == 1 and files[0].split == "train":
        files = (replace(files[0], split=None),)  # the only file is often called so: then splits can divide it
    return source(opened[0][0], folder, files, path is None and opening.options.root is None)
