"""YOLO: a text file for each image, with boxes or polygons as fractions of its sides, and files that name its classes.

Options: `names` has the names of the classes, a line each, that of class 0 first, an empty line for none; '' to call
classes by their numbers. `keypoints` is the number of keypoint fields that follow each box; they are dropped.

Classes are named by data.yaml, which also has the paths of each split's images, or by a list of a name a line.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import yaml

from shardkit.errors import DataError
from shardkit.naming import counted
from shardkit.sources.formats.format import (
    ImageRecord,
    Object,
    Options,
    encodable,
    line_format,
    number_option,
    number_problem,
)
from shardkit.sources.formats.tables.records import first_repeated
from shardkit.sources.walking import file_or_folder, join, read_label_file
from shardkit.storage import Folder

CLASS_LISTS = ("classes.txt", "obj.names", "_darknet.labels")  # the last is Roboflow's
YAMLS = ("data.yaml", "data.yml", "dataset.yaml")
_MAX_BYTES = 16 << 20  # 16 MiB
_SHOWN = 80  # characters of a wrong value in a message
_SPLITS = {"train": "train", "val": "validation", "valid": "validation", "test": "test"}


@dataclass(frozen=True, slots=True)
class YoloData:
    """Content of the file."""

    names: tuple[tuple[int, str], ...]  # (index, name) of the classes, by index
    entries: tuple[tuple[str, str], ...]  # (split, path as written), in the order train, validation, test
    base: str  # `path` as written; '' if the file has none
    num_keypoint_fields: int  # number of keypoint fields that follow each box


def read_yaml(folder: Folder, path: str) -> YoloData:
    """Read the file. All values are text, because a class may be called ``no`` or ``1.0``."""
    url, text = f"{folder.url}/{path}", _text_in(folder, path, "a data.yaml of YOLO")
    try:
        # BaseLoader makes text, lists and mappings only; SafeLoader would turn some names into booleans.
        loaded = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is nested too deeply, or holds characters that YAML forbids"
        msg = f"{url}{where}: this is not YAML: {what}; correct the file"
        raise DataError(msg) from None
    if not isinstance(loaded, dict):
        msg = f"{url}: this is not a data.yaml of YOLO: expected a mapping with `names` and `train`"
        raise DataError(msg)
    entries = [(split, entry) for key, split in _SPLITS.items() for entry in _texts(loaded.get(key))]
    base = loaded.get("path")
    return YoloData(
        _names(loaded.get("names"), url),
        tuple(entries),
        base if isinstance(base, str) else "",
        _keypoint_fields(loaded.get("kpt_shape"), url),
    )


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one not in {"", "~", "null"}]


def _names(value: Any, url: str) -> tuple[tuple[int, str], ...]:
    pairs = list(enumerate(value)) if isinstance(value, list) else []
    if isinstance(value, dict) and all(isinstance(key, str) and key.isascii() and key.isdecimal() for key in value):
        pairs = sorted((int(key), name) for key, name in value.items())
    if not pairs or not all(isinstance(name, str) for _, name in pairs):
        msg = f"{url}: `names` must be a list of the names of classes, or map their indexes to them"
        raise DataError(msg)
    return checked_names(pairs, url)


def checked_names(pairs: list[tuple[int, str]], url: str) -> tuple[tuple[int, str], ...]:
    """Return the class names by index."""
    if twice := first_repeated(name for _, name in pairs):
        msg = f"{url}: two classes are called {twice!r}; give each class a different name"
        raise DataError(msg)
    return tuple((index, encodable(name)) for index, name in pairs)


def _keypoint_fields(value: Any, url: str) -> int:
    if value is None:
        return 0
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) and one.isdecimal() for one in value):
        return int(value[0]) * int(value[1])
    # With YAML aliases, a value of a few bytes can print as a billion.
    found = repr(value[:_SHOWN]) if isinstance(value, str) else f"a {type(value).__name__} of {len(value):,}"
    msg = f"{url}: `kpt_shape` must be two numbers, keypoints and values of each, such as [17, 3]; found {found}"
    raise DataError(msg)


def _text_in(folder: Folder, path: str, what: str) -> str:
    found = file_or_folder(folder, path)
    data = read_label_file(folder, path, found.num_bytes if found else 0, _MAX_BYTES)
    if isinstance(data, str):
        msg = f"{folder.url}/{path}: {data}; expected {what}"
        raise DataError(msg)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{folder.url}/{path}: byte {error.start + 1:,} is not UTF-8; save the file as UTF-8"
        raise DataError(msg) from None


def names_in(folder: Folder, path: str) -> tuple[tuple[int, str], ...]:
    """Read class names, one per line."""
    names = [line.strip() for line in _text_in(folder, path, "one class name a line").split("\n")]
    while names and not names[-1]:
        names.pop()
    if not names or not all(names):
        msg = f"{folder.url}/{path}: line {names.index('') + 1 if names else 1} is empty; expected a class name a line"
        raise DataError(msg)
    return checked_names(list(enumerate(names)), f"{folder.url}/{path}")


def read_class_file(folder: Folder, path: str) -> tuple[Mapping[int, str], int]:
    """Return the names of classes by number in a file, and the number of keypoint fields that follow each box."""
    if posixpath.splitext(path)[1].lower() in {".yaml", ".yml"}:
        data = read_yaml(folder, path)
        return dict(data.names), data.num_keypoint_fields
    return dict(names_in(folder, path)), 0


def class_files_in(folder: Folder, places: Iterable[str]) -> Iterator[str]:
    """Yield the usual files of class names in some folders."""
    for place in dict.fromkeys(places):
        for name in (*YAMLS, *CLASS_LISTS):
            if file_or_folder(folder, join(place, name)) is not None:
                yield join(place, name)


_MAX_LINE = 1 << 20  # 1 MiB: a polygon of 50,000 corners
_BOX = 5  # fields: class, centre x, centre y, width, height
_SHORTEST_POLYGON = 7  # fields: class and three corners
_INDEX = re.compile(r"([0-9]{1,9})(?:\.0*)?")  # numpy.savetxt writes a class as 0.0
_LINE = re.compile(r"[0-9]+(?:\.0*)?(?:\s+[0-9.eE+-]+){4,}")


def _are_lines(lines: list[str]) -> bool:
    return _LINE.fullmatch(lines[0]) is not None


def _object(line: str, record: ImageRecord, options: Options) -> Object | str:
    """Return the object of a line, or why it is bad.

    The box of a polygon encloses it; its `segmentation` is ``[[x, y, …]]`` as JSON, with the numbers as written. The
    `segmentation` of a box is ''.
    """
    if len(line) > _MAX_LINE:
        return f"the line has {len(line):,} bytes, more than {_MAX_LINE:,}"
    fields, names = line.split(), _names_by_number(options.get("names", ""))
    num_keypoint_fields = number_option(options, "keypoints")
    whole, coordinates = _INDEX.fullmatch(fields[0]), fields[1:]
    if not whole:
        return f"the class {fields[0][:_SHOWN]!r} is not an index of a class"
    index = int(whole[1])
    if names and index not in names:
        return f"there is no class {index} among the {counted(len(names), 'name')} of classes"
    name = names.get(index, str(index))
    if num_keypoint_fields:
        if len(fields) != _BOX + num_keypoint_fields:
            return f"{counted(len(fields), 'field')}, where a box and its keypoints are {_BOX + num_keypoint_fields}"
        coordinates = coordinates[: _BOX - 1]
    elif len(fields) != _BOX and (len(fields) < _SHORTEST_POLYGON or len(fields) % 2 == 0):
        return (
            f"{counted(len(fields), 'field')}, where a box is {_BOX} (class, centre x, centre y, width, height), "
            "and a polygon a class and three or more pairs of x and y"
        )
    if problem := number_problem(coordinates):
        return problem
    values = [*map(float, coordinates)]
    if len(values) == _BOX - 1:
        x, y, width, height = values
        box = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
        return {"bbox": box, "label_name": name, "segmentation": ""}
    across, down = values[::2], values[1::2]
    segmentation = f"[[{','.join(map(_json_number, coordinates))}]]"
    box = [min(down), min(across), max(down), max(across)]
    return {"bbox": box, "label_name": name, "segmentation": segmentation}


@lru_cache(maxsize=4)
def _names_by_number(text: str) -> Mapping[int, str]:
    return {index: encodable(name) for index, name in enumerate(text.split("\n")) if name}


def _json_number(text: str) -> str:
    # JSON has no +1, .5, 1. and 007.
    return text if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", text) else repr(float(text))


# `segmentation`: [[x, y, …]] as JSON, fractions of the image's sides; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)
YOLO = line_format(
    "yolo",
    "YOLO",
    _are_lines,
    _object,
    (0, 0),
    object_fields=_OBJECT_FIELDS,
    side_files=frozenset(CLASS_LISTS),
    numbers_classes=True,
    settings=frozenset({"keypoints", "numbers"}),
)
