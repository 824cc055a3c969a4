"""Hugging Face's image folders: ``metadata.csv``, ``.jsonl`` or ``.parquet`` next to the images that it names.

The file is in the source's folder, or there is one in each split folder. Unlike ``datasets``, which takes only images
that are named and fails at the first missing one, shardkit rejects images without record and records without image.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import also_offering
from shardkit.reject_reasons import BAD_SPLIT, MISSING, NO_LABEL
from shardkit.sources.context import Opening
from shardkit.sources.detection.box_json.files import format_of
from shardkit.sources.folders.adjacent_tables import are_classes, look_at_table
from shardkit.sources.folders.class_folders import ClassFolders, Part
from shardkit.sources.listing import (
    Listing,
    ListingRow,
    Source,
    batched,
    count_skipped,
    ending,
    is_ignored,
)
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.column_names import IMAGE_COLUMNS, named_like, plain
from shardkit.sources.tables.columns import Columns
from shardkit.sources.tables.formats.json_files import JsonLinesFile
from shardkit.sources.tables.formats.parquet_files import ParquetFile
from shardkit.sources.tables.formats.records import Record, TableFile
from shardkit.sources.tables.layout import open_table_file
from shardkit.sources.tables.paths import KeyBuilder, root_of
from shardkit.sources.tables.roles import USUAL_OBJECTS, find_columns, read_prefix
from shardkit.sources.walking import file_or_folder, is_dataset, is_image
from shardkit.storage import Folder, os_errors_as

_NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_IMAGE_COLUMN = "file_name"


@dataclass(frozen=True, slots=True)
class Metadata(Source):
    """A tree of images and the tables that name them.

    Attributes:
        folder: Root of the source.
        files: The tables, each for the images below its folder, except those below the folder of another table.
        columns: Roles of the columns, the same in all tables; their indexes are those of the first table.
        split_folders: Whether the first folder of a key is its split.
        excluded: Path below the root that is not listed, because it is the output; None for none.
    """

    folder: Folder
    files: tuple[TableFile, ...]
    columns: Columns
    split_folders: bool
    excluded: str | None

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.columns.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; names of a ClassLabel column."""
        return self.columns.labels.class_names or None

    layout = LAYOUTS["metadata"].title

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        return tuple(file.url for file in self.files)

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return not self.split_folders and self.columns.split is None

    def describe(self) -> str:
        """See Source."""
        names = ", ".join(file.name for file in self.files)
        splits = "; the split from the first folder" if self.split_folders else ""
        return f"{self.folder.url}: read as {self.layout} ({names}): {self.columns.describe()}{splits}"

    def parts(self) -> list[int]:
        """Return one part for each table, and one for the images that no table is for."""
        at_root = any("/" not in file.path for file in self.files)
        return list(range(len(self.files) + (not at_root)))

    def list_part(self, part: int, batch_rows: int) -> Iterator[Listing]:
        """See Source; first a table's records in its order, then the images that it does not name, sorted.

        Memory grows with the number of images below the table's folder, by about 200 bytes each.
        """
        file = self.files[part] if part < len(self.files) else None
        skipped: dict[str, int] = {}
        found: dict[str, ListingRow] = {}
        for listing in self._images(posixpath.dirname(file.path) if file else "", batch_rows):
            found.update((row.key, row) for row in listing.rows)
            for kind, count in listing.skipped.items():
                count_skipped(skipped, kind, count)
        if file and (kind := ending(file.path)) in skipped:
            skipped[kind] -= 1  # the table itself
        skipped = {kind: count for kind, count in skipped.items() if count}
        yield from batched(self.schema, self._rows(file, found, skipped), batch_rows, skipped)

    def _images(self, above: str, batch_rows: int) -> Iterator[Listing]:
        tree = ClassFolders(self.folder, excluded=self.excluded)
        if above:
            yield from tree.list_part(Part(above, None, "", recursive=True), batch_rows)
            return
        taken = {posixpath.dirname(file.path) for file in self.files}
        for name in _child_folders(self.folder, self.excluded):
            if name not in taken:
                yield from tree.list_part(Part(name, None, "", recursive=True), batch_rows)
        yield from tree.list_part(Part("", None, "", recursive=False), batch_rows)

    def _rows(
        self, file: TableFile | None, found: dict[str, ListingRow], skipped: dict[str, int]
    ) -> Iterator[ListingRow]:
        unnamed = set(found)
        if file:
            above = posixpath.dirname(file.path)
            prefix = f"{above}/" if above else ""
            keys = KeyBuilder(root_of(self.folder) + prefix)
            row_of = self.columns.reordered(file.columns).rows(file.name, lambda path: prefix + keys.key(path))
            for record in file.all_records():
                row = row_of(record)
                unnamed.discard(row.key)
                if kind := self.columns.why_left_out(record):
                    count_skipped(skipped, kind)
                    continue
                yield self._with_image(row, found.get(row.key), f"{file.name}, line {record.line}")
        who = f"{file.name} does not name it" if file else "it lies in a folder that no metadata file is for"
        for key in sorted(unnamed):
            image = found[key]._replace(split=self._split(key), label_name=None)
            if image.reason is None:
                image = image._replace(reason=NO_LABEL, message=f"{who}; add a record for it, or move it away")
            yield image

    def _split(self, key: str) -> str | None:
        first, separator, _ = key.partition("/")
        return split_of_folder(first) if self.split_folders and separator else None

    def _with_image(self, row: ListingRow, image: ListingRow | None, line: str) -> ListingRow:
        """Return a record's row with its image's split, size and modification time, or why it is rejected."""
        problem = None
        if self.split_folders:
            row = row._replace(split=self._split(row.key))
            if row.split is None:
                problem = BAD_SPLIT, "the image lies outside the split folders; move it into one"
        if image is not None:
            row = row._replace(source_bytes=image.source_bytes, mtime_ns=image.mtime_ns)
        elif row.reason is None:
            # A hidden file, or one without the ending of an image: the check finds out what it is.
            entry = file_or_folder(self.folder, row.key)
            if entry is None or entry.is_folder:
                what = "is not there" if entry is None else "is a folder"
                problem = MISSING, f"the image that it names {what}; correct the name or add the image"
            else:
                row = row._replace(source_bytes=entry.num_bytes, mtime_ns=entry.mtime_ns)
        if row.reason is None and problem:
            extra = (row.extra[0], *[None] * (len(row.extra) - 1))  # the record's number stays
            return row._replace(label_name=None, reason=problem[0], message=f"{line}: {problem[1]}", extra=extra)
        return row


