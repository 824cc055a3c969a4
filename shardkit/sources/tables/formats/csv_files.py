"""CSV and TSV tables, with a header or, as AutoML and TFRecorder write them, without one."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import ClassVar

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, counted, relative_path_problem
from shardkit.sources.listing import ending
from shardkit.sources.tables.column_names import is_split, plain
from shardkit.sources.tables.formats.lines import MAX_LINE_BYTES, UTF_8, Line, encoding_of, read_lines
from shardkit.sources.tables.formats.records import PREFIX_RECORDS, Record, TableFile, TablePart, check_columns
from shardkit.sources.tables.formats.text_pieces import RecordRule, TextPiece, divide_text
from shardkit.sources.tables.formats.values import kind_of_text, shown, type_of_kinds
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder

_CHUNK_RECORDS = 8192  # records of which each different value is classified once
_DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)
_PANDAS_INDEX = re.compile(r"Unnamed: [0-9]+")  # an index that pandas wrote and read again
_DECIMAL_COMMA = re.compile(r"-?[0-9]+(?:,[0-9]+)?")
_WITH_SPLIT = ("split", "image_uri", "label")


@dataclass(frozen=True, slots=True)
class CsvFile(TableFile):
    """A text file of fields with a delimiter.

    Attributes:
        delimiter: Character between fields.
        num_skipped: Number of records before the data: Excel's ``sep=;``, and the names of the columns.
        spaced: Whether a blank after the delimiter is ignored.
        encoding: Encoding of the text; see `encoding_of`.
        decimals: Columns of numbers such as ``0,5``, which records have as ``0.5``.
        name_and_folder: The columns of an image's name, in which records have its path, and of its folder; or None.
    """

    format_name: ClassVar[str] = "CSV"
    holds_text: ClassVar[bool] = True

    delimiter: str
    num_skipped: int
    spaced: bool
    encoding: str = UTF_8
    decimals: tuple[int, ...] = ()
    name_and_folder: tuple[int, int] | None = None

    @property
    def remark(self) -> str:
        """See TableFile."""
        encoded = "" if self.encoding == UTF_8 else f"text in {self.encoding}, as Excel writes it on Windows; "
        if self.name_and_folder is None:
            return encoded
        name, folder = (self.columns[i] for i in self.name_and_folder)
        return f"{encoded}the folders of {name!r} from {folder!r}; "

    def divided(self, part: int) -> Sequence[TablePart]:
        """See TableFile; pieces of about 8 MiB."""
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
                yield self._converted(record) if self.decimals or self.name_and_folder else record

    def _converted(self, record: Record) -> Record:
        if record.problem is not None:
            return record
        values = list(record.values)
        for i in self.decimals:
            if _DECIMAL_COMMA.fullmatch(values[i]):
                values[i] = values[i].replace(",", ".")
        if self.name_and_folder is not None:
            name, folder = self.name_and_folder
            values[name] = _joined(values[folder], values[name])
        return record._replace(values=values)

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """See TableFile; inferred from the texts."""
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        good = (record.values for record in records if record.problem is None)
        while chunk := list(islice(good, _CHUNK_RECORDS)):
            for i, found in kinds.items():
                found.update(map(kind_of_text, {values[i] for values in chunk}))
        return {i: type_of_kinds(found) for i, found in kinds.items()}

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """See TableFile; no value can change a column of text."""
        return type_ is not None and not pa.types.is_string(type_)


@dataclass(frozen=True, slots=True)
class TsvFile(CsvFile):
    """A CSV file whose ending promises tabs."""

    format_name: ClassVar[str] = "TSV"


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


def open_csv(folder: Folder, path: str, *, tabs: bool, known: frozenset[str]) -> CsvFile:
    """Open a CSV or TSV file, and detect its delimiter and whether it has a header.

    Args:
        folder: The folder of the table.
        path: Path of the table.
        tabs: Whether the file's ending promises tabs.
        known: Names of columns in the form of `plain`; a header contains at least one.

    Raises:
        DataError: The file is empty, its first line cannot be read, or it is a record of a form that needs a header.
    """
    url = f"{folder.url}/{path}"
    encoding = encoding_of(folder, path)
    lines = read_lines(folder, path, encoding=encoding)
    first = next((line for line in lines if line.problem or line.text.strip()), None)
    if first is None:
        msg = f"{url}: the table is empty"
        raise DataError(msg)
    if first.problem:
        msg = f"{url}: line {first.number} cannot be read: {first.problem}"
        raise DataError(msg)
    if _is_comment(first.text, known):
        msg = (
            f"{url}: line {first.number} is a comment, {shown(first.text.strip())}; remove all comment lines, so that "
            "the table begins with the line that names its columns"
        )
        raise DataError(msg)
    declared = _SEPARATOR_LINE.fullmatch(first.text)
    if declared:  # Excel's way to name the delimiter
        first = next((line for line in lines if line.problem or line.text.strip()), first)
        delimiter = declared[1]
    else:
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
            f"{url}: the table has no header line: line {header.line} holds {shown(record)}, not a column name; "
            f"add a line above it that names its {len(names)} columns, such as image,label or {','.join(_WITH_SPLIT)}"
        )
        raise DataError(msg)
    columns = found or check_columns(url, ["" if _PANDAS_INDEX.fullmatch(name) else name for name in names])
    kind = TsvFile if tabs else CsvFile
    num_skipped = bool(declared) + (not found)
    file = kind(folder, path, columns, delimiter, num_skipped, spaced=spaced, encoding=encoding)
    file = replace(file, name_and_folder=_name_and_folder(file))
    return file if delimiter == "," else replace(file, decimals=_decimals(file))


def _joined(folder: str, name: str) -> str:
    above = folder.strip().replace("\\", "/").strip("/")
    return f"{above}/{name}" if above and name.strip() else name


def _name_and_folder(file: CsvFile) -> tuple[int, int] | None:
    """Return the columns File and RelativePath of Timelapse, if the first image is where they say."""
    names = list(map(plain, file.columns))
    if "file" not in names or "relativepath" not in names:
        return None
    found = names.index("file"), names.index("relativepath")
    first = next((one.values for one in file.records(0) if one.problem is None and one.values[found[0]].strip()), None)
    path = join(parent_of(file.path), _joined(first[found[1]], first[found[0]])) if first else ""
    entry = None if relative_path_problem(path) else file_or_folder(file.folder, path)
    return None if entry is None or entry.is_folder else found


def _decimals(file: CsvFile) -> tuple[int, ...]:
    """Return the columns whose first values are numbers with a comma for the point: no other delimiter needs commas."""
    records = [one.values for one in islice(file.records(0), PREFIX_RECORDS) if one.problem is None]
    found = []
    for i in range(len(file.columns)):
        values = [values[i] for values in records if values[i]]
        if values and all(map(_DECIMAL_COMMA.fullmatch, values)) and any("," in value for value in values):
            found.append(i)
    return tuple(found)


def _is_comment(text: str, known: frozenset[str]) -> bool:
    """Return whether a first line is a comment: ``# made by …``, not ``#file,label`` (columns) or ``#1.jpg,cat``."""
    words = text.strip().lstrip("#")
    fields = re.split(r"[,;\t|]", words)
    is_record = len(fields) > 1 and not words[:1].isspace() and any(map(_is_image, fields))
    return text.lstrip().startswith("#") and not is_record and not any(plain(field) in known for field in fields)


def _width(text: str, delimiter: str) -> int:
    """Return the number of fields of a header; 0 if its quotes exclude this delimiter."""
    try:
        return len(next(csv.reader([text], delimiter=delimiter, strict=True)))
    except csv.Error:
        return 0


def _columns_without_header(first: list[str], known: frozenset[str]) -> tuple[str, ...] | None:
    if any(plain(value) in known for value in first) and not any(map(_is_image, first)):
        return None
    if len(first) == len(_WITH_SPLIT) and is_split(first[0]):
        return _WITH_SPLIT
    if len(first) == len(_WITH_SPLIT) - 1 and any(map(_is_image, first)):
        return _WITH_SPLIT[1:] if _is_image(first[0]) else _WITH_SPLIT[:0:-1]
    return None


def _sign_of_record(first: list[str], known: frozenset[str]) -> str | None:
    """Return the value that shows that the first line is a record: a path, or a split among unusual names."""
    images = (value for value in first if _is_image(value))
    split = first[0] if is_split(first[0]) and not any(plain(value) in known for value in first) else None
    return next(images, split)


def _is_image(value: str) -> bool:
    return ending(value) in IMAGE_ENDINGS
