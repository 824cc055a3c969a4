"""Read files that name the numbers of classes: a name a line, with or without its number, or JSON."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.walking import read_sample
from shardkit.storage import Folder

_NUMBER_FIRST = re.compile(r"(\d+)(?:[:,;.]*\s+|[,;])\s*(\S.*?)\s*")
_NUMBER_LAST = re.compile(r"\s*(\S.*?)(?:[:,;]*\s+|[,;])\s*(\d+)")
_WNID = re.compile(r"n\d{8}")
_IN_LETTER_FOLDER = re.compile(r"/([a-z])/(\1.*)", re.IGNORECASE)  # Places365: /a/airfield
_MAX_CLASSES = 100_000
_MAX_BYTES = 16 << 20
_INTEGER = re.compile(r"\d{1,9}")


def names_by_number(folder: Folder, path: str) -> tuple[tuple[str, ...], int | None]:
    """Return the class names in a file and the number of the first, None if it has no numbers; () for another file."""
    return (names_in_json(folder, path), 0) if path.lower().endswith(".json") else read_names(folder, path)


def read_names(folder: Folder, path: str) -> tuple[tuple[str, ...], int | None]:
    """Return the names, and the number of the first one if the file has numbers without gaps."""
    lines = []
    for fields in read_fields(folder, path, "\n"):
        lines.append(fields.values[0])
        if len(lines) > _MAX_CLASSES:
            return (), None
    if all(_WNID.match(line) for line in lines):  # words are not unique: ImageNet has two cranes
        return tuple(line.split()[0] for line in lines), None
    numbered = [_numbered(line) for line in lines]
    if len(lines) > 1 and numbered[0] is None and None not in numbered[1:]:  # a header
        lines, numbered = lines[1:], numbered[1:]
    by_number = dict(one for one in numbered if one is not None)
    if lines and len(by_number) == len(lines) and max(by_number) - min(by_number) == len(lines) - 1:
        first = min(by_number)
        if names := _distinct([by_number[first + i] for i in range(len(lines))]):
            return names, first
        if all(line[0].isdigit() for line in lines):
            return (), None  # two classes of a name
    return _distinct(lines), None  # also of "level 1", "level 2"


def numbered_names(folder: Folder, path: str) -> dict[int, str]:
    """Return the names of the lines that have numbers, which may be equal."""
    lines = (_numbered(one.values[0]) for one in read_fields(folder, path, "\n"))
    return dict(one for one in lines if one is not None)


def _numbered(line: str) -> tuple[int, str] | None:
    """Return a line's number and name: ``0 cat``, ``0: cat``, ``0,cat``, ``cat 0`` or ``cat,0``."""
    if found := _NUMBER_FIRST.fullmatch(line):
        return int(found[1]), found[2]
    return (int(found[2]), found[1]) if (found := _NUMBER_LAST.fullmatch(line)) else None


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return the names, without the folders that Places365 sorts them in; () if two are equal."""
    matches = [_IN_LETTER_FOLDER.fullmatch(name) for name in names]
    plain = [match[2] for match in matches if match]
    found = plain if len(plain) == len(names) else names
    return tuple(found) if len(set(found)) == len(found) else ()


def names_in_json(folder: Folder, path: str) -> tuple[str, ...]:
    """Return the names in ``{"0": "cat", …}`` or ``{"cat": 0, …}``; () for another file."""
    try:
        content = json.loads(read_sample(folder, path, _MAX_BYTES) or b"")
    except (ValueError, RecursionError):
        return ()
    pairs = content.items() if isinstance(content, dict) else ()
    found = {}
    for key, value in pairs:
        if isinstance(value, str) and _INTEGER.fullmatch(key):
            found[int(key)] = value
        elif type(value) is int:
            found[value] = key
    names = tuple(found.get(number, "") for number in range(max(found, default=-1) + 1)) if len(found) > 1 else ()
    missing = len(names) - len(found)  # numbers from 1 lack 0
    is_good = len(found) == len(pairs) and missing <= 1 and len(set(names)) == len(names) and all(names[missing:])
    return names if is_good else ()


class Fields(NamedTuple):
    """The fields of a line, and why it cannot be used, or None."""

    line: int
    values: list[str]
    problem: str | None


def read_fields(folder: Folder, path: str, separator: str | None = None) -> Iterator[Fields]:
    """Yield the fields of each line that is not empty; without separator, they are between blanks."""
    for number, text, problem in read_lines(folder, path):
        if stripped := text.strip():
            yield Fields(number, [value.strip() for value in stripped.split(separator)], problem)
