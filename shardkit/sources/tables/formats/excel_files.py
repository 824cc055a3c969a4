"""Excel workbooks: the sheet that holds a table, or sheets with one header, read row by row."""

import contextlib
import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.extras import require_extra
from shardkit.naming import IMAGE_ENDINGS, counted
from shardkit.sources.listing import ending
from shardkit.sources.tables.column_names import is_split, plain
from shardkit.sources.tables.formats.records import Record, TableFile, check_columns, enumerated
from shardkit.sources.tables.formats.values import shown
from shardkit.storage import Folder, os_errors_as

EXCEL_ENDINGS = (".xlsx", ".xlsm")
_NUM_ROWS = 50  # of each sheet, which decide where its table begins
_MAX_BYTES = 1 << 30  # 1 GiB of unpacked XML
_MAX_ROWS, _MAX_CELLS = 1 << 20, 1 << 14  # of a sheet and of a row: Excel's own limits
_MAX_TEXTS = 1 << 22  # 4,194,304 different texts: openpyxl keeps all of them in memory
_MAX_TEXT_BYTES = 1 << 20  # 1 MiB without a tag: Excel allows 32,767 characters in a cell
_MAX_SETTINGS_BYTES = 16 << 20  # 16 MiB, of each other part: openpyxl keeps it in memory, at ten times the size
_BLOCK = 1 << 18  # 256 KiB are unpacked at once
_TAG = re.compile(rb"<(?:[\w.-]+:)?(?:(row)|(c)|(si))[\s/>]")
_LONGEST_TAG = 64  # bytes of a tag that may be cut by the end of a block
_ERRORS = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"})


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that holds a table.

    Attributes:
        name: Its name.
        header_row: Number of the row of column names, from 1.
        cells: Indexes of the columns in the sheet.
    """

    name: str
    header_row: int
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExcelFile(TableFile):
    """A sheet of a workbook, or several with the same columns, whose names are one more column then.

    Attributes:
        sheets: The sheets. The rows of several are counted through all of them.
        is_only: Whether no other sheet holds anything.
    """

    format_name: ClassVar[str] = "Excel"
    holds_text: ClassVar[bool] = False

    sheets: tuple[Sheet, ...]
    is_only: bool

    @property
    def remark(self) -> str:
        """See TableFile."""
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
                for last, row in _rows(book[sheet.name], sheet.header_row + 1):
                    values = [row[i] if i < len(row) else None for i in sheet.cells]
                    extra = next(
                        (value for i, value in enumerate(row) if value is not None and i > sheet.cells[-1]), None
                    )
                    if extra is not None:
                        yield Record(above + last, (), f"it holds {shown(extra)} to the right of the table's columns")
                    elif any(value is not None for value in values):
                        yield Record(above + last, [*values, *named], None)

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """See TableFile; cells hold no lists or objects."""
        return type_ is not None and not pa.types.is_string(type_)


_Rows = list[tuple[int, Sequence[Any]]]  # numbers and values


def open_excel(folder: Folder, path: str, known: frozenset[str]) -> ExcelFile:
    """Open the sheet of a workbook that holds a table: at least a row of column names and a record.

    Sheets with the same columns are one table. Of sheets with different ones, those that name images are it. Titles
    above the column names are skipped.

    Args:
        folder: The folder of the workbook.
        path: Path of the workbook.
        known: Usual names of columns of images in the form of `plain`.

    Raises:
        DataError: No sheet holds a table, or several do.
        MissingExtraError: openpyxl is not installed.
    """
    url = f"{folder.url}/{path}"
    with os_errors_as("read the table", url), folder.open(path) as file, _damage_as_sentence(url):
        _refuse_large(zipfile.ZipFile(file), url)
    with _opened(folder, path) as book:
        names = [name for name in book.sheetnames if _has_rows(book[name])]
        starts = {name: list(islice(_rows(book[name], 1), _NUM_ROWS)) for name in names}
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
    return ExcelFile(folder, path, columns, tuple(used), sum(map(bool, starts.values())) == len(used))


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


def _refuse_large(archive: zipfile.ZipFile, url: str) -> None:
    """Refuse a workbook that would take gigabytes: openpyxl holds a whole row, and all different texts.

    A row of six million cells is 340 kB of a workbook. All parts are counted: a part may have any name.

    Raises:
        DataError: It would; the message has the limit.
    """
    num_bytes = sum(info.file_size for info in archive.infolist())
    if num_bytes > _MAX_BYTES:
        size = counted(num_bytes >> 20, "MiB")
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


def _has_rows(sheet: Any) -> bool:
    return hasattr(sheet, "iter_rows")  # a sheet may be a chart


def _rows(sheet: Any, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the number and the values of each row that is not empty."""
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
        return None if value in _ERRORS or not value.strip() else value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return value


@contextlib.contextmanager
def _opened(folder: Folder, path: str) -> Iterator[Any]:
    """Open a workbook; damaged ones raise DataError, also while rows are read."""
    url = f"{folder.url}/{path}"
    require_extra("excel", f"{url}: reading Excel")
    import openpyxl  # type: ignore[import-untyped]

    with os_errors_as("read the table", url), folder.open(path) as file, _damage_as_sentence(url):
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()


@contextlib.contextmanager
def _damage_as_sentence(url: str) -> Iterator[None]:
    """Raise the errors that the libraries raise for a damaged workbook as DataError."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        RuntimeError,
        ValueError,
        TypeError,
        SyntaxError,
        EOFError,
    ) as error:
        if isinstance(error, DataError):
            raise
        msg = f"{url}: this is not an Excel workbook, or a damaged one: {shown(str(error))}; save it again, or as CSV"
        raise DataError(msg) from error
