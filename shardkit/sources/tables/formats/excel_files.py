"""Excel workbooks: the sheet that holds a table, read row by row."""

import contextlib
import datetime as dt
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.extras import require_extra
from shardkit.naming import counted
from shardkit.sources.tables.formats.records import Record, TableFile, check_columns, shown
from shardkit.sources.tables.formats.values import kinds_of_value, type_of_kinds
from shardkit.storage import Folder, os_errors_as

EXCEL_ENDINGS = (".xlsx", ".xlsm")
_MAX_BYTES = 1 << 30  # 1 GiB of unpacked XML: openpyxl keeps all different texts in memory
_ERRORS = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"})


@dataclass(frozen=True, slots=True)
class ExcelFile(TableFile):
    """A sheet of a workbook.

    Attributes:
        sheet: Name of the sheet.
        is_only: Whether no other sheet holds anything.
        header_row: Number of the row of column names, from 1.
        cells: Indexes of the columns in the sheet.
    """

    format_name: ClassVar[str] = "Excel"
    holds_text: ClassVar[bool] = False

    sheet: str
    is_only: bool
    header_row: int
    cells: tuple[int, ...]

    @property
    def remark(self) -> str:
        """See TableFile."""
        return "" if self.is_only else f"sheet {self.sheet!r}; "

    def parts(self) -> list[int]:
        """Return one part: a sheet is one compressed stream."""
        return [0]

    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; empty rows are skipped, and formulas have the values that Excel stored."""
        with _opened(self.folder, self.path) as book:
            for line, row in _rows(book[self.sheet], self.header_row + 1):
                values = [row[i] if i < len(row) else None for i in self.cells]
                extra = next((value for i, value in enumerate(row) if value is not None and i > self.cells[-1]), None)
                if extra is not None:
                    yield Record(line, (), f"it holds {shown(extra)} to the right of the table's columns")
                elif any(value is not None for value in values):
                    yield Record(line, values, None)

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """See TableFile; the types of the values."""
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        for record in records:
            if record.problem is None:
                for i, found in kinds.items():
                    found.update(kinds_of_value(record.values[i]))
        return {i: type_of_kinds(found) for i, found in kinds.items()}

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """See TableFile; cells hold no lists or objects."""
        return type_ is not None and not pa.types.is_string(type_)


def open_excel(folder: Folder, path: str) -> ExcelFile:
    """Open the sheet of a workbook that holds a table: at least a row of column names and a record.

    Raises:
        DataError: No sheet holds a table, or several do.
        MissingExtraError: openpyxl is not installed.
    """
    url = f"{folder.url}/{path}"
    with _opened(folder, path) as book:
        starts = {name: list(islice(_rows(book[name], 1), 2)) for name in book.sheetnames if _has_rows(book[name])}
    tables = {name: rows for name, rows in starts.items() if len(rows) == 2}
    if len(tables) != 1:
        names = ", ".join(map(repr, tables))
        found = f"the sheets {names} hold tables; save the one that you mean as CSV" if tables else "the table is empty"
        raise DataError(f"{url}: {found}")
    [(sheet, [(line, header), _])] = tables.items()
    cells = tuple(i for i, value in enumerate(header) if value is not None)
    columns = check_columns(url, [str(header[i]).strip() for i in cells])
    return ExcelFile(folder, path, columns, sheet, sum(map(bool, starts.values())) == 1, line, cells)


def _has_rows(sheet: Any) -> bool:
    return hasattr(sheet, "iter_rows")  # a sheet may be a chart


def _rows(sheet: Any, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the number and the values of each row that is not empty."""
    sheet.reset_dimensions()  # some programs store wrong ones
    for line, row in enumerate(sheet.iter_rows(min_row=first, values_only=True), first):
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

    with os_errors_as("read the table", url), folder.open(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                num_bytes = sum(info.file_size for info in archive.infolist())
            if num_bytes > _MAX_BYTES:
                size = counted(num_bytes >> 20, "MiB")
                msg = f"{url}: the workbook unpacks to {size}, more than {_MAX_BYTES >> 20:,}; save it as CSV"
                raise DataError(msg)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            try:
                yield book
            finally:
                book.close()
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError, EOFError) as error:
            if isinstance(error, DataError):
                raise
            msg = (
                f"{url}: this is not an Excel workbook, or a damaged one: {shown(str(error))}; save it again, or as CSV"
            )
            raise DataError(msg) from error
