"""JSON tables: one object per line, a list of objects, or an object of labels by image."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.formats.tables.json_shapes import IMAGE, LABEL, JsonShape, json_shape, shaped_records
from shardkit.sources.formats.tables.lines import READ_BYTES, Line, read_lines
from shardkit.sources.formats.tables.records import (
    MAX_COLUMNS,
    PREFIX_RECORDS,
    Record,
    TableFile,
    TablePart,
    first_repeated,
    refuse_many_columns,
)
from shardkit.sources.formats.tables.text_pieces import RecordRule, TextPiece, divide_text
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.json_stream import top_level_items
from shardkit.sources.walking import ending
from shardkit.storage import Folder, os_errors_as

JsonForm: TypeAlias = Literal["lines"] | JsonShape  # one object a line, or all in one value


@dataclass(frozen=True, slots=True)
class JsonTable(TableFile):
    """A file of JSON objects, whose names are the columns: in lines, or in another form."""

    form: JsonForm = "lines"

    @property
    def format_name(self) -> str:
        return "JSON Lines" if self.form == "lines" else "JSON"

    def divided(self, part: int) -> Sequence[TablePart]:
        """See TableFile; lines in pieces of about 8 MiB: where another element begins follows from all before it."""
        rule = RecordRule(lambda lines: (line.number for line in lines), lambda _: True)
        return (divide_text(self.folder, self.path, rule) if self.form == "lines" else []) or [part]

    def records(self, part: TablePart, wanted: frozenset[int] | None = None) -> Iterator[Record]:
        known = set(self.columns)
        for number, found in self.objects(part):
            if isinstance(found, str):
                yield Record(number, (), found)
                continue
            if not known.issuperset(found) and (others := [name for name in found if name not in known]):
                yield Record(number, (), f"it names {shown(others[0])} besides {len(known):,} columns; put it into one")
                continue
            yield Record(number, [found.get(name) for name in self.columns], None)

    def objects(self, part: TablePart = 0) -> Iterator[tuple[int, dict[str, Any] | str]]:
        """Yield the number of each line or record of a part, and its object or what is wrong with it."""
        if isinstance(part, TextPiece):
            lines = part.lines(self.folder, self.path)
            return _objects(takewhile(lambda line: not part.ends_before(line.number), lines))
        if self.form == "lines":
            return _objects(read_lines(self.folder, self.path))
        records = shaped_records(self.folder, self.path, self.form, _DECODER)
        return ((number, _checked(record)) for number, record in enumerate(records, 1))

    def may_widen(self, type_: pa.DataType | None) -> bool:
        return type_ is not None  # a column of text may still get an object


_FIRST_NAME = re.compile(rb'\{\s*"((?:[^"\\]|\\.)*)"\s*:')
# pandas' orient="columns" (the default) or "index"; "split"; and "table".
_OTHER_PANDAS = re.compile(
    rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"0"\s*:|\{\s*"0"\s*:\s*\{|\{\s*"columns"\s*:\s*\[|\{\s*"schema"\s*:\s*\{\s*"fields"'
)
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
    for number, text, problem in lines:
        if problem:
            yield number, problem
        elif not text.isspace():
            yield number, _parse(text)


def _parse(text: str) -> dict[str, Any] | str:
    try:
        found = _DECODER.decode(text)
        return _checked(found, may_have_surrogates="\\u" in text)
    except _NamedTwiceError as error:
        return str(error)
    except json.JSONDecodeError as error:
        return f"it is not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "its JSON is nested too deeply"
    except ValueError:  # Python refuses integers of thousands of digits
        return "it holds a number that is too long"


def _checked(found: Any, *, may_have_surrogates: bool = True) -> dict[str, Any] | str:
    if may_have_surrogates:
        try:
            json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair cannot be stored
        except UnicodeEncodeError:
            return "it holds half a surrogate pair, which is no character"
        except RecursionError:
            return "its JSON is nested too deeply"
    if not isinstance(found, dict):
        return _NO_OBJECT
    return found if len(found) <= MAX_COLUMNS else f"it names {len(found):,} columns, more than {MAX_COLUMNS:,}"


def open_json(folder: Folder, path: str, form: JsonForm | None = None) -> JsonTable:
    """Open a JSON file, and find its columns in all records: a name in a single one is a column too."""
    kind = form or json_kind(folder, path)
    if kind == "images":
        return JsonTable(folder, path, (IMAGE, LABEL), kind)
    if kind is None or kind == "pandas":
        msg = (
            f'{folder.url}/{path}: a table in JSON is a list of objects, [{{"image": "a.jpg", "label": "cat"}}, …], or '
            'an object of labels by image, {"a.jpg": "cat", …}; in pandas, write it with to_json(…, orient="records")'
        )
        raise DataError(msg)
    file = JsonTable(folder, path, (), kind)
    return replace(file, columns=_columns(file, "line" if kind == "lines" else "element"))


def _columns(file: JsonTable, unit: str) -> tuple[str, ...]:
    columns: dict[str, None] = {}
    problems: list[str] = []
    objects = file.objects()
    for number, found in islice(objects, PREFIX_RECORDS):
        if isinstance(found, str):
            problems.append(f"{unit} {number}: {found}")
        else:
            columns.update(dict.fromkeys(found))
            refuse_many_columns(file.url, len(columns))
    for _, found in objects if columns else ():
        if len(columns) < _MAX_COLUMNS and not isinstance(found, str):
            columns.update(dict.fromkeys(found))
    if not columns:
        why = (problems or ["it is empty"])[0]
        msg = f"{file.url}: no {unit} of the table can be read as a JSON object with columns; {why}"
        raise DataError(msg)
    return tuple(columns)


def json_kind(folder: Folder, path: str) -> JsonForm | Literal["pandas"] | None:
    """Return which table a .json file is, from its first records; None if it is none, such as COCO's object.

    "pandas" is a table in a form that is not read: columns or rows by their index.
    """
    url = f"{folder.url}/{path}"
    with os_errors_as("read the table", url), folder.open(path) as file:
        start = file.read(READ_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()
        if start.startswith(b"["):
            return "list"
        if _OTHER_PANDAS.match(start):
            return "pandas"
        lines = [line for line in start.splitlines() if line.strip()][:2]
        if (
            len(lines) == 2
            and lines[1].startswith(b"{")
            and isinstance(_parse(lines[0].decode("utf-8", "replace")), dict)
        ):
            return "lines"
        # The first name is looked at before its value is parsed: COCO's may be a list of gigabytes.
        name = _FIRST_NAME.match(start)
        if name is not None and ending(name[1].decode("utf-8", "replace")) in IMAGE_ENDINGS:
            file.seek(0)
            first = islice(top_level_items(file, url, _DECODER), PREFIX_RECORDS)
            if all(name and ending(name) in IMAGE_ENDINGS and not isinstance(value, dict) for name, value in first):
                return "images"
    return json_shape(folder, path, _DECODER)
