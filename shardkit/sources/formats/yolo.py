"""YOLO: a text file for each image, with boxes or polygons as fractions of its sides.

Options: `names` has the names of the classes, a line each, that of class 0 first, an empty line for none; '' to call
classes by their numbers. `keypoints` is the number of keypoint fields that follow each box; they are dropped.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa

from shardkit.naming import counted
from shardkit.sources.formats.class_files import CLASS_LISTS
from shardkit.sources.formats.format import ImageRecord, Object, Options, encodable, number_option, number_problem
from shardkit.sources.formats.one_image import line_format

_MAX_LINE = 1 << 20  # 1 MiB: a polygon of 50,000 corners
_BOX = 5  # fields: class, centre x, centre y, width, height
_SHORTEST_POLYGON = 7  # fields: class and three corners
_SHOWN = 80  # characters of a bad line
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
    fields, names = line.split(), _names(options.get("names", ""))
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
def _names(text: str) -> Mapping[int, str]:
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
