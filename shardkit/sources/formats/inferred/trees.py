"""Read files of JSON, YAML, XML and text as trees: dicts, lists, and texts or numbers at their ends."""

import csv
import io
import itertools
import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError  # for their names only; defusedxml parses

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring, iterparse

from shardkit.errors import DataError
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.inferred.roles import Way
from shardkit.sources.formats.record import NUMBER
from shardkit.sources.formats.vendors.readers import json_of, lines, list_of
from shardkit.sources.json_stream import top_level_items
from shardkit.sources.walking import is_image

LINES = (".jsonl", ".ndjson")  # endings of files with a JSON value in each line
NAME = "(name)"  # the field of a record whose name in an object is the image's
LINE = "line"  # the field of a text's lines
BOX = "(box)"  # the field of a box in a list of boxes
TABLES = (".csv", ".tsv")
_MAX_TAGS = 24 * MAX_OBJECTS  # as elements these take about 100 MiB
_MAX_YAML = 64 << 20  # 64 MiB, which is read at once
_BRACKETS = re.compile(r"[()\[\]{}\"']")
_BETWEEN = re.compile(r"\s*[,;\t|]\s*")
_COMMENTS = ("%", "#", "//")
_IS_BBGT = "bbGt version=3"  # the first line of texts of Piotr's Computer Vision Matlab Toolbox, with these fields
_BBGT = (
    *("class", "left", "top", "width", "height", "occluded"),
    *("seen left", "seen top", "seen width", "seen height", "ignore", "direction"),
)
_NUM_SIDES = 4
_NO_BOX = re.compile(r"no[_ -]?(?:box|bbox|object)(?:e?s)?", re.IGNORECASE)
_ONE_BOX = re.compile(r"[0-9.]+(?: [0-9.]+){3}")
_NUMBERED = re.compile(r"(?P<name>.*?)[-_ ]?[0-9]+")


def tree_of(data: bytes, kind: str) -> Any:
    """Return the tree of a file by its ending, or why it cannot be parsed; a phrase that begins with ``it``."""
    if kind == ".xml":
        return _tree_of_xml(data)
    if kind == ".json":
        found = json_of(data)
        return found if isinstance(found, str) else as_lists(found)
    if kind in {".yaml", ".yml"}:
        return _tree_of_yaml(data)
    rows = [row for _, row in rows_of(io.BytesIO(data), kind)]
    if rows and [*rows[0].values()] == [str(len(rows) - 1)]:  # the number of the other lines
        del rows[0]
    return {LINE: rows} if len(rows) <= MAX_OBJECTS else f"it has {len(rows):,} lines, more than {MAX_OBJECTS:,}"


def rows_of(file: BinaryIO, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a text with their lines' numbers, the fields by the names of a table or by their numbers."""
    text = io.TextIOWrapper(file, "utf-8-sig", errors="backslashreplace", newline="")
    rows: Iterator[tuple[int, list[str]]]
    names: list[str] | None = None
    first = text.readline()
    if kind in TABLES:
        delimiter = max("\t,;|", key=first.count)
        reader = csv.reader(itertools.chain([first], text), delimiter=delimiter)
        rows = ((reader.line_num, [field.strip() for field in row]) for row in reader)
    else:
        names = list(_BBGT) if _IS_BBGT in first else None
        lines = enumerate(itertools.chain([first], text), 1)
        plain = ((number, line) for number, line in lines if not line.startswith(_COMMENTS))
        rows = ((number, fields_of(line)) for number, line in plain if line.strip())
    for number, row in rows:
        if names is None:
            is_header = kind in TABLES and not any(NUMBER.fullmatch(one) or is_image(one) for one in row)
            names = [name.lstrip("#") for name in row] if is_header else []
            if is_header:
                continue
        if any(row):
            every = [*names, *(f"field {place}" for place in range(len(names) + 1, len(row) + 1))]
            yield number, dict(zip(every, map(_boxes, row), strict=False))


def _boxes(field: str) -> Any:
    """Return the boxes of a field such as ``1 2 3 4;5 6 7 8``, or of one that says that there are none."""
    if ";" in field or _NO_BOX.fullmatch(field):
        boxes = [one.split() for one in field.split(";") if one.strip()]
        if all(len(one) == _NUM_SIDES and all(map(NUMBER.fullmatch, one)) for one in boxes):
            return [{BOX: one} for one in boxes]
        return [] if _NO_BOX.fullmatch(field) else field
    return [{BOX: field.split()}] if _ONE_BOX.fullmatch(field) else field


def fields_of(line: str) -> list[str]:
    """Return the fields of a line of text; brackets around numbers mean nothing."""
    plain = _BRACKETS.sub(" ", line).strip(" ,;\t|\r\n")
    fields = _BETWEEN.split(plain)
    return [field.strip() for field in fields] if len(fields) > 1 else plain.split()


def _tree_of_xml(data: bytes) -> Any:
    if (num_tags := data.count(b"<")) > _MAX_TAGS:
        return f"it has {num_tags:,} tags, more than {_MAX_TAGS:,}"
    try:
        return as_lists({"": tree_of_element(fromstring(data, forbid_dtd=True))})[""]
    except DefusedXmlException:
        return "it declares a document type or entities; remove the <!DOCTYPE …>"
    except ParseError as error:
        return f"it is not XML: {error}"
    except (LookupError, ValueError) as error:  # an encoding that Python or expat does not support
        return f"its encoding cannot be read: {error}"


def _tree_of_yaml(data: bytes) -> Any:
    import yaml  # it takes 20 ms

    if len(data) > _MAX_YAML:
        return f"it has {len(data):,} bytes, more than {_MAX_YAML:,}"
    try:
        # The base loader makes text, lists and mappings only, because a class may be called ``no``.
        return as_lists(yaml.load(data, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)))  # noqa: S506
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        return f"it is not YAML: {error}"


