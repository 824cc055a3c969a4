"""Workbooks: the sheet that holds a table, or sheets with one header, whichever program wrote them."""

import contextlib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element  # for its name only; defusedxml parses

from defusedxml.ElementTree import iterparse

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.formats.column_names import is_split, plain
from shardkit.sources.formats.tables.excel_files import ERRORS, EXCEL_ENDINGS, Book, damage_as_sentence, opened_excel
from shardkit.sources.formats.tables.records import Record, TableFile, check_columns, enumerated
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.walking import ending
from shardkit.storage import Folder, os_errors_as

ODS_ENDING = ".ods"
WORKBOOK_ENDINGS = (*EXCEL_ENDINGS, ODS_ENDING)
_NUM_ROWS = 50  # of each sheet, which decide where its table begins
_CONTENT = "content.xml"
_MAX_BYTES = 256 << 20  # 256 MiB of unpacked XML, of which one row is in memory
_MAX_ROWS, _MAX_CELLS = 1 << 20, 1 << 14  # of a sheet and of a row: LibreOffice's own limits
_NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT = (f"{{{_NAMESPACE}{name}:1.0}}" for name in ("table", "office", "text"))
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")


def _opened(folder: Folder, path: str) -> AbstractContextManager[Book]:
    return (opened_ods if ending(path) == ODS_ENDING else opened_excel)(folder, path)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that holds a table."""

    name: str
    header_row: int  # number of the row of column names, from 1
    cells: tuple[int, ...]  # indexes of the columns in the sheet


@dataclass(frozen=True, slots=True)
class WorkbookFile(TableFile):
    """A sheet of a workbook, or several with the same columns, whose names are one more column then."""

    sheets: tuple[Sheet, ...]  # the sheets; the rows of several are counted through all of them
    is_only: bool  # whether no other sheet holds anything

    @property
    def remark(self) -> str:
        names = enumerated([repr(one.name) for one in self.sheets])
        if len(self.sheets) > 1:
            return f"sheets {names}, whose names are column {self.columns[-1]!r}; "
        return "" if self.is_only else f"sheet {names}; "

    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; empty rows are skipped, and formulas have the values that Excel stored."""
        above = last = 0
        with _opened(self.folder, self.path) as book:
            for sheet in self.sheets:
                above += last
                named = (sheet.name,) if len(self.sheets) > 1 else ()
                for last, row in book.rows(sheet.name, sheet.header_row + 1):
                    values = [row[i] if i < len(row) else None for i in sheet.cells]
                    extra = next(
                        (value for i, value in enumerate(row) if value is not None and i > sheet.cells[-1]), None
                    )
                    if extra is not None:
                        yield Record(above + last, (), f"it holds {shown(extra)} to the right of the table's columns")
                    elif any(value is not None for value in values):
                        yield Record(above + last, [*values, *named], None)


_Rows = list[tuple[int, Sequence[Any]]]  # numbers and values


def open_workbook(folder: Folder, path: str, known: frozenset[str]) -> WorkbookFile:
    """Open the sheet of a workbook that holds a table: at least a row of column names and a record.

    Sheets with the same columns are one table. Of sheets with different ones, those that name images are it. Titles
    above the column names are skipped.
    """
    url = f"{folder.url}/{path}"
    with _opened(folder, path) as book:
        starts = {name: list(islice(book.rows(name, 1), _NUM_ROWS)) for name in book.names}
    tables: dict[tuple[str, ...], list[Sheet]] = {}
    for name, first in starts.items():
        rows = _without_titles(first, known)
        if len(rows) > 1:
            line, header = rows[0]
            cells = tuple(i for i, value in enumerate(header) if value is not None)
            titles = tuple(str(header[i]).strip() for i in cells)
            tables.setdefault(titles, []).append(Sheet(name, line, cells))
    chosen = [*tables] if len(tables) == 1 else _of_images(tables, starts, known)
    if len(chosen) != 1:
        shown_names = ", ".join(repr(one.name) for found in tables.values() for one in found)
        several = f"the sheets {shown_names} hold tables; save the one that you mean as CSV"
        raise DataError(f"{url}: {several if tables else 'the table is empty'}")
    columns = check_columns(url, chosen[0])
    used = tables[chosen[0]]
    if len(used) > 1:
        usual = "split" if all(is_split(one.name) for one in used) else "sheet"
        columns = (*columns, usual if usual not in columns else "name of the sheet")
    return WorkbookFile(folder, path, columns, tuple(used), sum(map(bool, starts.values())) == len(used))


