"""Text files whose lines a regular expression divides, and tables that are joined by the column that both have."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.sources.formats.tables.lines import encoding_of, read_lines
from shardkit.sources.formats.tables.records import Record, TableFile, TablePart, WrappedTable
from shardkit.sources.formats.tables.text_files import IMAGE, TextFile
from shardkit.sources.formats.tables.values import shown
from shardkit.storage import Folder

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
