"""CSV and TSV tables, with a header or as AutoML and TFRecorder write them without one."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.tables.lines import MAX_LINE_BYTES, Line, read_lines
from shardkit.sources.tables.records import Record, TableFile, check_columns, shown
from shardkit.sources.tables.split_names import is_split
from shardkit.sources.tables.values import kind_of_text, type_of_kinds
from shardkit.storage import Folder

_CHUNK_RECORDS = 8192  # of values that stand there more than once in so many records, the kind is found once
_DELIMITERS = (",", ";", "\t", "|")
_WITH_SPLIT = ("split", "image_uri", "label")


@dataclass(frozen=True, slots=True)
class CsvFile(TableFile):
    """A text file of fields.

    Attributes:
        delimiter: between fields.
        has_header: whether the first record names the columns.
        spaced: whether a blank behind the delimiter does not count.
    """

    format_name: ClassVar[str] = "CSV"
    holds_text: ClassVar[bool] = True

    delimiter: str
    has_header: bool
    spaced: bool

    def parts(self) -> list[int]:
        """One: where a record begins is known only from those before it."""
        return [0]

    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; empty lines, and those of nothing but delimiters, are left out."""
        records = split_records(read_lines(self.folder, self.path), self.delimiter, spaced=self.spaced)
        if self.has_header:
            next(records)
        width = len(self.columns)
        for record in records:
            if record.problem is None and len(record.values) != width:
                number = len(record.values)
                yield Record(record.line, (), f"it has {number} field{'s' * (number != 1)}, the table {width} columns")
            else:
                yield record

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """See TableFile; guessed from the texts."""
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        good = (record.values for record in records if record.problem is None)
        while chunk := list(islice(good, _CHUNK_RECORDS)):
            for i, found in kinds.items():
                found.update(map(kind_of_text, {values[i] for values in chunk}))
        return {i: type_of_kinds(found) for i, found in kinds.items()}

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """See TableFile; every text is one."""
        return type_ is not None and not pa.types.is_string(type_)


@dataclass(frozen=True, slots=True)
class TsvFile(CsvFile):
    """The same with an ending that promises tabs."""

    format_name: ClassVar[str] = "TSV"


def split_records(lines: Iterator[Line], delimiter: str, *, spaced: bool) -> Iterator[Record]:
    """Records of fields, quoted as RFC 4180 has it; a field may hold line ends.

    Where quotes do not match up, only the line that the record starts on is given up, and reading goes on behind it.
    """
    # Python's limit of 131,072 characters is the process's: it is raised to what a line may be, never lowered.
    csv.field_size_limit(max(MAX_LINE_BYTES, csv.field_size_limit()))
    again: deque[Line] = deque()
    held: list[Line] = []

    def feed() -> Iterator[str]:
        while line := (again.popleft() if again else next(lines, None)):
            held.append(line)
            yield line.text

    reader = csv.reader(feed(), delimiter=delimiter, strict=True, skipinitialspace=spaced)
    while True:
        try:
            for values in reader:
                number = held[0].number
                problem = next((line.problem for line in held if line.problem), None)
                held.clear()
                if problem or any(values):
                    yield Record(number, () if problem else values, problem)
        except csv.Error as error:  # noqa: PERF203 - once a pass over many records
            line, *rest = held
            again.extendleft(reversed(rest))
            held.clear()
            yield Record(line.number, (), line.problem or _sentence(error))
            reader = csv.reader(feed(), delimiter=delimiter, strict=True, skipinitialspace=spaced)
        else:
            return


def _sentence(error: csv.Error) -> str:
    found = str(error)
    if "unexpected end of data" in found:
        return "a quote that opens here is never closed"
    if "field limit" in found:
        return f"a quote that opens here is not closed, or a field has over {csv.field_size_limit():,} characters"
    return f"its quotes do not match up: {found}"


def open_csv(folder: Folder, path: str, *, tabs: bool, known: frozenset[str]) -> CsvFile:
    """Find out the delimiter and whether there is a header.

    Args:
        folder: where the table lies.
        path: of the table.
        tabs: whether the ending promises tabs.
        known: lower-case names of which a header holds at least one.

    Raises:
        DataError: nothing in it, the first line cannot be read, or it is a record of a form that needs a header.
    """
    url = f"{folder.url}/{path}"
    lines = read_lines(folder, path)
    first = next((line for line in lines if line.problem or line.text.strip()), None)
    if first is None:
        msg = f"{url}: the table is empty"
        raise DataError(msg)
    if first.problem:
        msg = f"{url}: line {first.number} cannot be read: {first.problem}"
        raise DataError(msg)
    delimiter = "\t" if tabs and "\t" in first.text else max(_DELIMITERS, key=lambda one: _width(first.text, one))
    header = next(split_records(chain([first], lines), delimiter, spaced=False))
    if header.problem:
        msg = f"{url}: line {header.line} cannot be read: {header.problem}"
        raise DataError(msg)
    names = [name.strip() for name in header.values]
    spaced = len(names) > 1 and all(name.startswith(" ") for name in header.values[1:])
    found = _columns_without_header(names, known)
    if found is None and (record := _sign_of_record(names, known)):
        msg = (
            f"{url}: the table has no header line: line {header.line} holds {shown(record)}, no column's name; "
            f"put a line above it that names its {len(names)} columns, such as image,label or {','.join(_WITH_SPLIT)}"
        )
        raise DataError(msg)
    columns = found or check_columns(url, names)
    kind = TsvFile if tabs else CsvFile
    return kind(folder, path, columns, delimiter, has_header=not found, spaced=spaced)


def _width(text: str, delimiter: str) -> int:
    """Fields of a header; 0 where its quotes tell that the delimiter is another one."""
    try:
        return len(next(csv.reader([text], delimiter=delimiter, strict=True)))
    except csv.Error:
        return 0


def _columns_without_header(first: list[str], known: frozenset[str]) -> tuple[str, ...] | None:
    if any(value.lower() in known for value in first) and not any(map(_is_image, first)):
        return None
    if len(first) == len(_WITH_SPLIT) and is_split(first[0]):
        return _WITH_SPLIT
    if len(first) == len(_WITH_SPLIT) - 1 and _is_image(first[0]):
        return _WITH_SPLIT[1:]
    return None


def _sign_of_record(first: list[str], known: frozenset[str]) -> str | None:
    """What tells that the first line is a record: a path to an image, or a split where no column has a usual name."""
    images = (value for value in first if _is_image(value))
    split = first[0] if is_split(first[0]) and not any(value.lower() in known for value in first) else None
    return next(images, split)


def _is_image(value: str) -> bool:
    return ending(value) in IMAGE_ENDINGS
