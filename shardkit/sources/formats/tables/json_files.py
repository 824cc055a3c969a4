"""JSON whose elements or members hold the records of a table, in the shapes that pandas and data loaders write.

[{"image": "1.jpg", …}, …]                                  list
{"1.jpg": "cat", …}                                         images
{"cat": ["1.jpg", "2.jpg"], "dog": […]}                    classes
{"train": ["1.jpg", …], "val": […]}                         splits
{"version": 1, "data": [{"image": "1.jpg", …}, …]}          records, also of several splits
{"labels": [["1.jpg", 0], …]}                               pairs: StyleGAN; of several splits: CoOp
{"1.jpg": {"label": "cat", …}, …}                           details
{"classes": ["cat", …], "labels": {"1": 0, …}}              numbered: FiftyOne
{"image_names": ["1.jpg", …], "image_labels": [0, …], …}    columns: filelists of few-shot learning
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice, takewhile
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.formats.tables.lines import READ_BYTES, read_lines
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
from shardkit.sources.json_stream import member_items, top_level_items
from shardkit.sources.walking import ending
from shardkit.storage import Folder, os_errors_as

JsonShape = Literal["list", "images", "classes", "splits", "records", "pairs", "details", "numbered", "columns"]
IMAGE, LABEL, SPLIT = "image", "label", "split"
_PAIR = (IMAGE, LABEL, "label_name")  # of each record; CoOp has the number and the name
_SAMPLE = 500  # values that decide
_MIN_SHARE = 0.9  # of strings that are file names
_MAX_BYTES = 64 << 20  # 64 MiB of a file that is read as a whole


def json_shape(folder: Folder, path: str, decoder: json.JSONDecoder) -> JsonShape | None:
    """Return in which shape a JSON object holds records, from its beginning; None if it does not."""
    try:
        found = list(islice(_items(folder, path, decoder, member_items), _SAMPLE))
    except DataError:
        return None
    members = dict.fromkeys(member for member, _, _ in found)
    if not found or {"images", "annotations", "categories"} & members.keys():
        return None
    in_arrays = [(member, value) for member, name, value in found if name is None]
    values = [value for _, value in in_arrays]
    if len(in_arrays) == len(found) and _are_names(values):
        if all(map(split_of_folder, members)):
            return "splits"  # of stems, or of files of boxes, as well
        if _are_files(values):
            return "classes"
    if {"classes", "labels"} <= members.keys() or (next(iter(members)) == "classes" and _are_names(values)):
        of_labels = [value for member, name, value in found if member == "labels" and name is not None]
        return "numbered" if of_labels and all(value is None or type(value) is int for value in of_labels) else None
    if pairs := [value for value in values if isinstance(value, list)]:
        is_pair = all(len(pair) in {2, len(_PAIR)} and isinstance(pair[0], str) for pair in pairs)
        return "pairs" if is_pair and _are_files([pair[0] for pair in pairs]) else None
    if any(isinstance(value, dict) for value in values):
        holding = {member for member, value in in_arrays if isinstance(value, dict)}
        return "records" if len(holding) == 1 or all(map(split_of_folder, holding)) else None
    if values:
        is_text = [member for member in members if _are_files([v for m, v in in_arrays if m == member])]
        return "columns" if len(is_text) == 1 and len(members) > 1 else None
    is_detail = _are_files(list(members)) and all(not isinstance(value, dict | list) for _, _, value in found)
    return "details" if is_detail else None


def shaped_records(folder: Folder, path: str, shape: JsonShape, decoder: json.JSONDecoder) -> Iterator[Any]:
    """Yield the records of a JSON file; elements of a list may be none."""
    items = partial(_items, folder, path, decoder)
    if shape in {"list", "images"}:
        for name, value in items(top_level_items):
            yield value if name is None else {IMAGE: name, LABEL: value}
    elif shape == "columns":
        yield from _of_arrays(folder, path)
    elif shape == "details":
        for image, members in groupby(items(member_items), key=lambda one: one[0]):
            yield {IMAGE: image, **{name: value for _, name, value in members if name not in {None, IMAGE}}}
    else:
        yield from _of_members(items(member_items), shape)


def _of_members(items: Iterator[tuple[str, str | None, Any]], shape: JsonShape) -> Iterator[dict[str, Any]]:
    class_names: list[Any] = []
    for member, name, value in items:
        if shape in {"classes", "splits"}:
            yield {IMAGE: value, LABEL if shape == "classes" else SPLIT: member}
        elif shape == "numbered":
            if member == "classes":
                class_names.append(value)
            elif member == "labels" and name is not None:
                is_known = type(value) is int and 0 <= value < len(class_names)
                yield {IMAGE: name, LABEL: class_names[value] if is_known else value}
        elif name is None and isinstance(value, dict if shape == "records" else list):
            record: dict[str, Any] = dict(value if shape == "records" else zip(_PAIR, value, strict=False))
            yield record if split_of_folder(member) is None else {**record, SPLIT: member}


def _items(folder: Folder, path: str, decoder: json.JSONDecoder, read: Callable[..., Iterator[Any]]) -> Iterator[Any]:
    with os_errors_as("read the table", url := folder.url_of(path)), folder.open(path) as file:
        yield from read(file, url, decoder)


def _of_arrays(folder: Folder, path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of arrays of one length; a shorter array has the names of the classes."""
    with os_errors_as("read the table", folder.url_of(path)):
        content = json.loads(folder.read_at_most(path, _MAX_BYTES))
    arrays = [value for value in content.values() if isinstance(value, list)]
    length = max(map(len, arrays))
    others = [values for values in arrays if len(values) < length]
    names = others[0] if len(others) == 1 else []
    for row in zip(*(values for values in arrays if len(values) == length), strict=True):
        record: dict[str, Any] = {}
        for value in row:
            is_class = type(value) is int and 0 <= value < len(names)
            title = IMAGE if isinstance(value, str) and ending(value) in IMAGE_ENDINGS else LABEL
            record.setdefault(title, names[value] if is_class else value)
        yield record


