"""Hugging Face's image folders: ``metadata.csv``, ``.jsonl`` or ``.parquet`` beside the images that it names.

The file lies in the source's folder, or one in each split folder. Differing from ``datasets``, which takes only images
that are named and fails at the first missing one, images without a record and records without an image are reported.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from shardkit.errors import DataError, UnknownNameError
from shardkit.naming import MANIFEST, RUN_LOG, split_of_folder
from shardkit.sources.folders.class_folders import ClassFolders, Part
from shardkit.sources.listing import LISTING_SCHEMA, Listing, Source, is_ignored
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.columns import Columns, Row
from shardkit.sources.tables.json_files import JsonLinesFile
from shardkit.sources.tables.layout import open_table_file
from shardkit.sources.tables.parquet_files import ParquetFile
from shardkit.sources.tables.paths import Keys, root_of
from shardkit.sources.tables.records import Record, TableFile
from shardkit.sources.tables.roles import find_columns, read_prefix
from shardkit.sources.walking import file_or_folder
from shardkit.storage import Folder, os_errors_as

_NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_IMAGE_COLUMN = "file_name"


@dataclass(frozen=True, slots=True)
class Metadata(Source):
    """A tree of images and the tables that name them.

    Attributes:
        folder: the source's root.
        files: the tables, each for the images below the folder that it lies in and below no other one's.
        columns: what their columns are, the same in all; their places are those in the first.
        split_folders: whether the first folder of a key is its split.
        excluded: path below the root that is left out, because the output is written there; None for none.
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
        """See Source; of ClassLabel columns."""
        return self.columns.labels.class_names or None

    @property
    def layout(self) -> str:
        """See Source."""
        return "Hugging Face metadata"

    def describe(self) -> str:
        """See Source."""
        names = ", ".join(file.name for file in self.files)
        splits = "; the split from the first folder" if self.split_folders else ""
        return f"{self.folder.url}: read as {self.layout} ({names}): {self.columns.describe()}{splits}"

    def parts(self) -> list[int]:
        """One a table, and one for images beside them that no table is for."""
        at_root = any("/" not in file.path for file in self.files)
        return list(range(len(self.files) + (not at_root)))

    def list_part(self, part: int, batch_rows: int) -> Iterator[Listing]:
        """See Source; first a table's records in its order, then the images that it does not name, sorted.

        Memory grows with the images below the table's folder, by about 200 bytes each.
        """
        file = self.files[part] if part < len(self.files) else None
        above = posixpath.dirname(file.path) if file else ""
        skipped: dict[str, int] = {}
        found: dict[str, Row] = {}
        for listing in self._images(above, batch_rows):
            found.update((row[0], row) for row in listing.rows)
            for kind, count in listing.skipped.items():
                skipped[kind] = skipped.get(kind, 0) + count
        if file and (kind := posixpath.splitext(file.path)[1]) in skipped:
            skipped[kind] -= 1  # the table itself
        batch = Listing(self.schema, skipped={kind: count for kind, count in skipped.items() if count})
        for row in self._rows(file, found):
            batch.rows.append(row)
            if len(batch.rows) == batch_rows:
                yield batch
                batch = Listing(self.schema)
        if batch.rows or batch.skipped:
            yield batch

    def _images(self, above: str, batch_rows: int) -> Iterator[Listing]:
        tree = ClassFolders(self.folder, with_splits=False, excluded=self.excluded, remark="")
        if above:
            yield from tree.list_part(Part(above, None, "", recursive=True), batch_rows)
            return
        taken = {posixpath.dirname(file.path) for file in self.files}
        for name in _child_folders(self.folder, self.excluded):
            if name not in taken:
                yield from tree.list_part(Part(name, None, "", recursive=True), batch_rows)
        yield from tree.list_part(Part("", None, "", recursive=False), batch_rows)

    def _rows(self, file: TableFile | None, found: dict[str, Row]) -> Iterator[Row]:
        unnamed = set(found)
        if file:
            above = posixpath.dirname(file.path)
            prefix = f"{above}/" if above else ""
            keys = Keys(root_of(self.folder) + prefix)
            row_of = self.columns.placed(file.columns).rows(file.name, lambda path: prefix + keys.key(path))
            for record in file.all_records():
                row = row_of(record)
                unnamed.discard(row[0])
                yield self._looked_up(row, found.get(row[0]), file.name)
        nothing = (None,) * (len(self.schema) - len(LISTING_SCHEMA))
        who = f"{file.name} does not name it" if file else "it lies in a folder that no metadata file is for"
        for key in sorted(unnamed):
            _, _, _, num_bytes, mtime_ns, reason, message = found[key]
            if reason is None:
                reason, message = "no_label", f"{who}; add a record for it, or move it away"
            yield (key, self._split(key), None, num_bytes, mtime_ns, reason, message, *nothing)

    def _split(self, key: str) -> str | None:
        first, separator, _ = key.partition("/")
        return split_of_folder(first) if self.split_folders and separator else None

    def _looked_up(self, row: Row, image: Row | None, file_name: str) -> Row:
        """The row with the image's split, size and time of change, or the reason why it is rejected."""
        key, split, label_name, num_bytes, mtime_ns, reason, message, line, *others = row
        problem = None
        if self.split_folders and (split := self._split(key)) is None:
            problem = "bad_split", "the image lies outside the split folders; move it into one"
        if image is not None:
            num_bytes, mtime_ns = image[3:5]
        elif reason is None:
            # Hidden, or of an ending that no image has: the check tells what it is.
            entry = file_or_folder(self.folder, key)
            if entry is None or entry.is_folder:
                what = "is not there" if entry is None else "is a folder"
                problem = "missing", f"the image that it names {what}; correct the name or add the image"
            else:
                num_bytes, mtime_ns = entry.num_bytes, entry.mtime_ns
        if reason is None and problem:
            reason, message = problem[0], f"{file_name}, line {line}: {problem[1]}"
            label_name, others = None, [None] * len(others)
        return (key, split, label_name, num_bytes, mtime_ns, reason, message, line, *others)