def tree_of_element(element: Element) -> Any:
    """Return the tree of an XML element: its attributes and children by name; its text if it has neither."""
    members: dict[str, list[Any]] = {name: [text] for name, text in element.attrib.items()}
    for child in element:
        if isinstance(child.tag, str):  # no comment
            members.setdefault(child.tag.rpartition("}")[2], []).append(tree_of_element(child))
    text = (element.text or "").strip()
    if not members:
        return text
    if text:
        members[""] = [text]
    return {name: values[0] if len(values) == 1 else values for name, values in members.items()}


def as_lists(value: Any) -> Any:
    """Return a tree with lists in place of numbered members, such as ``{"0": {…}}`` or ``item1``, ``item2``."""
    if isinstance(value, list):
        if value and all(map(_is_box, value)):
            return [{BOX: one} for one in value]
        return [as_lists(one) if isinstance(one, dict | list) else one for one in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, one in _joined(value).items():
        numbered = _NUMBERED.fullmatch(name) if isinstance(one, dict) else None
        if numbered is None:
            made[name] = as_lists(one) if isinstance(one, dict | list) else one
        else:
            made.setdefault(f"{numbered['name']} 1, 2, …".strip(), []).append(as_lists(one))
    return next(iter(made.values())) if len(made) == 1 and "1, 2, …" in made else made


def _is_box(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == _NUM_SIDES and not any(isinstance(one, dict | list) for one in value)
    )


def _joined(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with one list of objects in place of a list of boxes and the lists of what belongs to them."""
    name = next((name for name, one in value.items() if isinstance(one, list) and one and all(map(_is_box, one))), None)
    if name is None:
        return value
    others = [
        other
        for other, one in value.items()
        if other != name and isinstance(one, list) and len(one) == len(value[name]) and not any(map(_is_box, one))
    ]
    objects = [{BOX: box, **{other: value[other][at] for other in others}} for at, box in enumerate(value[name])]
    return {**{other: one for other, one in value.items() if other not in others}, name: objects}


def elements(file: BinaryIO, url: str, way: Way) -> Iterator[tuple[int, Any]]:
    """Yield the numbered trees of the elements that names lead to from a file's outermost element."""
    opened: list[Element] = []
    number = 0
    try:
        for event, element in iterparse(file, events=("start", "end"), forbid_dtd=True):
            if event == "start":
                opened.append(element)
                continue
            opened.pop()
            if tuple(one.tag.rpartition("}")[2] for one in (*opened[1:], element)) == way:
                number += 1
                yield number, as_lists(tree_of_element(element))
            if 0 < len(opened) <= len(way):
                opened[-1].remove(element)  # the file may have millions
    except DefusedXmlException:
        msg = f"{url}: it declares a document type or entities; remove the <!DOCTYPE …>"
        raise DataError(msg) from None
    except (ParseError, LookupError, ValueError) as error:  # the last two for an encoding that expat does not support
        msg = f"{url}: it is not XML that can be read: {error}; correct the file"
        raise DataError(msg) from None


def records(file: BinaryIO, url: str, kind: str, inside: str | None) -> Iterator[tuple[int, Any]]:
    """Yield the numbered records of a file about many images.

    `inside` is the member that holds the records; '' for the file's own array, None for its own object.
    """
    if kind == ".xml":
        yield from elements(file, url, tuple((inside or "").split("/")))
        return
    if kind in {*TABLES, ".txt"}:
        yield from rows_of(file, kind)
        return
    if kind in LINES:
        yield from ((number, as_lists(value)) for number, value in lines(file, url))
        return
    found: Iterator[tuple[str | None, Any]]
    if kind == ".json":
        found = top_level_items(file, url, json.JSONDecoder())
    else:
        tree = tree_of(file.read(), kind)
        if isinstance(tree, str):
            msg = f"{url}: {tree}; correct the file"
            raise DataError(msg)
        found = iter(tree.items()) if isinstance(tree, dict) else ((None, one) for one in tree)
    yield from enumerate(_inside(found, inside), 1)


def _inside(found: Iterator[tuple[str | None, Any]], inside: str | None) -> Iterator[Any]:
    for name, value in found:
        if inside is None or name is None:
            yield with_name(name, value)
        elif name == inside:
            named = value.items() if isinstance(value, dict) else ((None, one) for one in list_of(value))
            yield from (with_name(*one) for one in named)


def with_name(name: str | None, value: Any) -> Any:
    """Return a record with its name in an object as a field."""
    tree = as_lists(value)
    if name is None:
        return tree
    return {NAME: name, **tree} if isinstance(tree, dict) else {NAME: name, "(value)": tree}


def kind_of(path: str) -> str:
    """Return the ending of a file, in lower case; that of JSON for GeoJSON."""
    return posixpath.splitext(path)[1].lower().replace(".geojson", ".json")