def _without_titles(rows: _Rows, known: frozenset[str]) -> _Rows:
    """Return the first rows of a sheet from the column names on: most rows below are not wider.

    Rows above are titles if they have one cell each, or if a column has a usual name.
    """
    for at, (_, header) in enumerate(rows[:-1]):
        held = {i for i, value in enumerate(header) if value is not None}
        below = [{i for i, value in enumerate(row) if value is not None} for _, row in rows[at + 1 :]]
        if 2 * sum(max(row) <= max(held) for row in below) >= len(below):
            is_usual = not known.isdisjoint(plain(str(value)) for value in header)
            are_titles = all(sum(value is not None for value in row) == 1 for _, row in rows[:at])
            return rows[at:] if is_usual or (are_titles and not any(map(_is_image, header))) else rows
    return rows


def _of_images(
    tables: Mapping[tuple[str, ...], Sequence[Sheet]], starts: Mapping[str, _Rows], known: frozenset[str]
) -> list[tuple[str, ...]]:
    """Return the columns of the tables with names of image files, or else with a usual name of a column of images."""
    named = [
        titles
        for titles, sheets in tables.items()
        if any(_is_image(value) for one in sheets for _, row in starts[one.name] for value in row)
    ]
    return named or [titles for titles in tables if not known.isdisjoint(map(plain, titles))]


def _is_image(value: Any) -> bool:
    return isinstance(value, str) and ending(value.strip()) in IMAGE_ENDINGS


@contextlib.contextmanager
def opened_ods(folder: Folder, path: str) -> Iterator[Book]:
    """Open a workbook; damaged and huge ones raise DataError, also while rows are read."""
    url = f"{folder.url}/{path}"
    with os_errors_as("read the table", url), folder.open(path) as file, damage_as_sentence(url, "an OpenDocument"):
        archive = zipfile.ZipFile(file)
        num_bytes = archive.getinfo(_CONTENT).file_size
        if num_bytes > _MAX_BYTES:
            size = f"{num_bytes >> 20:,} MiB"
            msg = f"{url}: the workbook unpacks to {size}, more than {_MAX_BYTES >> 20:,}; save it as CSV"
            raise DataError(msg)
        yield Book([name for name, row in _read(archive) if row is None], partial(_rows, archive))


def _rows(archive: zipfile.ZipFile, name: str, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    above = 0
    for sheet, row in _read(archive):
        if sheet == name and row is not None and above < _MAX_ROWS:
            count, values = _repeated(row, "rows"), _values(row)
            lines = range(above + 1, min(above + count, _MAX_ROWS) + 1) if values else ()
            yield from ((line, values) for line in lines if line >= first)
            above += count


def _read(archive: zipfile.ZipFile) -> Iterator[tuple[str, Element | None]]:
    """Yield each row with the name of its sheet; before them, the name alone."""
    name = ""
    with archive.open(_CONTENT) as file:
        for event, element in iterparse(file, events=("start", "end")):
            if event == "start" and element.tag == f"{_TABLE}table":
                name = element.get(f"{_TABLE}name", "")
                yield name, None
            elif event == "end" and element.tag == f"{_TABLE}table-row":
                yield name, element
                element.clear()


def _values(row: Element) -> list[Any]:
    values: list[Any] = []
    num_empty = 0
    for cell in row:
        if cell.tag in _CELLS:
            value, count = _value(cell), _repeated(cell, "columns")
            if value is None:
                num_empty += count
                continue
            if len(values) + num_empty + count > _MAX_CELLS:
                msg = f"a row holds more than {_MAX_CELLS:,} cells"
                raise ValueError(msg)
            values += [None] * num_empty + [value] * count
            num_empty = 0
    return values


def _repeated(element: Element, what: str) -> int:
    return max(1, int(element.get(f"{_TABLE}number-{what}-repeated", "1")))


def _value(cell: Element) -> Any:
    """Return the value of a cell: a number, a truth value, or text; None if it is empty or an error."""
    kind = cell.get(f"{_OFFICE}value-type")
    if kind in {"float", "percentage", "currency"}:
        number = float(cell.get(f"{_OFFICE}value", "nan"))
        return int(number) if number.is_integer() and abs(number) < 1 << 53 else number
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind in {"date", "time"}:
        return cell.get(f"{_OFFICE}{kind}-value")
    text = "\n".join("".join(one.itertext()) for one in cell if one.tag == f"{_TEXT}p")
    return None if text in ERRORS or not text.strip() else text