def has_metadata(folder: Folder) -> bool:
    """Return whether a metadata file is in a folder, or in one of its split folders, and has a column of images.

    Other datasets have a metadata.csv about cameras, patients or tiles. JSON of boxes is another layout's.

    Raises:
        MachineError: The folder cannot be listed.
    """
    paths = [path for path in _metadata_paths(folder, None) if format_of(folder, path) is None]
    try:
        files = [open_table_file(folder, path, SourceOptions()) for path in paths]
        named = [one for one in files if named_like(one.columns, IMAGE_COLUMNS)]
        return any(not _describes_classes(folder, one) and not _names_images_only(one) for one in named)
    except DataError:
        return True  # opening it raises it again


def _names_images_only(file: TableFile) -> bool:
    """Return whether a table has several columns, and all hold names of images: an image and its mask."""
    rows = [record.values for record in read_prefix(file)]
    return len(file.columns) > 1 and all(is_image(str(value)) for row in rows for value in row)


def _describes_classes(folder: Folder, file: TableFile) -> bool:
    """Return whether a table has nothing that may be a label for images in class folders, such as their cameras."""
    table = look_at_table(folder, file.path)
    has_boxes = not {*map(plain, file.columns)}.isdisjoint(USUAL_OBJECTS)
    return bool(table.image_column) and not table.label_columns and not has_boxes and are_classes(table)