def has_metadata(folder: Folder) -> bool:
    """Whether a metadata file lies in a folder, or in one of its split folders.

    Raises:
        MachineError: the folder cannot be listed.
    """
    return bool(_metadata_paths(folder, None))


def open_metadata(folder: Folder, options: SourceOptions, excluded: str | None = None) -> Metadata:
    """Find out how a folder with metadata is to be read, from the first 1,000 records of each table.

    Args:
        folder: the source's root; relative paths start where their table lies, whatever options.root says.
        options: what the user says about the columns.
        excluded: path below the root that is left out; None for none.

    Raises:
        DataError: there is no metadata file, or they do not go together, or they cannot be read.
        UnknownNameError: options name a column that is not there.
        MachineError: they cannot be read.
    """
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
    except DataError as error:
        if options.layout is not None or not _child_folders(folder, excluded):
            raise
        what = "if the file does not describe the images and their folders are the labels, say --layout class-folders"
        msg = f"{error}; {what}"
        raise DataError(msg) from error


def _opened(folder: Folder, paths: list[str], options: SourceOptions, excluded: str | None) -> Metadata:
    files = _with_equal_columns([open_table_file(folder, path, options) for path in paths])
    names = files[0].columns
    prefix = [record for file in files for record in _in_order(read_prefix(file), file.columns, names)]
    if options.image_column is None and _IMAGE_COLUMN in files[0].columns:
        options = replace(options, image_column=_IMAGE_COLUMN)
    columns = find_columns(files[0], prefix, options, lambda wanted: _every(files, wanted))
    split_folders = any("/" in path for path in paths)
    if split_folders:  # the folder that a table lies in counts, not what its columns say
        columns = replace(columns, split=None)
    elif columns.split is None:
        children = _child_folders(folder, excluded)
        split_folders = bool(children) and all(split_of_folder(name) for name in children)
    return Metadata(folder, files, columns, split_folders, excluded)


def _metadata_paths(folder: Folder, excluded: str | None) -> list[str]:
    """Of the metadata files, that of the folder itself first."""
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
    return [name for name in names if name != excluded and not _is_dataset(folder, name)]


def _is_dataset(folder: Folder, name: str) -> bool:
    return all(folder.stat(f"{name}/{file}") is not None for file in (MANIFEST, RUN_LOG))


def _with_equal_columns(files: list[TableFile]) -> tuple[TableFile, ...]:
    first = files[0]
    if isinstance(first, JsonLinesFile):  # an object need not name what it has not
        union = tuple(dict.fromkeys(name for file in files for name in file.columns))
        return tuple(replace(file, columns=union) for file in files)
    for file in files[1:]:
        if sorted(file.columns) != sorted(first.columns) or _types(file) != _types(first):
            msg = f"{file.url}: its columns are not those of {first.url}, of the same names and types"
            raise DataError(msg)
    return tuple(files)


def _types(file: TableFile) -> object:
    """What the names of a file's columns do not tell."""
    if not isinstance(file, ParquetFile):
        return None
    classes = {file.columns[i]: names for i, names in file.numbered}
    return dict(zip(file.columns, file.arrow_types, strict=True)), classes


def _every(files: tuple[TableFile, ...], wanted: frozenset[int]) -> Iterator[Record]:
    """Records of all files, in the order of the first one's columns."""
    names = files[0].columns
    for file in files:
        there = frozenset(file.columns.index(names[i]) for i in wanted)
        yield from _in_order(file.all_records(there), file.columns, names)


def _in_order(records: Iterable[Record], names: tuple[str, ...], wanted: tuple[str, ...]) -> Iterator[Record]:
    """Records of a table with columns of these names, in the order of the wanted ones."""
    if names == wanted:
        yield from records
        return
    at = [names.index(name) for name in wanted]
    for record in records:
        yield record if record.problem else record._replace(values=[record.values[i] for i in at])
