"""Names of the classes of integer labels, from a file next to the lists."""

import re
from collections.abc import Iterable

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.lists.records import read_fields
from shardkit.sources.walking import children, join
from shardkit.storage import Folder

# The usual names of such files, in any case: "classes.txt", "categories_places365.txt", UCF101's "classInd.txt".
_FILE = re.compile(
    r"(?:(?:[a-z]+[_-])?class(?:es)?|categor(?:y|ies)|labels?|synsets?|wnids|names)(?:[_-]?(?:names?|words|ind|index|list|map|places365))?\.txt",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"\d+")
_NUMBER_FIRST = re.compile(r"(\d+)(?:[:,.]*\s+|,)\s*(\S.*?)\s*")
_NUMBER_LAST = re.compile(r"\s*(\S.*?)(?:[:,]*\s+|,)\s*(\d+)")
_WNID = re.compile(r"n\d{8}")
_IN_LETTER_FOLDER = re.compile(r"/([a-z])/(\1.*)", re.IGNORECASE)  # Places365: /a/airfield
_MAX_CLASSES = 100_000


def is_names_file(name: str) -> bool:
    """Return whether a file has the name of a list of classes."""
    return _FILE.fullmatch(name) is not None


def find_class_names(folder: Folder, places: Iterable[str], labels: set[str]) -> tuple[tuple[str, ...], int, str]:
    """Return the names of integer labels.

    Args:
        folder: The folder of the lists.
        places: Folders in it that may have the file.
        labels: All labels of the lists.

    Returns:
        The names in label order, the label of the first one, and the file's path; (), 0 and '' if there is no such
        file.

    Raises:
        DataError: A file names the classes, but it does not say whether labels count from 0 or from 1, or lacks some.
    """
    if not labels or not all(map(_INTEGER.fullmatch, labels)):
        return (), 0, ""
    numbers = set(map(int, labels))
    for place in dict.fromkeys(places):
        for entry in children(folder, place):
            if not entry.is_folder and is_names_file(entry.name):
                path = join(place, entry.name)
                names, first = read_names(folder, path)
                if len(names) < 2:
                    continue
                if first is None:
                    first = first_label(f"{folder.url}/{path}", len(names), numbers)
                elif not numbers <= set(range(first, first + len(names))):
                    raise _unfit(f"{folder.url}/{path}", len(names), numbers)
                return names, first, path
    return (), 0, ""


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


def first_label(url: str, num_names: int, numbers: set[int]) -> int:
    """Return the number of the first name, 0 or 1.

    Raises:
        DataError: The numbers fit neither.
    """
    if 0 in numbers and max(numbers) < num_names:
        return 0
    if 0 not in numbers and max(numbers) == num_names:
        return 1
    raise _unfit(url, num_names, numbers)


def _unfit(url: str, num_names: int, numbers: set[int]) -> DataError:
    return DataError(
        f"{printable(url)}: it names {num_names:,} classes, and the labels of the lists are {min(numbers)} to "
        f"{max(numbers)}, so names and labels cannot be matched; write a number before each name, such as "
        f"'{min(numbers)} cat', or move the file away and use the labels as names"
    )
