"""Open a table by its ending, by expressions of its lines, or joined with others, and read its first records."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.layouts import LAYOUTS
from shardkit.naming import first_of, printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, plain
from shardkit.sources.formats.tables.csv_opening import open_csv
from shardkit.sources.formats.tables.json_files import open_json
from shardkit.sources.formats.tables.lines import encoding_of, read_lines
from shardkit.sources.formats.tables.parquet_files import open_parquet
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record, TableFile, TablePart, WrappedTable
from shardkit.sources.formats.tables.text_files import IMAGE, TEXT_ENDINGS, TextFile, open_text
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.formats.tables.workbooks import WORKBOOK_ENDINGS, open_workbook
from shardkit.sources.options import SourceOptions
from shardkit.storage import Folder, os_errors_as

_SHOWN = 100  # characters of a line in a message


@dataclass(frozen=True, slots=True)
class LineFile(TableFile):
    """A text file without header; empty lines, comments and lines that match without a column are skipped.

    A value is the very text: 01 is no number.
    """

    expression: str  # the expression, whose named groups are the columns

    @classmethod
    def open(cls, folder: Folder, path: str, expression: str) -> "LineFile":
        try:
            groups = re.compile(expression).groupindex
        except re.error as error:
            msg = f"{folder.url}/{path}: lines: {printable(expression)!r} is not a regular expression: {error.msg}"
            raise CallError(msg) from None
        if not groups:
            msg = f"{folder.url}/{path}: lines: {printable(expression)!r} has no column; write (?P<image>…) around it"
            raise CallError(msg)
        return cls(folder, path, tuple(groups), expression)

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        fitting, columns = re.compile(self.expression).fullmatch, self.columns
        for number, text, damage in read_lines(self.folder, self.path):
            line = text.strip()
            if not line or line.startswith("#"):
                continue
            found = None if damage else fitting(line)
            if found is None:
                problem = f"{shown(line[:_SHOWN])} has not the form of the other lines; correct it"
                yield Record(number, (), damage or problem)
            elif found.lastindex is not None:
                yield Record(number, [found[name] for name in columns], None)


@dataclass(frozen=True, slots=True)
class JoinedTable(WrappedTable):
    """A table with the columns of others, which are in memory: about 300 bytes for each of their records."""

    others: tuple[tuple[TableFile, str], ...]  # the other tables, and the column that each shares with this one

    @classmethod
    def join(cls, inner: TableFile, others: Sequence[TableFile]) -> "JoinedTable":
        joined = []
        columns = inner.columns
        for other in others:
            shared = [name for name in other.columns if name in inner.columns]
            if len(shared) != 1:
                msg = f"{other.url}: it shares {len(shared)} columns with {inner.path}, not one by which it is joined"
                raise DataError(msg)
            joined.append((other, shared[0]))
            columns += tuple(name for name in other.columns if name != shared[0])
        return cls(inner.folder, inner.path, columns, inner, tuple(joined))

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; values of a record that another table lacks are None."""
        own = len(self.inner.columns)
        lookups = []
        if wanted is None or any(i >= own for i in wanted):
            wanted = None
            lookups = [(self.inner.columns.index(name), *_by_key(other, name)) for other, name in self.others]
        for record in self.inner.records(part, wanted):
            values = list(record.values)
            if record.problem is None:
                for at, found, nothing in lookups:
                    values += found.get(values[at], nothing)
                values += (None,) * (len(self.columns) - len(values))
            yield record._replace(values=values)


def _by_key(file: TableFile, key: str) -> tuple[dict[Any, tuple[Any, ...]], tuple[None, ...]]:
    """Return the other values of a table by those of a column, and what stands for a missing record."""
    at = file.columns.index(key)
    found: dict[Any, tuple[Any, ...]] = {}
    for record in file.all_records():
        if record.problem is None:
            values = tuple(value for i, value in enumerate(record.values) if i != at)
            if found.setdefault(record.values[at], values) != values:
                msg = f"{file.url}, line {record.line}: {shown(record.values[at])} has two records; remove one"
                raise DataError(msg)
    return found, (None,) * (len(file.columns) - 1)


