"""Tables of boxes, one row per box, or one row without coordinates for an image without boxes: their images.

All rows of an image are one example, in the table's order; they need not be next to each other. A table of Open Images
names many more images than people download: those that are not there are counted as skipped, not rejected.
"""

import json
import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.options.values import Match
from shardkit.sources.columns import UNMEASURED
from shardkit.sources.engine.drivers import Context
from shardkit.sources.engine.images import Binding
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.engine.records import RecordDriver
from shardkit.sources.formats.box_tables.columns import (
    BoxColumns,
    BoxForm,
    columns_of,
    find_columns,
    open_box_file,
    options_of,
)
from shardkit.sources.formats.box_tables.rows import LARGEST_FRACTION, Gathered, Slice, coordinates, has_box, list_form
from shardkit.sources.formats.class_names import read_class_names
from shardkit.sources.formats.format import ONE_CLASS, number_option
from shardkit.sources.formats.shapes import number
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record, TableFile
from shardkit.sources.listing import BadRecord, ListingRow, rejected_row
from shardkit.sources.name_index import NameIndex
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Annotation, Listed
from shardkit.sources.walking import children, file_or_folder, join, parent_of
from shardkit.storage import Entry, Folder

_SLICE_BYTES = 128 << 20  # 128 MiB of a table: about two million boxes, which take 300 MB while they are listed
_MAX_SLICES = 64
_TABLES_SHOWN = 4  # that `describe` names


@dataclass(frozen=True, slots=True)
class BoxTable:
    """A table of boxes."""

    file: TableFile
    paths: PathRule
    split: str | None  # the split of all its images, unless it has a column of splits; None if nothing gives it
    columns: BoxColumns
    is_fraction: bool  # whether boxes are fractions of the image's sides
    class_file: str = ""  # path of the file with the names of its classes' codes; '' if there is none
    one_class: str = ONE_CLASS  # the class of every box of a table without classes

    def describe(self) -> str:
        unit = "fractions of the image's sides" if self.is_fraction else "pixels"
        label = self.columns.label
        of_class = (
            f", all of the class {printable(self.one_class)!r}"
            if label is None
            else f", classes of {self.file.columns[label]!r}"
        )
        if self.columns.is_open_images:
            named_by = self.class_file or "their codes, without class-descriptions-boxable.csv"
            of_class = f", classes named by {named_by}"
        as_size = ", as x, y, width, height" if self.columns.form is BoxForm.LIST_OF_SIZE else ""
        return f"{self.file.remark}boxes in {unit}{as_size}{of_class}{self.paths.remark()}"

    def slices(self) -> list[Slice]:
        entry = file_or_folder(self.file.folder, self.file.path)
        num = min(_MAX_SLICES, (entry.num_bytes if entry else 0) // _SLICE_BYTES + 1)
        return [Slice(index, num) for index in range(num)]


@dataclass(frozen=True, slots=True)
class TableSlice:
    """A slice of the images of a table, which its number in the source tells."""

    table: int
    images: Slice


@dataclass(frozen=True, slots=True)
class BoxTableDriver(RecordDriver):
    """Enumerates the images that tables of boxes name."""

    tables: tuple[BoxTable, ...]

    why_unnamed = "that no table names"

    @property
    def object_fields(self) -> Sequence[pa.Field]:
        return [pa.field(name, pa.int64()) for name, _ in self.tables[0].columns.flags]  # 1, 0, -1 for unknown

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(table.file.path for table in self.tables)

    def describe(self) -> str:
        read = []
        for table in self.tables[:_TABLES_SHOWN]:
            split = f" as {table.split}" if table.split else ""
            place = f"{table.paths.place or '.'}/"
            read.append(f"{printable(table.file.path)} with the images in {place}{split}: {table.describe()}")
        if len(self.tables) > _TABLES_SHOWN:
            read.append(f"{len(self.tables) - _TABLES_SHOWN:,} tables more")
        return "; ".join(read)

    def parts(self, folder: Folder) -> Sequence[TableSlice]:
        return [TableSlice(i, some) for i, table in enumerate(self.tables) for some in table.slices()]

    def rows(self, context: Context, part: TableSlice) -> Iterator[ListingRow]:
        table = self.tables[part.table]
        present = _present(context.folder, table, part.images) if table.columns.is_open_images else None
        names = read_class_names(table.file.folder, table.class_file) if table.class_file else {}
        if table.columns.label is None:
            names = {ONE_CLASS: table.one_class}
        gathered = Gathered(
            table.columns, table.file.name, part.images, table.is_fraction, names, present, skipped=context.skipped
        )
        gathered.read(table.file.all_records(), _Keys(table, context.folder).key)
        for record in gathered.records():
            entry = (present or {}).get(record.image)
            size = (entry.num_bytes, entry.mtime_ns) if entry else (UNMEASURED, 0)
            row = ListingRow(
                record.image, table.split if table.columns.split is None else record.split or None, None, *size
            )
            yield from self.record_rows(context, row, record, table.file.name, table.file.path)
        yield from (rejected_row(problem, table.split) for problem in gathered.problems)

    def keys(self, folder: Folder) -> Iterator[str]:
        for table in self.tables:
            key_of, last, image = _Keys(table, folder).key, "", table.columns.image
            for record in table.file.all_records(frozenset({image})):
                if record.problem is None:
                    try:
                        key = key_of(record.values[image])
                    except BadRecord:
                        continue
                    if key != last:
                        yield key
                    last = key

    def unnamed_row(self, context: Context, key: str, entry: Entry, which: str = "") -> Iterator[ListingRow]:
        split = self.tables[0].split if len(self.tables) == 1 else None
        what = "no table names the image; add a record for it"
        yield from self.unannotated(context, ListingRow(key, split, None, 0, 0), entry, what)


def _present(folder: Folder, table: BoxTable, images: Slice) -> dict[str, Entry]:
    """Return the files of a slice in the folder that the table's images are in, by key."""
    place = table.paths.place
    entries = ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)
    return {key: entry for key, entry in entries if images.has_key(key)}