def _are_files(values: list[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    num_files = sum(ending(text) in IMAGE_ENDINGS for text in texts)
    return bool(values) and num_files >= _MIN_SHARE * len(values)


def _are_names(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)


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
        if self.form == "lines":
            lines = read_lines(self.folder, self.path)
            if isinstance(part, TextPiece):
                own = part.lines(self.folder, self.path)
                lines = takewhile(lambda line: not part.ends_before(line.number), own)
            return (
                (number, problem or _parse(text)) for number, text, problem in lines if problem or not text.isspace()
            )
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


# Created once: json.loads creates one per call if it gets a hook.
_DECODER = json.JSONDecoder(object_pairs_hook=_object)


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
        return 'it is not a JSON object such as {"image": "a.jpg", "label": "cat"}'
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
    why = ""
    objects = file.objects()
    for number, found in islice(objects, PREFIX_RECORDS):
        if isinstance(found, str):
            why = why or f"{unit} {number}: {found}"
        else:
            columns.update(dict.fromkeys(found))
            refuse_many_columns(file.url, len(columns))
    for _, found in objects if columns else ():
        if len(columns) < _MAX_COLUMNS and not isinstance(found, str):
            columns.update(dict.fromkeys(found))
    if not columns:
        msg = f"{file.url}: no {unit} of the table can be read as a JSON object with columns; {why or 'it is empty'}"
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
        are_two = len(lines) == 2 and lines[1].startswith(b"{")
        if are_two and isinstance(_parse(lines[0].decode("utf-8", "replace")), dict):
            return "lines"
        # The first name is looked at before its value is parsed: COCO's may be a list of gigabytes.
        name = _FIRST_NAME.match(start)
        if name is not None and ending(name[1].decode("utf-8", "replace")) in IMAGE_ENDINGS:
            file.seek(0)
            first = islice(top_level_items(file, url, _DECODER), PREFIX_RECORDS)
            if all(name and ending(name) in IMAGE_ENDINGS and not isinstance(value, dict) for name, value in first):
                return "images"
    return json_shape(folder, path, _DECODER)
