"""Tables: SOURCE is a CSV, TSV, JSON Lines or Parquet file with a column of image paths and columns of labels."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.listing import Listing, Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.columns import Columns
from shardkit.sources.tables.csv_files import open_csv
from shardkit.sources.tables.json_files import open_json_lines
from shardkit.sources.tables.lookup import Names, Whereabouts, look_up
from shardkit.sources.tables.parquet_files import open_parquet
from shardkit.sources.tables.paths import Keys, Numbered, absolute_form, keys_of_paths
from shardkit.sources.tables.records import BadRecord, TableFile
from shardkit.sources.tables.roles import IMAGE_COLUMNS, find_columns, read_prefix
from shardkit.sources.tables.unlisted import count_unnamed
from shardkit.storage import Folder, open_folder, os_errors_as

TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_UNNAMED = -1  # the part that counts images; others are numbers from 0
_DISCARDED = "records of the split DISCARD"


@dataclass(frozen=True, slots=True)
class Table(Source):
    """A table of images.

    Attributes:
        folder: what keys start at.
        file: the table.
        columns: what its columns are.
        keys: how paths become keys.
        whereabouts: where the images are.
    """

    folder: Folder
    file: TableFile
    columns: Columns
    keys: Keys
    whereabouts: Whereabouts

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.columns.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; of Hugging Face's ClassLabel columns."""
        return self.columns.labels.class_names or None

    @property
    def layout(self) -> str:
        """See Source."""
        return f"table ({self.file.format_name})"

    def describe(self) -> str:
        """See Source."""
        return f"{self.file.url}: read as {self.layout}: {self.columns.describe()}{self.whereabouts.remark}"

    def parts(self) -> list[int]:
        """Row groups of a Parquet file, other files as one; and the images that the table does not name."""
        return [*self.file.parts(), _UNNAMED]

    def list_part(self, part: int, batch_rows: int) -> Iterator[Listing]:
        """See Source; records in the file's order. Whether images are there is not looked up.

        Records of the split DISCARD are left out and counted, and so are images that lie beside named ones.
        """
        schema = self.schema
        key_of = self._key_of()
        if part == _UNNAMED:
            if count := count_unnamed(self.folder, self._keys(key_of)):
                what = f"{'image' if count == 1 else 'images'} that {printable(self.file.name)} does not name"
                yield Listing(schema, skipped={what: count})
            return
        row = self.columns.rows(self.file.name, key_of)
        batch = Listing(schema)
        for record in self.file.records(part):
            if self.columns.is_discarded(record):
                batch.skipped[_DISCARDED] = batch.skipped.get(_DISCARDED, 0) + 1
                continue
            batch.rows.append(row(record))
            if len(batch.rows) == batch_rows:
                yield batch
                batch = Listing(schema)
        if batch.rows or batch.skipped:
            yield batch

    def _key_of(self) -> Callable[[object], str]:
        if not self.whereabouts.by_name:
            return self.keys.key
        names = Names(self.folder)
        return lambda path: names.key(self.keys.key(path))

    def _keys(self, key_of: Callable[[object], str]) -> Iterator[str]:
        """Of all records that lead to one."""
        image = self.columns.image
        for record in self.file.all_records(frozenset({image})):
            if record.problem is None:
                with contextlib.suppress(BadRecord):
                    yield key_of(record.values[image])


def open_table(path_url: str, options: SourceOptions) -> Table:
    """Find out how a table is to be read, from its first 1,000 records.

    Where these name absolute paths and options.root is not given, the whole table is read once for their common parent.

    Args:
        path_url: of the file, local or ``file://``, ``s3://``, ``gs://``.
        options: what the user says about it.

    Raises:
        DataError: there is no such file, or it cannot be read as a table of images.
        UnknownNameError: options name a column that is not there.
        MachineError: it cannot be read.
    """
    beside, path = _split_url(path_url)
    file = open_table_file(beside, path, options)
    prefix = read_prefix(file)
    columns = find_columns(file, prefix, options, file.all_records)
    first = [(record.line, text) for record in prefix if (text := _path(record.values[columns.image]))]
    if not first:
        name = file.columns[columns.image]
        msg = f"{file.url}: column {name!r} holds no path in the first records; name another one with --image-column"
        raise DataError(msg)
    folder, keys = keys_of_paths(file.url, beside, options.root, first, _paths(file, columns.image))
    return Table(folder, file, columns, keys, look_up(folder, _good_keys(keys, first)))


def open_table_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
    """Open a table by its ending.

    Raises:
        DataError: it is not there, or of another kind.
    """
    url = f"{folder.url}/{path}"
    kind = os.path.splitext(path)[1].lower()
    if kind not in TABLE_ENDINGS:
        msg = f"{url}: tables that shardkit reads end in {', '.join(TABLE_ENDINGS)}"
        raise DataError(msg)
    with os_errors_as("read the table", url):
        found = folder.stat(path)
    if found is None or found.is_folder:
        msg = f"{url}: {'there is no such file' if found is None else 'this is a folder'}; SOURCE is the table's file"
        raise DataError(msg)
    if kind == ".parquet":
        return open_parquet(folder, path)
    if kind in {".jsonl", ".ndjson"}:
        return open_json_lines(folder, path)
    known = frozenset([*IMAGE_COLUMNS, *([options.image_column.lower()] if options.image_column else [])])
    return open_csv(folder, path, tabs=kind == ".tsv", known=known)


def _split_url(url: str) -> tuple[Folder, str]:
    local = absolute_form(url) if "://" in url else os.path.abspath(os.path.expanduser(url))
    above, _, name = (local or url).rpartition("/")
    return open_folder(above or "/"), name


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _good_keys(keys: Keys, paths: Iterable[Numbered]) -> Iterator[str]:
    for _, path in paths:
        with contextlib.suppress(BadRecord):
            yield keys.key(path)


def _paths(file: TableFile, column: int) -> Iterator[Numbered]:
    for record in file.all_records(frozenset({column})):
        if record.problem is None and (path := _path(record.values[column])):
            yield record.line, path