def open_metadata(opening: Opening) -> Metadata:
    """Decide how to read a folder with metadata, from the first 1,000 records of each table.

    Relative paths start at their table's folder, whatever `root` is.

    Raises:
        CallError: Several columns may be the labels; the commands include the one for class folders.
        DataError: There is no metadata file, they differ in their columns, or they cannot be read.
        UnknownNameError: The options name a column that does not exist.
        MachineError: The disk or the network failed.
    """
    folder, excluded, options = opening.folder, opening.excluded, opening.options
    paths = _metadata_paths(folder, excluded)
    if not paths:
        msg = f"{folder.url}: there is no {', '.join(_NAMES[:-1])} or {_NAMES[-1]} in it or in its split folders"
        raise DataError(msg)
    if len({posixpath.basename(path) for path in paths}) > 1:
        msg = f"{folder.url}: it holds {' and '.join(paths)}; keep those of one kind, and one a folder"
        raise DataError(msg)
    try:
        return _opened(folder, paths, options, excluded)
    except UnknownNameError:
        raise
    except CallError as error:
        if options.layout is not None or not _child_folders(folder, excluded):
            raise
        command = Change("the folders are the labels", {"layout": "class-folders"}, sources=(folder.url,))
        raise also_offering(error, command) from error
    except DataError as error:
        if options.layout is not None or not _child_folders(folder, excluded):
            raise
        what = (
            "if the file does not describe the images and their folders are the labels, say "
            f"{named('layout', 'class-folders')}"
        )
        msg = f"{error}; {what}"
        raise DataError(msg) from error


def _opened(folder: Folder, paths: list[str], options: SourceOptions, excluded: str | None) -> Metadata:
    files = _with_equal_columns([open_table_file(folder, path, options) for path in paths])
    names = files[0].columns
    prefix = [record for file in files for record in _in_order(read_prefix(file), file.columns, names)]
    if options.image_column is None and _IMAGE_COLUMN in files[0].columns:
        options = replace(options, image_column=_IMAGE_COLUMN)
    columns = find_columns(files[0], prefix, options, lambda wanted: _read_all(files, wanted), source=folder.url)
    split_folders = any("/" in path for path in paths)
    if split_folders:  # the table's folder is the split, whatever its columns say
        columns = replace(columns, split=None)
    elif columns.split is None:
        children = _child_folders(folder, excluded)
        split_folders = bool(children) and all(split_of_folder(name) for name in children)
    return Metadata(folder, files, columns, split_folders, excluded)


def _metadata_paths(folder: Folder, excluded: str | None) -> list[str]:
    """Return the paths of the metadata files; one in the folder itself comes first."""
    prefixes = [f"{name}/" for name in _child_folders(folder, excluded) if split_of_folder(name)]
    found = []
    for prefix in ["", *prefixes]:
        with os_errors_as("list the folder", f"{folder.url}/{prefix}"):
            entries = folder.scan(prefix.rstrip("/"))
        found += [prefix + entry.name for entry in entries if entry.name in _NAMES and not entry.is_folder]
    return found


def _child_folders(folder: Folder, excluded: str | None) -> list[str]:
    with os_errors_as("list the folder", folder.url):
        entries = folder.scan()
    names = [entry.name for entry in entries if entry.is_folder and not is_ignored(entry.name)]
    return [name for name in names if name != excluded and not is_dataset(folder, name)]


def _with_equal_columns(files: list[TableFile]) -> tuple[TableFile, ...]:
    first = files[0]
    if isinstance(first, JsonLinesFile):  # an object may omit a column
        union = tuple(dict.fromkeys(name for file in files for name in file.columns))
        return tuple(replace(file, columns=union) for file in files)
    for file in files[1:]:
        if sorted(file.columns) != sorted(first.columns) or _types(file) != _types(first):
            msg = f"{file.url}: its columns are not those of {first.url}, of the same names and types"
            raise DataError(msg)
    return tuple(files)


def _types(file: TableFile) -> object:
    """Return the types and class names of a file's columns, if the file defines them."""
    if not isinstance(file, ParquetFile):
        return None
    classes = {file.columns[i]: names for i, names in file.numbered}
    return dict(zip(file.columns, file.arrow_types, strict=True)), classes


def _read_all(files: tuple[TableFile, ...], wanted: frozenset[int]) -> Iterator[Record]:
    """Yield the records of all files, with columns in the order of the first one's."""
    names = files[0].columns
    for file in files:
        there = frozenset(file.columns.index(names[i]) for i in wanted)
        yield from _in_order(file.all_records(there), file.columns, names)


def _in_order(records: Iterable[Record], names: tuple[str, ...], wanted: tuple[str, ...]) -> Iterator[Record]:
    """Yield records of a table with columns `names`, with their values in the order `wanted`."""
    if names == wanted:
        yield from records
        return
    at = [names.index(name) for name in wanted]
    for record in records:
        yield record if record.problem else record._replace(values=[record.values[i] for i in at])