class _Keys:
    """Keys of a table's images; rows of one image usually follow each other."""

    def __init__(self, table: BoxTable, folder: Folder) -> None:
        self._paths = NameIndex(folder) if table.paths.by_name else table.paths
        self._last: tuple[object, str] | None = None

    def key(self, text: object) -> str:
        if self._last is None or self._last[0] != text:
            self._last = text, self._paths.key(text)
        return self._last[1]


_FRACTIONS, _PIXELS = "fractions", "pixels"  # the option `unit`
_EACH = "each"  # the option that has the options of each table, if they differ
_TRIED = 64  # paths that are looked up


def box_table_driver(at: Binding, origin: Annotation, paths: Sequence[str]) -> BoxTableDriver:
    """Return what enumerates the images."""
    try:
        each = json.loads(origin.options[_EACH]) if _EACH in origin.options else [origin.options] * len(paths)
    except ValueError:
        each = []
    if len(each) != len(paths):
        msg = f"{at.tree.url}: the reading has options for {len(each)} tables of boxes, and names {len(paths)}"
        raise CallError(msg)
    opened = [_table(at, origin, path, options) for path, options in zip(paths, each, strict=True)]
    tables = tuple(table for table, _ in opened)
    complete = origin
    if "unit" not in each[0]:
        match: Match = "end" if any(table.paths.by_name for table in tables) else "path"
        placed = origin.placed({one.file.path: one.paths.place for one in tables}, match)
        complete = replace(placed, options=options_of_tables([options for _, options in opened]))
    gives_splits = at.reading.split is None and any(table.columns.split is not None for table in tables)
    at.complete(origin, complete)
    at.reading = replace(at.reading, split=complete) if gives_splits else at.reading
    return BoxTableDriver(tables, policy=at.reading.without_annotation)


