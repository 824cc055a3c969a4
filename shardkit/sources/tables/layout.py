"""The layout `table`: SOURCE is a CSV, TSV, Excel, JSON or Parquet file with columns of image paths and labels."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, relative_path_problem
from shardkit.options.words import named
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.listing import BadRecord, ListingRow, below, count_skipped
from shardkit.sources.name_index import NameIndex, name_key, without_link, written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, plain
from shardkit.sources.tables.columns import Columns
from shardkit.sources.tables.formats.csv_opening import open_csv
from shardkit.sources.tables.formats.json_files import open_json, open_json_lines
from shardkit.sources.tables.formats.parquet_files import open_parquet
from shardkit.sources.tables.formats.records import TableFile, TablePart
from shardkit.sources.tables.formats.text_files import TEXT_ENDINGS, TextFile, open_text
from shardkit.sources.tables.formats.workbooks import WORKBOOK_ENDINGS, open_workbook
from shardkit.sources.tables.images.described_images import described_images, describing_column, values_of
from shardkit.sources.tables.images.image_folder import Placement, place_images
from shardkit.sources.tables.images.joined_names import FindImages, JoinedNames, join_names
from shardkit.sources.tables.images.lookup import ImageLocation
from shardkit.sources.tables.images.nearby import is_file
from shardkit.sources.tables.paths import KeyBuilder, NumberedPath
from shardkit.sources.tables.roles import find_columns, read_prefix
from shardkit.sources.unlisted_images import CountingSource, UnlistedImages, count_unnamed, images_count
from shardkit.storage import Folder, open_folder, os_errors_as

_WITHOUT_IMAGES = "records that no image's name begins with"
TABLE_ENDINGS = LAYOUTS["table"].endings or ()
_OTHER_WORKBOOKS = {".xls", ".xlsb", ".numbers"}


@dataclass(frozen=True, slots=True)
class Table(CountingSource):
    """A table of images.

    Attributes:
        folder: The folder that keys start at.
        file: The table.
        columns: The roles of its columns.
        keys: How paths become keys.
        image_location: How images are found.
    """

    folder: Folder
    file: TableFile
    columns: Columns
    keys: KeyBuilder
    image_location: ImageLocation

    @property
    def schema(self) -> pa.Schema:
        """See Source."""
        return self.columns.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; names of a Hugging Face ClassLabel column."""
        return self.columns.labels.class_names or None

    @property
    def layout(self) -> str:
        """See Source."""
        return f"{LAYOUTS['table'].title} ({self.file.format_name})"

    @property
    def label_files(self) -> tuple[str, ...]:
        """See Source."""
        named_by = self.columns.labels.named_by
        return (self.file.url, *([f"{self.file.folder.url}/{named_by}"] if named_by else ()))

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        named_by = self.columns.labels.named_by
        names = (UsedFile(named_by, "class names"),) if named_by else ()
        return (UsedFile(below(self.folder, self.file.url), "labels"), *names)

    @property
    def takes_splits(self) -> bool:
        """See Source."""
        return self.columns.split is None

    def describe(self) -> str:
        """See Source."""
        roles = self.file.remark + self.columns.describe()
        return f"{self.file.url}: read as {self.layout}: {roles}{self.image_location.remark}"

    def parts(self) -> list[int | UnlistedImages]:
        """Return a part for each row group of a Parquet file or the whole other file, and one for the other images."""
        return [*self.file.parts(), UnlistedImages()]

    def divided(self, part: TablePart | UnlistedImages) -> Sequence[TablePart | UnlistedImages]:
        """See Source; pieces of CSV, TSV and JSON Lines."""
        return self.file.divided(part) if isinstance(part, int) else [part]

    def count_unlisted(self) -> dict[str, int]:
        """See CountingSource; images next to named ones that no record names."""
        return count_others([self])

    def rows(self, part: TablePart, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """See CountingSource; records in the file's order. Does not look up whether images exist.

        Records of the split DISCARD, and uncertain ones that the user drops, are counted as skipped.
        """
        row = self.columns.rows(self.file.name, self._key_of())
        described = self._described()
        for record in self.file.records(part):
            if kind := self.columns.why_left_out(record):
                count_skipped(skipped, kind)
                continue
            one = row(record)
            if described is None or one.reason is not None:
                yield one
            elif keys := described[name_key(one.key)]:
                yield from (one._replace(key=key) for key in keys)
            else:
                count_skipped(skipped, _WITHOUT_IMAGES)

    def _described(self) -> dict[str, list[str]] | None:
        """Return the images that each record describes; None if a record is of one image."""
        if not self.image_location.is_beginning:
            return None
        return described_images(self.folder, values_of(self.file, self.columns.image))

    def _key_of(self) -> Callable[[object], str]:
        key, find = self.keys.key, self.image_location.finder(self.folder)
        return key if self.image_location.is_plain else lambda path: find(key(path))

    def all_keys(self) -> Iterator[str]:
        """Yield the keys of all records that have one."""
        if (described := self._described()) is not None:
            yield from itertools.chain.from_iterable(described.values())
            return
        key_of = self._key_of()
        image = self.columns.image
        for record in self.file.all_records(frozenset({image})):
            if record.problem is None:
                with contextlib.suppress(BadRecord):
                    yield key_of(record.values[image])


def count_others(tables: Sequence[Table]) -> dict[str, int]:
    """Return the number of images next to those of some tables that none of them names, by a phrase for the user.

    Args:
        tables: The tables, at least one; their keys start at the same folder.
    """
    count = count_unnamed(tables[0].folder, itertools.chain.from_iterable(one.all_keys() for one in tables))
    which = f"{printable(tables[0].file.name)} does not name" if len(tables) == 1 else "no table names"
    return images_count(count, f"that {which}")


def open_table_in(folder: Folder, name: str, options: SourceOptions) -> Table:
    """Decide how to read a table in a folder, which may be an archive, from its first 1,000 records.

    All records are read once to find the common parent of absolute paths, the types of further columns, and whether
    numbers are classes.

    Args:
        folder: The table's folder, where relative paths start.
        name: The table's name in it.
        options: Options of the source.

    Raises:
        CallError: The table can be read in several ways, or only with an option that the message names.
        DataError: The file does not exist, or cannot be read as a table of images.
        UnknownNameError: The options name a column that does not exist.
        MachineError: The disk or the network failed.
    """
    file = open_table_file(folder, name, options)
    prefix = read_prefix(file)
    if options.image_column is None or options.image_column not in file.columns:
        file = join_names(
            file,
            [record.values for record in prefix],
            _finder(folder if options.root is None else open_folder(options.root)),
        )
        if isinstance(file, JoinedNames):
            prefix = read_prefix(file)
            options = replace(options, image_column=file.columns[-1])
    places: dict[int, Placement | None] = {}

    def place(column: int, *, counting: bool = True) -> Placement | None:
        if column not in places:
            first = [NumberedPath(record.line, text) for record in prefix if (text := _path(record.values[column]))]
            places[column] = (
                first
                and place_images(file.url, folder, options, first, lambda: _paths(file, column), counting=counting)
            ) or None
        return places[column]

    columns = find_columns(file, prefix, options, file.all_records, place=place)
    placement = place(columns.image, counting=False)
    if options.image_column and placement is not None and not placement.files:
        placement = _described(file, columns.image, placement)
    if placement is None:
        column = file.columns[columns.image]
        msg = (
            f"{file.url}: column {column!r} holds no path in the first records; name another one with "
            f"{named('image_column')}"
        )
        raise DataError(msg)
    return Table(placement.folder, file, columns, placement.keys, placement.location)


def _described(file: TableFile, column: int, placement: Placement) -> Placement:
    """Return where the images are whose names begin with the values of a column; the same if there are none."""
    if describing_column(file, placement.folder) != file.columns[column]:
        return placement
    remark = f"; each record describes the images whose names begin with its {file.columns[column]!r}"
    return replace(placement, location=ImageLocation(is_beginning=True, remark=remark))


def _finder(folder: Folder) -> FindImages:
    """Return the function that finds the images of a name below a folder, which it lists when it is first called."""
    index = NameIndex(folder)

    def find(text: str) -> list[str]:
        path = written_path(text)
        return [path] if not relative_path_problem(path) and is_file(folder, path) else index.find_all(text)

    return find


def open_table_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
    """Open a table by its ending.

    Raises:
        DataError: The file does not exist, or has another ending.
    """
    url = f"{folder.url}/{path}"
    kind = os.path.splitext(path)[1].lower()
    if kind in TEXT_ENDINGS:
        if tables := [one for one in open_list_files(folder, path, options) if one.is_table]:
            return tables[0]
        msg = f"{url}: its lines are no records of a table: a header, or three fields or more, the same number in each"
        raise DataError(msg)
    if kind not in {*TABLE_ENDINGS, ".json"}:
        instead = "; save the workbook as .xlsx" if kind in _OTHER_WORKBOOKS else ""
        msg = f"{url}: tables that shardkit reads end in {', '.join(TABLE_ENDINGS)} or .json{instead}"
        raise DataError(msg)
    with os_errors_as("read the table", url):
        found = folder.stat(path)
    if found is None or found.is_folder:
        msg = f"{url}: {'there is no such file' if found is None else 'this is a folder'}; SOURCE is the table's file"
        raise DataError(msg)
    if kind == ".parquet":
        return open_parquet(folder, path)
    if kind in WORKBOOK_ENDINGS:
        return open_workbook(folder, path, _known(options))
    if kind == ".json":
        return open_json(folder, path)
    if kind in {".jsonl", ".ndjson"}:
        return open_json_lines(folder, path)
    return open_csv(folder, path, tabs=kind == ".tsv", known=_known(options))


def open_list_files(
    folder: Folder,
    path: str,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
) -> list[TextFile]:
    """Return the ways to read a text file as a table of names; see open_text."""
    return open_text(folder, path, _known(options))


def _known(options: SourceOptions) -> frozenset[str]:
    named = [options.image_column] if options.image_column else []
    return frozenset(map(plain, [*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS, *named]))


def _path(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # an identifier such as 17 for 17.jpg
    return without_link(value) if isinstance(value, str) and value else None


def _paths(file: TableFile, column: int) -> Iterator[NumberedPath]:
    for record in file.all_records(frozenset({column})):
        if record.problem is None and (path := _path(record.values[column])):
            yield NumberedPath(record.line, path)
