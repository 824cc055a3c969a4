"""The records of CSV and TSV tables."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar

import pyarrow as pa

from shardkit.naming import counted
from shardkit.sources.formats.tables.lines import MAX_LINE_BYTES, UTF_8, Line, read_lines
from shardkit.sources.formats.tables.records import Record, TableFile, TablePart
from shardkit.sources.formats.tables.text_pieces import RecordRule, TextPiece, divide_text
from shardkit.sources.formats.tables.values import kind_of_text, type_of_kinds

_CHUNK_RECORDS = 8192  # records of which each different value is classified once
DECIMAL_COMMA = re.compile(r"-?[0-9]+(?:,[0-9]+)?")


@dataclass(frozen=True, slots=True)
class CsvFile(TableFile):
    """A text file of fields with a delimiter."""

    holds_text: ClassVar[bool] = True

    delimiter: str
    num_skipped: int  # number of records before the data: Excel's `sep=;`, titles, and the names of the columns
    spaced: bool  # whether a blank after the delimiter is ignored
    encoding: str = UTF_8
    decimals: tuple[int, ...] = ()  # columns of numbers such as `0,5`, which records have as `0.5`

    @property
    def remark(self) -> str:
        return "" if self.encoding == UTF_8 else f"text in {self.encoding}, as Excel writes it on Windows; "

    def divided(self, part: int) -> Sequence[TablePart]:
        if self.encoding != UTF_8:
            return [part]
        rule = RecordRule(
            lambda lines: (record.line for record in split_records(lines, self.delimiter, spaced=self.spaced)),
            lambda data: b'"' not in data,
            self.num_skipped,
        )
        return divide_text(self.folder, self.path, rule) or [part]

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; empty lines, and lines of delimiters only, are skipped."""
        piece = part if isinstance(part, TextPiece) else None
        whole = partial(read_lines, self.folder, self.path, encoding=self.encoding)
        lines = piece.lines(self.folder, self.path) if piece else whole()
        records = split_records(lines, self.delimiter, spaced=self.spaced)
        for _ in range(self.num_skipped if piece is None or piece.start.number == 1 else 0):
            next(records)
        width = len(self.columns)
        for record in records:
            if piece is not None and piece.ends_before(record.line):
                return
            if record.problem is None and len(record.values) != width:
                number = len(record.values)
                yield Record(
                    record.line, (), f"it has {counted(number, 'field')}, the table {counted(width, 'column')}"
                )
            else:
                yield self._converted(record) if self.decimals else record

    def _converted(self, record: Record) -> Record:
        if record.problem is not None:
            return record
        values = list(record.values)
        for i in self.decimals:
            if DECIMAL_COMMA.fullmatch(values[i]):
                values[i] = values[i].replace(",", ".")
        return record._replace(values=values)

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        good = (record.values for record in records if record.problem is None)
        while chunk := list(islice(good, _CHUNK_RECORDS)):
            for i, found in kinds.items():
                found.update(map(kind_of_text, {values[i] for values in chunk}))
        return {i: type_of_kinds(found) for i, found in kinds.items()}


def split_records(lines: Iterator[Line], delimiter: str, *, spaced: bool) -> Iterator[Record]:
    """Yield records of fields, quoted according to RFC 4180; a field may contain line ends.

    If quotes do not match, only the line on which the record starts is rejected, and reading continues after it.
    """
    # Python's limit of 131,072 characters applies to the process: raise it to the size of a line, never lower it.
    csv.field_size_limit(max(MAX_LINE_BYTES, csv.field_size_limit()))
    again: deque[Line] = deque()
    held: list[Line] = []

    def feed() -> Iterator[str]:
        while line := (again.popleft() if again else next(lines, None)):
            held.append(line)
            yield line.text

    # A line without quotes is a record, and much faster divided without the csv module's reader.
    for line in lines if not spaced else ():
        if '"' in line.text:
            again.append(line)
            break
        values = line.text.rstrip("\r\n").split(delimiter)
        if line.problem or any(values):
            yield Record(line.number, () if line.problem else values, line.problem)
    reader = csv.reader(feed(), delimiter=delimiter, strict=True, skipinitialspace=spaced)
    while True:
        try:
            for values in reader:
                number = held[0].number
                problem = held[0].problem
                if len(held) > 1:
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