def _table(at: Binding, origin: Annotation, path: str, options: Mapping[str, str]) -> tuple[BoxTable, dict[str, str]]:
    split = at.reading.split
    file = open_box_file(at.tree, path, SourceOptions())
    columns = (
        columns_of(file.url, file.columns, options)
        if "form" in options
        else find_columns(file.url, file.columns, _as_options(options))
    )
    complete = dict(options)
    if "unit" not in options:
        columns, is_fraction = decided(file, columns, [*islice(file.all_records(), PREFIX_RECORDS)])
        complete |= options_of_table(file, columns, is_fraction=is_fraction)
    if split is not None and split != origin:
        columns = replace(columns, split=None)
    table = BoxTable(
        file=file,
        paths=_paths(at, origin, file, columns, options),
        split=split.lists.get(path) if isinstance(split, Listed) else None,
        columns=columns,
        is_fraction=complete["unit"] == _FRACTIONS,
        class_file=origin.names,
        one_class=options.get("one_class", ONE_CLASS),
    )
    return table, complete


def _paths(
    at: Binding, origin: Annotation, file: TableFile, columns: BoxColumns, options: Mapping[str, str]
) -> PathRule:
    base = origin.bases.get(file.path, origin.images)
    stated = PathRule(base, number_option(options, "drop"), options.get("ending", ""))
    if origin.match in {"path", None}:
        good = (record.values for record in file.all_records() if record.problem is None)
        texts = [values[columns.image] for values in islice(good, _TRIED)]
        for place in dict.fromkeys((base, parent_of(file.path))) if origin.match is None else ():
            keys = [posixpath.normpath(f"{place}/{text}".lstrip("/")) for text in texts if isinstance(text, str)]
            if any(file_or_folder(at.folder, key) is not None for key in keys):
                return PathRule(place)
    return stated if origin.match == "path" else PathRule("", by_name=True)


def _as_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the columns that a reading names, where those of the boxes are found by their names."""
    label = (options["label"],) if "label" in options else ()
    return SourceOptions(image_column=options.get("image"), label_columns=label, split_column=options.get("split"))


def options_of_table(file: TableFile, columns: BoxColumns, *, is_fraction: bool) -> dict[str, str]:
    """Return how a table is read as the settings of a reading."""
    return {**options_of(columns, file.columns), "unit": _FRACTIONS if is_fraction else _PIXELS}


def options_of_tables(each: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the settings of several tables as those of one reading."""
    return dict(each[0]) if all(one == each[0] for one in each) else {_EACH: json.dumps([dict(one) for one in each])}


def decided(file: TableFile, columns: BoxColumns, first: Sequence[Record]) -> tuple[BoxColumns, bool]:
    """Return columns with the form of their boxes, and whether boxes are fractions, by the first records."""
    with_box = [one.values for one in first if one.problem is None and has_box(one.values, columns)]
    columns = _with_list_form(file.url, file.columns[columns.xs[0]], with_box, columns)
    return columns, _is_fraction(with_box, columns)


def _is_fraction(rows: Sequence[Sequence[Any]], columns: BoxColumns) -> bool:
    if columns.is_fraction is not None:
        return columns.is_fraction
    sides = [number(side) for values in rows for side in coordinates(values, columns)]
    # No table of pixels has only boxes within the first two pixels.
    return bool(sides) and all(abs(side) <= LARGEST_FRACTION for side in sides if math.isfinite(side))


def _with_list_form(url: str, name: str, rows: Sequence[Sequence[Any]], columns: BoxColumns) -> BoxColumns:
    if columns.form is not BoxForm.LIST:
        return columns
    form = list_form(rows, columns) or columns.usual_form
    if form is None:
        msg = (
            f"{url}: the four numbers of {name!r} may be xmin, ymin, xmax, ymax or x, y, width, height; write them "
            "into four columns with these names"
        )
        raise DataError(msg)
    return replace(columns, form=form)
