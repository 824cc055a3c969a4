"""Open a CSV or TSV file: find its delimiter, the titles above its table, and whether a line names the columns."""

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from shardkit.errors import DataError
from shardkit.sources.formats.column_names import is_split, plain
from shardkit.sources.formats.tables.csv_files import DECIMAL_COMMA, CsvFile, split_records
from shardkit.sources.formats.tables.lines import Line, encoding_of, read_lines
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, check_columns
from shardkit.sources.formats.tables.text_files import invented_names, names_image, open_by_blanks
from shardkit.sources.formats.tables.values import shown
from shardkit.storage import Folder

_DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)
_PANDAS_INDEX = re.compile(r"Unnamed: [0-9]+")  # an index that pandas wrote and read again
_WITH_SPLIT = ("split", "image_uri", "label")
_NUM_LINES = 200  # that decide
_MAX_TITLES = 10  # lines above the names of the columns


def open_csv(folder: Folder, path: str, *, tabs: bool, known: frozenset[str]) -> CsvFile:
    """Open a CSV or TSV file.

    Titles and comments above a line of column names are skipped. Without such a line, columns have numbers, or the
    names of the forms that AutoML and TFRecorder write. Fields may have blanks between them.
    """
    url = f"{folder.url}/{path}"
    encoding = encoding_of(folder, path)
    read = islice(read_lines(folder, path, encoding=encoding), _NUM_LINES)
    lines = [line for line in read if line.problem or line.text.strip()]
    if not lines:
        msg = f"{url}: the table is empty"
        raise DataError(msg)
    num_titles = _num_titles(lines, known)
    first, *others = lines[num_titles:]
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
        first, *others = others or [first]
        delimiter = declared[1]
    else:
        delimiter = "\t" if tabs and "\t" in first.text else delimiter_of(first.text)
        by_blanks = None if num_titles or _width(first.text, delimiter) > 1 else open_by_blanks(folder, path, known)
        if by_blanks is not None:
            return by_blanks
    header, *records = split_records(iter([first, *others]), delimiter, spaced=False)
    if header.problem:
        msg = f"{url}: line {header.line} cannot be read: {header.problem}"
        raise DataError(msg)
    names = [name.strip() for name in header.values]
    rows = [[value.strip() for value in one.values] for one in records if one.problem is None]
    spaced = len(names) > 1 and all(name.startswith(" ") for name in header.values[1:])
    found = _columns_without_header(names, rows, known)
    if found is None and (record := _sign_of_record(names, known)):
        msg = (
            f"{url}: the table has no header line: line {header.line} holds {shown(record)}, not a column name; "
            f"add a line above it that names its {len(names)} columns, such as image,label or {','.join(_WITH_SPLIT)}"
        )
        raise DataError(msg)
    columns = found or check_columns(url, _with_unnamed(names, rows))
    num_skipped = num_titles + bool(declared) + (not found)
    file = CsvFile(folder, path, columns, delimiter, num_skipped, spaced=spaced, encoding=encoding)
    return file if delimiter == "," else replace(file, decimals=_decimals(file))


def delimiter_of(text: str) -> str:
    """Return the delimiter by which a line has most fields."""
    return max(_DELIMITERS, key=lambda one: _width(text, one))


def _num_titles(lines: Sequence[Line], known: frozenset[str]) -> int:
    """Return the number of first lines of a single field, or comments, above a line with usual names of columns."""
    for at, line in enumerate(lines[: _MAX_TITLES + 1]):
        delimiter = delimiter_of(line.text)
        names = [name.strip() for name in line.text.split(delimiter)]
        is_comment = line.text.lstrip().startswith("#")
        if not is_comment and sum(map(bool, names)) > 1 and any(plain(name.strip('"')) in known for name in names):
            return at if all(_is_title(one.text, delimiter) for one in lines[:at]) else 0
    return 0


def _is_title(text: str, delimiter: str) -> bool:
    """Return whether a line is a comment, or has one field that names no image and is no ``sep=;``."""
    fields = [field for field in text.strip().split(delimiter) if field.strip()]
    is_comment = text.lstrip().startswith("#")
    is_single = len(fields) == 1 and _SEPARATOR_LINE.fullmatch(text) is None
    return (is_comment or is_single) and not any(map(names_image, fields))


def _with_unnamed(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns; '' for an index of pandas, R's names of rows, and behind a last delimiter."""
    found = ["" if _PANDAS_INDEX.fullmatch(name) else name for name in names]
    if rows and all(len(row) == len(names) + 1 for row in rows):
        if not any(row[-1] for row in rows):
            return [*found, ""]
        if len({row[0] for row in rows}) == len(rows) and not any(names_image(row[0]) for row in rows):
            return ["", *found]
    return found


def _decimals(file: CsvFile) -> tuple[int, ...]:
    """Return the columns whose first values are numbers with a comma for the point: no other delimiter needs commas."""
    records = [one.values for one in islice(file.records(0), PREFIX_RECORDS) if one.problem is None]
    found = []
    for i in range(len(file.columns)):
        values = [values[i] for values in records if values[i]]
        if values and all(map(DECIMAL_COMMA.fullmatch, values)) and any("," in value for value in values):
            found.append(i)
    return tuple(found)


def _is_comment(text: str, known: frozenset[str]) -> bool:
    """Return whether a first line is a comment: ``# made by …``, not ``#file,label`` (columns) or ``#1.jpg,cat``."""
    words = text.strip().lstrip("#")
    fields = re.split(r"[,;\t|]", words)
    is_record = len(fields) > 1 and not words[:1].isspace() and any(map(names_image, fields))
    return text.lstrip().startswith("#") and not is_record and not any(plain(field) in known for field in fields)


def _width(text: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([text], delimiter=delimiter, strict=True)))
    except csv.Error:
        return 0


def _columns_without_header(
    first: list[str], rows: Sequence[Sequence[str]], known: frozenset[str]
) -> tuple[str, ...] | None:
    if any(plain(value) in known for value in first) and not any(map(names_image, first)):
        return None
    if len(first) == len(_WITH_SPLIT) and is_split(first[0]):
        return _WITH_SPLIT
    if len(first) == len(_WITH_SPLIT) - 1 and any(map(names_image, first)):
        return _WITH_SPLIT[1:] if names_image(first[0]) else _WITH_SPLIT[:0:-1]
    every = [first, *rows]
    of_images = (i for i in range(len(first)) if all(names_image(row[i]) for row in every))
    is_even = len(every) > 1 and all(len(row) == len(first) for row in every)
    return invented_names(every) if is_even and next(of_images, None) is not None else None


def _sign_of_record(first: list[str], known: frozenset[str]) -> str | None:
    """Return the value that shows that the first line is a record: a path, or a split among unusual names."""
    images = (value for value in first if names_image(value))
    split = first[0] if is_split(first[0]) and not any(plain(value) in known for value in first) else None
    return next(images, split)
