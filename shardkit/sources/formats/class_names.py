"""Read files that name classes: by their numbers, or by the pixels of masks.

0 cat / cat 0 / cat            a name a line, with or without its number
{"0": "cat"} / {"cat": 0} / ["cat"]    the same in JSON
label_colors.txt    64 128 64<tab>Animal               CamVid; class numbers are those of the lines, from 0
class_dict.csv      name,r,g,b / Animal,64,128,64      Kaggle's copies of CamVid, DeepGlobe and others
labelmap.txt        Animal:64,128,64::                 CVAT's export of masks
classes.json        {"classes": [{"title": "Animal", "color": "#408040"}]}   Supervisely
objectInfo150.txt   1<tab>0.1576<tab>…<tab>wall        ADE20K; grey masks, 0 is none of the classes
config_v1.2.json    {"labels": [{"readable": "Bird"}]} Mapillary Vistas; the masks have class numbers and a palette
"""

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.sources.formats.format import encodable
from shardkit.sources.formats.tables.csv_files import split_records
from shardkit.sources.formats.tables.lines import read_lines
from shardkit.sources.walking import file_or_folder, read_label_file, read_sample
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
    """Return the names in ``{"0": "cat", …}``, ``{"cat": 0, …}`` or ``["cat", …]``; () for another file."""
    try:
        content = json.loads(read_sample(folder, path, _MAX_BYTES) or b"")
    except (ValueError, RecursionError):
        return ()
    if isinstance(content, list) and all(isinstance(name, str) for name in content):
        content = {str(number): name for number, name in enumerate(content)}
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


ADE = "objectInfo150.txt"
_ADE_COLUMNS = 6
_MAX_CONFIG_BYTES = 1 << 20  # 1 MiB
_HEX = re.compile(r"#([0-9A-Fa-f]{6})")
_COLOURS_FIRST = re.compile(r"(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})[\s,]+(.*\S)")
_NAME_FIRST = re.compile(r"(.*\S)\s*[:,]\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?::.*)?")
_MAX_OF_MASK = 256  # a stored mask has 8 bits
_FIRST = 20  # lines that tell whether a file has colours


