"""The interface of table files: columns, their types, and records."""

import abc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import first_of
from shardkit.sources.formats.tables.text_pieces import TextPiece
from shardkit.sources.formats.tables.values import kinds_of_value, type_of_kinds
from shardkit.sources.walking import encodable_path, ending
from shardkit.storage import Folder

PREFIX_RECORDS = 1000  # records from the beginning that decide how columns are read
MAX_COLUMNS = 5000  # of a table: each may become a feature of every example; listing 5,000 takes about a second
_NAMES_SHOWN = 20
_FORMATS = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".ods": "OpenDocument",
    **dict.fromkeys((".xlsx", ".xlsm"), "Excel"),
}

TablePart = int | TextPiece  # a number of TableFile.parts(), or a piece of it


class Record(NamedTuple):
    """One record of a table."""

    line: int  # its number, from 1; in text files the number of the line that it starts on
    # Values in the order of the columns: text in CSV and TSV, else Python values; None for a missing one
    values: Sequence[Any]
    problem: str | None  # why the record cannot be read; then there are no values


@dataclass(frozen=True, slots=True)
class TableFile(abc.ABC):
    """A file of records; small, because it is pickled into the pipeline's graph."""

    holds_text: ClassVar[bool] = False  # whether every value is text, so that types are inferred

    folder: Folder
    path: str
    columns: tuple[str, ...]  # names of the columns, all different

    @property
    def format_name(self) -> str:
        return _FORMATS.get(ending(self.path), "text")

    @property
    def url(self) -> str:
        return f"{self.folder.url}/{self.path}"

    @property
    def remark(self) -> str:
        """The beginning of a sentence on how the file is read, such as its sheet; '' for nothing."""
        return ""

    @property
    def name(self) -> str:
        """The file's path, for keys and messages."""
        return encodable_path(self.path)

    def parts(self) -> list[int]:
        """Return the numbers of the parts that can be read in parallel: one, unless a format has more."""
        return [0]

    def divided(self, part: int) -> Sequence[TablePart]:
        """Return smaller parts with the records of a part in the same order; the part itself if it stays whole.

        May read the table once.
        """
        return [part]

    @abc.abstractmethod
    def records(self, part: Any, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """Yield the records of a part in the file's order; with `wanted`, only these columns need values."""

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """Return for each of the columns the type that fits all these records, as in feature_field; None if none does.

        Records with a problem are ignored.
        """
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        for record in records:
            if record.problem is None:
                for i, found in kinds.items():
                    found.update(kinds_of_value(record.values[i]))
        return {i: self.type_of(i, found) for i, found in kinds.items()}

    def type_of(self, column: int, kinds: set[str]) -> pa.DataType | None:
        return type_of_kinds(kinds)

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """Return whether further records may change the type of a column from this one."""
        return type_ is not None and not pa.types.is_string(type_)

    def class_names(self, column: int) -> tuple[str, ...]:
        """Return the names that the column's integers stand for, if the file defines them; else ()."""
        return ()

    def all_records(self, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        for part in self.parts():
            yield from self.records(part, wanted)


def in_order(records: Iterable[Record], own: Sequence[str], names: Sequence[str]) -> Iterator[Record]:
    """Yield records with their values in the order of other names of columns; None for one that they do not have."""
    at = [own.index(name) if name in own else None for name in names]
    for record in records:
        if record.problem is not None or own == names:
            yield record
        else:
            yield record._replace(values=[None if i is None else record.values[i] for i in at])


def records_of(files: Sequence[TableFile], wanted: frozenset[int] | None = None) -> Iterator[Record]:
    """Yield the records of several tables, with their values in the order of the first one's columns.

    `wanted` are columns of the first table.
    """
    names = files[0].columns
    for file in files:
        there = None if wanted is None else [names[i] for i in wanted if names[i] in file.columns]
        own = None if there is None else frozenset(map(file.columns.index, there))
        yield from in_order(file.all_records(own), file.columns, names)


@dataclass(frozen=True, slots=True)
class WrappedTable(TableFile):
    """A table with more columns than another one."""

    inner: TableFile  # the other table, whose columns come first

    @property
    def holds_text(self) -> bool:  # type: ignore[override]
        return self.inner.holds_text

    def parts(self) -> list[int]:
        return self.inner.parts()

    def may_widen(self, type_: pa.DataType | None) -> bool:
        return self.inner.may_widen(type_)


def check_columns(url: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the column names."""
    refuse_many_columns(url, len(columns))
    twice = first_repeated(name for name in columns if name)
    if twice is not None:
        msg = f"{url}: the column {twice!r} occurs twice; rename one of them"
        raise DataError(msg)
    return tuple(columns)


def refuse_many_columns(url: str, num_columns: int) -> None:
    """Refuse a table of more columns than are read in reasonable time."""
    if num_columns > MAX_COLUMNS:
        msg = (
            f"{url}: the table has {num_columns:,} columns, more than {MAX_COLUMNS:,}; leave out those that training "
            "does not need, or put their values into one column of lists (JSON Lines or Parquet)"
        )
        raise DataError(msg)


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that an earlier one equals; None if all differ."""
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def enumerated(parts: Sequence[str]) -> str:
    """Return the parts joined by commas; only the first ones if there are many."""
    return first_of(parts, _NAMES_SHOWN)
