"""The sheets of Excel workbooks, row by row."""

import contextlib
import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from shardkit.errors import DataError
from shardkit.extras import require_extra
from shardkit.sources.formats.tables.values import shown
from shardkit.storage import Folder, os_errors_as

EXCEL_ENDINGS = (".xlsx", ".xlsm")
_MAX_BYTES = 1 << 30  # 1 GiB of unpacked XML
_MAX_ROWS, _MAX_CELLS = 1 << 20, 1 << 14  # of a sheet and of a row: Excel's own limits
_MAX_TEXTS = 1 << 22  # 4,194,304 different texts: openpyxl keeps all of them in memory
_MAX_TEXT_BYTES = 1 << 20  # 1 MiB without a tag: Excel allows 32,767 characters in a cell
_MAX_SETTINGS_BYTES = 16 << 20  # 16 MiB, of each other part: openpyxl keeps it in memory, at ten times the size
_BLOCK = 1 << 18  # 256 KiB are unpacked at once
_TAG = re.compile(rb"<(?:[\w.-]+:)?(?:(row)|(c)|(si))[\s/>]")
_LONGEST_TAG = 64  # bytes of a tag that may be cut by the end of a block
# Also of defusedxml (ValueError) and of damaged XML (SyntaxError).
_DAMAGE = (zipfile.BadZipFile, zlib.error, KeyError, RuntimeError, ValueError, TypeError, SyntaxError, EOFError)
ERRORS = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"})


class Book(NamedTuple):
    """An open workbook."""

    names: list[str]  # of its sheets
    # Yields the number and the values of each row of a sheet that is not empty, from a row on
    rows: Callable[[str, int], Iterator[tuple[int, Sequence[Any]]]]


@contextlib.contextmanager
def opened_excel(folder: Folder, path: str) -> Iterator[Book]:
    """Open a workbook; damaged and huge ones raise DataError, also while rows are read."""
    url = f"{folder.url}/{path}"
    require_extra("excel", f"{url}: reading Excel")
    import openpyxl  # type: ignore[import-untyped]

    with os_errors_as("read the table", url), folder.open(path) as file, damage_as_sentence(url, "an Excel"):
        _refuse_large(zipfile.ZipFile(file), url)
        file.seek(0)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            names = [name for name in book.sheetnames if hasattr(book[name], "iter_rows")]  # a chart is none
            yield Book(names, lambda name, first: _rows(book[name], first))
        finally:
            book.close()


def _refuse_large(archive: zipfile.ZipFile, url: str) -> None:
    """Refuse a workbook that would take gigabytes: openpyxl holds a whole row, and all different texts.

    A row of six million cells is 340 kB of a workbook. All parts are counted: a part may have any name.
    """
    num_bytes = sum(info.file_size for info in archive.infolist())
    if num_bytes > _MAX_BYTES:
        size = f"{num_bytes >> 20:,} MiB"
        raise _too_large(url, f"the workbook unpacks to {size}, more than {_MAX_BYTES >> 20:,}")
    for info in archive.infolist():
        name = info.filename.lower()
        is_table = name.startswith("xl/worksheets/") or name == "xl/sharedstrings.xml"
        is_xml = name.endswith((".xml", ".rels"))  # others are embedded pictures
        num_bytes = num_cells = num_texts = num_plain = 0
        rest = b""
        with archive.open(info) as part:
            while block := part.read(_BLOCK):
                num_bytes += len(block)
                num_plain = num_plain + len(block) if b"<" not in block else len(block) - block.rfind(b"<")
                at, block = 0, rest + block
                for found in _TAG.finditer(block):
                    at = found.end()
                    num_cells = 0 if found[1] else num_cells + bool(found[2])
                    num_texts += bool(found[3])
                    if num_cells > _MAX_CELLS:
                        raise _too_large(url, f"a row holds more than {_MAX_CELLS:,} cells, the most that Excel allows")
                rest = block[max(at, len(block) - _LONGEST_TAG) :]
                if num_texts > _MAX_TEXTS:
                    raise _too_large(url, f"the workbook holds more than {_MAX_TEXTS:,} different texts")
                if num_plain > _MAX_TEXT_BYTES and is_xml:
                    raise _too_large(url, f"a text is longer than {_MAX_TEXT_BYTES >> 20} MiB")
                if num_bytes > _MAX_SETTINGS_BYTES and is_xml and not is_table:
                    limit = f"{_MAX_SETTINGS_BYTES >> 20} MiB"
                    raise _too_large(url, f"{shown(info.filename)} in it unpacks to more than {limit}")


def _too_large(url: str, found: str) -> DataError:
    return DataError(f"{url}: {found}; save it as CSV")


def _rows(sheet: Any, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    sheet.reset_dimensions()  # some programs store wrong ones
    for line, row in enumerate(sheet.iter_rows(min_row=first, values_only=True), first):
        if line > _MAX_ROWS:  # a row numbered 10**12 is preceded by as many empty ones
            msg = f"a row has a number above {_MAX_ROWS:,}, the most that Excel allows"
            raise ValueError(msg)
        values = [_value(value) for value in row]
        if any(value is not None for value in values):
            yield line, values


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return None if value in ERRORS or not value.strip() else value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return value


@contextlib.contextmanager
def damage_as_sentence(url: str, kind: str) -> Iterator[None]:
    """Raise the errors that the libraries raise for a damaged workbook as DataError."""
    try:
        yield
    except DataError:
        raise
    except _DAMAGE as error:
        again = "it again, or as" if kind == "an Excel" else "it as"
        msg = f"{url}: this is not {kind} workbook, or a damaged one: {shown(str(error))}; save {again} CSV"
        raise DataError(msg) from error