def open_separated(folder: Folder, path: str) -> TextFile:
    """Return a text file with blanks between fields, a header, and perhaps the number of records in a line before it.

    The header may lack the name of the first column, as in CelebA: it is the image.
    """
    encoding = encoding_of(folder, path)
    first = islice((one.text.split() for one in read_lines(folder, path, encoding=encoding) if one.text.split()), 3)
    rows = [row for row in first if row[0] != "#"]
    has_count = len(rows) > 1 and len(rows[0]) == 1 and rows[0][0].isdigit()
    header, record = rows[has_count : has_count + 2] if len(rows) > 1 + has_count else ([], [])
    columns = (IMAGE, *header) if len(record) == len(header) + 1 else tuple(header)
    if not columns or len(columns) != len(record) or len({*columns}) < len(columns):
        msg = f"{folder.url}/{path}: its first lines are not a header and a record of as many fields; copy it again"
        raise DataError(msg)
    return TextFile(folder, path, columns, " ", 1 + has_count, spaced=False, encoding=encoding, has_header=True)


TABLE_ENDINGS = LAYOUTS["table"].endings or ()
_OTHER_WORKBOOKS = {".xls", ".xlsb", ".numbers"}


def open_table_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
    """Open a table by its ending."""
    url = f"{folder.url}/{path}"
    kind = os.path.splitext(path)[1].lower()
    if kind in TEXT_ENDINGS:
        columns = {*filter(None, [options.image_column]), *options.label_columns}
        ways = [one for one in open_list_files(folder, path, options) if len(one.columns) > 1]
        chosen = [one for one in ways if columns and columns <= {*one.columns}] or [one for one in ways if one.is_table]
        if not (chosen := chosen or ways):
            msg = f"{url}: its lines are no records of a table, such as 'cats/1.jpg 0', with the same number of fields"
            raise DataError(msg)
        return chosen[0]
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
        return open_json(folder, path, "lines")
    return open_csv(folder, path, tabs=kind == ".tsv", known=_known(options))


def column_index(file: TableFile, name: str) -> int:
    """Return the index of a column."""
    if name not in file.columns:
        columns = first_of([*map(repr, file.columns)], 20)
        msg = f"{file.url}: there is no column {name!r}; its columns are {columns}"
        raise UnknownNameError(msg)
    return file.columns.index(name)


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


def read_prefix(file: TableFile) -> list[Record]:
    """Return the good records among the first 1,000."""
    first = list(islice(file.all_records(), PREFIX_RECORDS))
    good = [record for record in first if record.problem is None]
    if not good:
        why = f"line {first[0].line}: {first[0].problem}" if first else "only columns"
        msg = f"{file.url}: the table has no records that can be read; {why}"
        raise DataError(msg)
    return good


class Choice(NamedTuple):
    """One way to read a table: what the user's options lack, and what it means."""

    changes: dict[str, Any]
    meaning: str


def refuse(problem: str, source: str, choices: list[Choice], remedy: str = "") -> RefusalError:
    """Return the error for a table that can be read in several ways, or in none without an option."""
    # A text file is a list, unless the user says otherwise.
    layout = {"layout": "table"} if source.lower().endswith(TEXT_ENDINGS) else {}
    changes = [Change(one.meaning, {**layout, **one.changes}, sources=(source,)) for one in choices]
    return RefusalError(problem, changes, remedy=remedy)


def readings_of_uncertain(names: tuple[str, ...]) -> list[Choice]:
    """Return the ways to read columns of 0 and 1 that hold -1, too."""
    return [
        Choice({"label_columns": names, "uncertain": "negative"}, "a -1 means that the class does not apply"),
        Choice({"label_columns": names, "uncertain": "positive"}, "a -1 means that the class applies"),
        Choice({"label_columns": names, "uncertain": "drop"}, "images with a -1 are left out"),
    ]
