"""Open tables of boxes: what their columns mean, in which unit boxes are, and where the images are."""

import json
import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from shardkit.errors import CallError, DataError
from shardkit.sources.engine.box_tables import BoxTable, BoxTableDriver
from shardkit.sources.engine.images import Binding
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.formats.box_tables.columns import (
    BoxColumns,
    BoxForm,
    columns_of,
    columns_without_header,
    find_columns,
    is_box_table,
    options_of,
)
from shardkit.sources.formats.box_tables.rows import LARGEST_FRACTION, coordinates, has_box, list_form
from shardkit.sources.formats.format import ONE_CLASS, number, number_option
from shardkit.sources.formats.tables.csv_files import CsvFile, split_records
from shardkit.sources.formats.tables.csv_opening import open_csv
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.formats.tables.opening import open_table_file
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record, TableFile
from shardkit.sources.formats.tables.text_files import TextFile
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Annotation, Listed
from shardkit.sources.walking import file_or_folder, parent_of
from shardkit.storage import Folder

TEXT = (".csv", ".tsv", ".txt")
_BLANKS = " "
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
        by_name = any(table.paths.by_name for table in tables)
        complete = replace(
            origin,
            images=tables[0].paths.place,
            bases={one.file.path: one.paths.place for one in tables if one.paths.place != tables[0].paths.place},
            match="end" if by_name else "path",
            options=options_of_tables([options for _, options in opened]),
        )
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
        texts = [record.values[columns.image] for record in islice(_good(file.all_records()), _TRIED)]
        for place in dict.fromkeys((base, parent_of(file.path))) if origin.match is None else ():
            keys = [posixpath.normpath(f"{place}/{text}".lstrip("/")) for text in texts if isinstance(text, str)]
            if any(file_or_folder(at.folder, key) is not None for key in keys):
                return PathRule(place)
    return stated if origin.match == "path" else PathRule("", by_name=True)


def _as_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the columns that a reading names, where those of the boxes are found by their names."""
    label = (options["label"],) if "label" in options else ()
    return SourceOptions(image_column=options.get("image"), label_columns=label, split_column=options.get("split"))


def _good(records: Any) -> Any:
    return (record for record in records if record.problem is None)


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


def open_box_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
    """Open a table of boxes, with a header or in a known form without one."""
    kind = posixpath.splitext(path)[1].lower()
    if kind in TEXT and file_or_folder(folder, path) is not None:
        fields, delimiter = first_fields(folder, path)
        if columns := columns_without_header(fields):
            return CsvFile(folder, path, columns, delimiter, num_skipped=0, spaced=False)
        if is_box_table(fields):
            if delimiter == _BLANKS:
                return TextFile(folder, path, tuple(fields), delimiter, num_skipped=1, spaced=False, has_header=True)
            # Every name of the header is known to be one: a class called a.jpg is no sign of a record.
            return open_csv(folder, path, tabs=kind == ".tsv", known=frozenset(name.strip().lower() for name in fields))
    return open_table_file(folder, path, options)


def first_fields(folder: Folder, path: str) -> tuple[Sequence[str], str]:
    """Return the fields of the first line of a text table, and its delimiter."""
    lines = read_lines(folder, path)
    first = next((line for line in lines if line.text.strip() and not line.problem), None)
    if first is None:
        return (), ","
    found: tuple[Sequence[str], str] = (), ","
    for delimiter in (",", "\t", ";", "|"):
        record = next(split_records(iter([first]), delimiter, spaced=False), None)
        if record is not None and record.problem is None and len(record.values) > len(found[0]):
            found = [str(value).strip() for value in record.values], delimiter
    words = first.text.split()
    return (words, _BLANKS) if path.lower().endswith(".txt") and len(words) > len(found[0]) else found


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
