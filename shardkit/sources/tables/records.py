"""What every kind of table file gives: its columns, their types, and its records one by one."""

import abc
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.storage import Folder

PREFIX_RECORDS = 1000  # so many records from the beginning decide how columns are read
MAX_COLUMNS = 5000  # of a table: each that is carried is a feature of every example; listing takes about a second then
_NAMES_SHOWN = 20


class Record(NamedTuple):
    """One record of a table.

    Attributes:
        line: its number, from 1: of text files the line that it starts on.
        values: in the order of the columns: text in CSV and TSV, else Python values; None for a missing one.
        problem: why the line cannot be read; then there are no values.
    """

    line: int
    values: Sequence[Any]
    problem: str | None


class BadRecord(ValueError):  # noqa: N818 - what is found in the data, not what goes wrong here
    """A record that leads to no example: a reason code, and a sentence without the record's place."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def shown(value: object) -> str:
    """A value as it may stand in a message: shortened, on one line, whatever it holds and however deep it is."""
    return _SHORT.repr(value)


@dataclass(frozen=True, slots=True)
class TableFile(abc.ABC):
    """A file of records; small, and pickled into the pipeline's graph.

    Attributes:
        folder: where the file lies.
        path: of the file below folder.
        columns: their names, no two alike.
    """

    format_name: ClassVar[str]
    holds_text: ClassVar[bool]  # whether every value is text, so that types are a guess

    folder: Folder
    path: str
    columns: tuple[str, ...]

    @property
    def url(self) -> str:
        """What the user calls the file."""
        return f"{self.folder.url}/{self.path}"

    @property
    def name(self) -> str:
        """The file's name as it can stand in a key or a message."""
        return self.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    @abc.abstractmethod
    def parts(self) -> list[int]:
        """What can be read in parallel, by number."""

    @abc.abstractmethod
    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """Records in the file's order; with wanted, only those columns need have values.

        Raises:
            DataError: the file cannot be read on from some place.
            MachineError: the disk or the network fails.
        """

    @abc.abstractmethod
    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """Of these columns the type that fits all these records, as in ``feature_field``; None where none does.

        Records with a problem do not count.
        """

    @abc.abstractmethod
    def may_widen(self, type_: pa.DataType | None) -> bool:
        """Whether further records may change the type of a column that has this one so far."""

    def class_names(self, column: int) -> tuple[str, ...]:
        """Names that the column's integers stand for, where the file says so; else none."""
        return ()

    def all_records(self, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """Records of all parts."""
        for part in self.parts():
            yield from self.records(part, wanted)


def check_columns(url: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns' names.

    Raises:
        DataError: There are too many, or a name is there twice.
    """
    refuse_many_columns(url, len(columns))
    twice = first_repeated(name for name in columns if name)
    if twice is not None:
        msg = f"{url}: the column {twice!r} is there twice; rename one of them"
        raise DataError(msg)
    return tuple(columns)


def refuse_many_columns(url: str, num_columns: int) -> None:
    """Refuse a table of more columns than are read in reasonable time.

    Raises:
        DataError: It has more than MAX_COLUMNS.
    """
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
    """Return the parts of a sentence one after the other, only the first ones of many."""
    more = f" and {len(parts) - _NAMES_SHOWN:,} more" if len(parts) > _NAMES_SHOWN else ""
    return ", ".join(parts[:_NAMES_SHOWN]) + more
