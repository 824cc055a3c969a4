"""Read the first records of files about many images, wherever a file may hold them."""

import itertools
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError  # for its name only; defusedxml parses

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from shardkit.sources.formats.inferred.trees import LINES, TABLES, as_lists, kind_of, records, tree_of, with_name
from shardkit.sources.json_stream import member_items
from shardkit.sources.recognising.detection.found_files import read_records
from shardkit.storage import Folder, os_errors_as

NUM_RECORDS = 200  # from which the fields are inferred
_NUM_EVENTS = 2_000  # elements of XML that are looked at
_DEPTHS = (2, 3)  # of records in XML: children of the outermost element, or of one of its children
_MANY = 2


def record_lists(folder: Folder, path: str) -> Iterator[tuple[str | None, list[Any]]]:
    """Yield the first records of each place in a file that may hold them, the outermost last.

    The place is what `trees.records` takes.
    """
    kind = kind_of(path)
    if kind in {*LINES, *TABLES, ".txt"}:
        yield "", _first(folder, path, "")
    elif kind == ".xml":
        yield from ((place, _first(folder, path, place)) for place in _places_in_xml(folder, path))
    else:
        members = _json_members(folder, path) if kind == ".json" else _yaml_members(folder, path)
        if None in members:
            yield "", members[None]
            return
        yield from members.items()
        yield None, _first(folder, path, None)


def _first(folder: Folder, path: str, inside: str | None) -> list[Any]:
    found = read_records(folder, path, partial(records, kind=kind_of(path), inside=inside))
    return [record for _, record in itertools.islice(found, NUM_RECORDS)]


def _json_members(folder: Folder, path: str) -> dict[str | None, list[Any]]:
    """Return the first records of each member of a JSON file's object; those of its array by None."""
    made: dict[str | None, list[Any]] = {}
    with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
        if _starts_with_array(file):
            return {None: _first(folder, path, "")}
    found = read_records(folder, path, _members)
    for member, name, value in itertools.islice(found, 4 * NUM_RECORDS):
        some = made.setdefault(member, [])
        if len(some) < NUM_RECORDS:
            some.append(with_name(name, value))
    return made


def _members(file: BinaryIO, url: str) -> Iterator[tuple[str, str | None, Any]]:
    return member_items(file, url, json.JSONDecoder())


def _starts_with_array(file: BinaryIO) -> bool:
    return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _yaml_members(folder: Folder, path: str) -> dict[str | None, list[Any]]:
    tree = tree_of(folder.read(path), kind_of(path))
    if not isinstance(tree, dict):
        return {None: tree[:NUM_RECORDS] if isinstance(tree, list) else []}
    made: dict[str | None, list[Any]] = {}
    for member, value in tree.items():
        named = value.items() if isinstance(value, dict) else ((None, one) for one in value if isinstance(value, list))
        made[member] = [with_name(*one) for one in itertools.islice(named, NUM_RECORDS)]
    return made


def _places_in_xml(folder: Folder, path: str) -> list[str]:
    """Return the names of elements that repeat in the beginning of an XML file, with those above them."""
    counts: dict[str, int] = {}
    opened: list[str] = []
    with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
        try:
            events = iterparse(file, events=("start", "end"), forbid_dtd=True)
            for event, element in itertools.islice(events, _NUM_EVENTS):
                if event == "end":
                    opened.pop()
                    continue
                opened.append(element.tag.rpartition("}")[2])
                if len(opened) in _DEPTHS:
                    place = "/".join(opened[1:])
                    counts[place] = counts.get(place, 0) + 1
        except (DefusedXmlException, ParseError, LookupError, ValueError):  # the last two: of its encoding
            return []
    return [place for place, count in counts.items() if count >= _MANY]


def other_members(folder: Folder, path: str, inside: str | None) -> Any:
    """Return the members of a file without its records, such as the names of its classes; {} if it has none."""
    kind = kind_of(path)
    if kind == ".json" and inside:
        made: dict[str, list[Any]] = {}
        for member, name, value in read_records(folder, path, _members):
            if member != inside:
                made.setdefault(member, []).append((name, value))
        return as_lists({member: _joined(found) for member, found in made.items()})
    if kind in {".yaml", ".yml"}:
        tree = tree_of(folder.read(path), kind)
        return {name: value for name, value in tree.items() if name != inside} if isinstance(tree, dict) else {}
    return {}


def _joined(found: list[tuple[str | None, Any]]) -> Any:
    return [value for _, value in found] if found[0][0] is None else dict(found)
