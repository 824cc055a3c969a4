"""The sheets of OpenDocument workbooks (ISO/IEC 26300), as LibreOffice writes them, row by row."""

import contextlib
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element  # for its name only; defusedxml parses

from defusedxml.ElementTree import iterparse

from shardkit.errors import DataError
from shardkit.sources.formats.tables.excel_files import ERRORS, Book, damage_as_sentence
from shardkit.storage import Folder, os_errors_as

ODS_ENDING = ".ods"
_CONTENT = "content.xml"
_MAX_BYTES = 256 << 20  # 256 MiB of unpacked XML, of which one row is in memory
_MAX_ROWS, _MAX_CELLS = 1 << 20, 1 << 14  # of a sheet and of a row: LibreOffice's own limits
_NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT = (f"{{{_NAMESPACE}{name}:1.0}}" for name in ("table", "office", "text"))
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")


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
    """Return the values of a row, without empty cells at its end."""
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