def read_class_names(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of classes by their number or code: ``3,cat``, or ``/m/011k07,Tortoise``."""
    names, first = names_by_number(folder, path)
    if names and first is not None:
        return {str(number): encodable(name) for number, name in enumerate(names, first) if name}
    records = split_records(read_lines(folder, path), ",", spaced=False)
    good = [one.values for one in records if one.problem is None and len(one.values) >= 2]
    if not good:
        what = "has no number before each name" if names else "names no classes"
        msg = f"{folder.url}/{path} {what}; write the number and the name of each in a line, such as 0,cat"
        raise DataError(msg)
    return {str(code).strip(): encodable(name.strip()) for code, name, *_ in good}


@dataclass(frozen=True, slots=True)
class Palette:
    """The classes of masks."""

    names: tuple[str, ...] = ()
    colours: str = ""  # colours by class number, as six hexadecimal digits each; '' if masks hold class numbers
    is_counted: bool = False  # whether lines without numbers have the names of class 0, 1, …


def read_palette(folder: Folder, path: str) -> Palette:
    """Return what the pixels of masks mean by a file."""
    entry = file_or_folder(folder, path)
    if entry is None or entry.is_folder:
        msg = f"{folder.url}: there is no file {printable(path)}, which the reading names"
        raise CallError(msg)
    names, first = names_by_number(folder, path)
    if posixpath.basename(path) == ADE:
        palette = _of_ade(folder, path)
    elif path.endswith(".json"):
        palette = Palette(_by_number(names, first)) if names else _of_json(folder, path)
    elif names and not _are_colours(folder, path):
        palette = Palette(_by_number(names, first), is_counted=first is None)
    else:
        palette = _with_colours(folder, path)
    if not palette.names:
        msg = f"{folder.url}/{path}: it names no classes of masks; correct it, or leave it out of the reading"
        raise DataError(msg)
    return palette


def _by_number(names: Sequence[str], first: int | None) -> tuple[str, ...]:
    """Return class names in the order of numbers; a number without a name is its name."""
    return tuple(name or str(number) for number, name in enumerate(("",) * (first or 0) + (*names,)))


def _are_colours(folder: Folder, path: str) -> bool:
    lines = [one.values[0] for one in islice(read_fields(folder, path, "\n"), _FIRST)]
    return any(_COLOURS_FIRST.fullmatch(line) or _NAME_FIRST.fullmatch(line) for line in lines)


def _of_ade(folder: Folder, path: str) -> Palette:
    lines = [one.values for one in read_fields(folder, path, "\t")]
    names = tuple(values[-1] for values in lines if len(values) == _ADE_COLUMNS and values[0].isdecimal())
    is_whole = len(names) == len(lines) - 1 and len(set(names)) == len(names) and "other" not in names
    return Palette(("other", *names)) if is_whole else Palette()


def _of_json(folder: Folder, path: str) -> Palette:
    entry = file_or_folder(folder, path)
    data = read_label_file(folder, path, entry.num_bytes if entry else 0, _MAX_CONFIG_BYTES)
    try:
        content = {} if isinstance(data, str) else json.loads(data)
    except (ValueError, RecursionError):
        content = {}
    classes_of = _of_supervisely if posixpath.basename(path) == "classes.json" else _of_vistas
    return classes_of(content, f"{folder.url}/{path}")


def _of_vistas(content: Any, url: str) -> Palette:
    try:
        lists = [tuple(encodable(label[key]) for label in content["labels"]) for key in ("readable", "name")]
    except (KeyError, TypeError, AttributeError):
        lists = []
    names = next((one for one in lists if 0 < len(one) == len(set(one)) <= _MAX_OF_MASK), None)
    if names is None:
        msg = (
            f"{url}: `labels` is no list of classes, {_MAX_OF_MASK} at most, each with a `readable` and "
            "a `name`; restore the file, or remove it to name the classes by their numbers"
        )
        raise DataError(msg)
    return Palette(names)


def _of_supervisely(content: Any, _: str) -> Palette:
    """Return the classes of a file of titles and colours; no classes if the file is about something else."""
    try:
        found = {encodable(one["title"]): _HEX.fullmatch(one["color"]) for one in content["classes"]}
        num = len(content["classes"])
    except (KeyError, TypeError, AttributeError):
        return Palette()
    colours = [match[1].lower() for match in found.values() if match]
    is_whole = 0 < len(colours) == len(set(colours)) == num <= _MAX_OF_MASK
    return Palette(tuple(found), "".join(colours)) if is_whole else Palette()


def _with_colours(folder: Folder, file: str) -> Palette:
    names, colours = [], []
    for fields in read_fields(folder, file, "\n"):
        line = fields.values[0]
        first = _COLOURS_FIRST.fullmatch(line)
        name_first = _NAME_FIRST.fullmatch(line)
        name, *numbers = (first[4], *first.groups()[:3]) if first else name_first.groups() if name_first else ("",)
        if not numbers and (fields.line == 1 or line.startswith("#")):
            continue  # a header
        place = f"{folder.url}/{file}, line {fields.line}"
        if fields.problem or len(numbers) < 3 or max(map(int, numbers)) > 255:
            msg = f"{place}: {printable(line[:100])!r} is not a colour and a class, such as '64 128 64 Animal'"
            raise DataError(msg)
        colour = "".join(f"{int(number):02x}" for number in numbers)
        if colour in colours or name in names:
            msg = f"{place}: the {'colour' if colour in colours else 'name'} is there twice; correct the file"
            raise DataError(msg)
        names.append(name)
        colours.append(colour)
        if len(names) > _MAX_OF_MASK:
            msg = f"{place}: there are more than {_MAX_OF_MASK} colours, the most that shardkit reads"
            raise DataError(msg)
    return Palette(tuple(names), "".join(colours))
