"""JSON Lines tables: one object per line."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.sources.tables.formats.lines import Line, read_lines
from shardkit.sources.tables.formats.records import (
    MAX_COLUMNS,
    PREFIX_RECORDS,
    Record,
    TableFile,
    first_repeated,
    refuse_many_columns,
    shown,
)
from shardkit.sources.tables.formats.values import kinds_of_value, type_of_kinds
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class JsonLinesFile(TableFile):
    """A text file of JSON objects, whose names are the columns."""

    format_name: ClassVar[str] = "JSON Lines"
    holds_text: ClassVar[bool] = False

    def parts(self) -> list[int]:
        """Return one part, because lines have to be counted."""
        return [0]

    def records(self, part: int, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        """See TableFile; empty lines are skipped."""
        known = set(self.columns)
        for number, found in _objects(read_lines(self.folder, self.path)):
            if isinstance(found, str):
                yield Record(number, (), found)
                continue
            if not known.issuperset(found) and (others := [name for name in found if name not in known]):
                yield Record(number, (), f"it names {shown(others[0])} besides {len(known):,} columns; put it into one")
                continue
            yield Record(number, [found.get(name) for name in self.columns], None)

    def types(self, records: Iterable[Record], columns: Iterable[int]) -> dict[int, pa.DataType | None]:
        """See TableFile; the types of the values."""
        kinds: dict[int, set[str]] = {i: set() for i in columns}
        for record in records:
            if record.problem is None:
                for i, found in kinds.items():
                    found.update(kinds_of_value(record.values[i]))
        return {i: type_of_kinds(found) for i, found in kinds.items()}

    def may_widen(self, type_: pa.DataType | None) -> bool:
        """See TableFile; a column of text may still get an object."""
        return type_ is not None


_MAX_COLUMNS = 1000  # with more columns the names are data, such as each line's image: later lines add none


class _NamedTwiceError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = f"it names {shown(first_repeated(name for name, _ in pairs))} twice"
        raise _NamedTwiceError(msg)
    return found


_NO_OBJECT = 'it is not a JSON object such as {"image": "a.jpg", "label": "cat"}'
# Created once: json.loads creates one per call if it gets a hook.
_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _objects(lines: Iterator[Line]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the number of each line that is not blank, and its object or what is wrong with it."""
    for number, text, problem in lines:
        if problem:
            yield number, problem
        elif not text.isspace():
            yield number, _parse(text)


def _parse(text: str) -> dict[str, Any] | str:
    try:
        found = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair cannot be stored
    except _NamedTwiceError as error:
        return str(error)
    except UnicodeEncodeError:
        return "it holds half a surrogate pair, which is no character"
    except json.JSONDecodeError as error:
        return f"it is not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "its JSON is nested too deeply"
    except ValueError:  # Python refuses integers of thousands of digits
        return "it holds a number that is too long"
    if not isinstance(found, dict):
        return _NO_OBJECT
    return found if len(found) <= MAX_COLUMNS else f"it names {len(found):,} columns, more than {MAX_COLUMNS:,}"


def open_json_lines(folder: Folder, path: str) -> JsonLinesFile:
    """Open a JSON Lines file, and find its columns in all lines: a name in a single line is a column too.

    Raises:
        DataError: None of the first lines is an object with columns, or they name too many.
    """
    url = f"{folder.url}/{path}"
    columns: dict[str, None] = {}
    problems: list[str] = []
    objects = _objects(read_lines(folder, path))
    for number, found in islice(objects, PREFIX_RECORDS):
        if isinstance(found, str):
            problems.append(f"line {number}: {found}")
        else:
            columns.update(dict.fromkeys(found))
            refuse_many_columns(url, len(columns))
    for _, found in objects if columns else ():
        if len(columns) < _MAX_COLUMNS and not isinstance(found, str):
            columns.update(dict.fromkeys(found))
    if not columns:
        msg = (
            f"{url}: no line of the table can be read as a JSON object with columns; {(problems or ['it is empty'])[0]}"
        )
        raise DataError(msg)
    return JsonLinesFile(folder, path, tuple(columns))
