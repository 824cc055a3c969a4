"""Parse a YOLO label file: one object per line, a class and a box or polygon as fractions of the image's sides."""

import re
from collections.abc import Mapping

from shardkit.sources.detection.rows import Object, counted, number_problem
from shardkit.sources.listing import MAX_OBJECTS

_MAX_LINE_BYTES = 1 << 20  # 1 MiB: a polygon of 50,000 corners
_BOX = 5  # fields: class, centre x, centre y, width, height
_SHORTEST_POLYGON = 7  # fields: class and three corners
_SHOWN = 80  # characters of a bad line
_INDEX = re.compile(r"([0-9]{1,9})(?:\.0*)?")  # numpy.savetxt writes a class as 0.0


def too_many(data: bytes) -> str | None:
    """Return why a label file has more lines than an image may have objects; None if it has not."""
    num_lines = data.count(b"\n")
    return f"it has {num_lines:,} lines, more than {MAX_OBJECTS:,}" if num_lines > MAX_OBJECTS else None


def parse_labels(
    data: bytes, names: Mapping[int, str], num_keypoint_fields: int = 0
) -> tuple[list[Object], list[tuple[int, str]]]:
    """Return the objects of a label file, and (line, what is wrong) of its bad lines.

    The box of a polygon encloses it; its `segmentation` is ``[[x, y, …]]`` as JSON, with the numbers as written. The
    `segmentation` of a box is ''.

    Args:
        data: Content of the file.
        names: Class names by index.
        num_keypoint_fields: Number of keypoint fields that follow each box; they are dropped.
    """
    objects, problems = list[Object](), list[tuple[int, str]]()
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if len(raw) > _MAX_LINE_BYTES:
            problems.append((number, f"the line has {len(raw):,} bytes, more than {_MAX_LINE_BYTES:,}"))
            continue
        fields = raw.decode("ascii", "replace").split()
        if not fields:
            continue
        made = _parse(fields, names, num_keypoint_fields)
        if isinstance(made, str):
            problems.append((number, made))
        else:
            objects.append({**made, "name": f"line {number}"})
    return objects, problems


def _parse(fields: list[str], names: Mapping[int, str], num_keypoint_fields: int) -> Object | str:
    whole, coordinates = _INDEX.fullmatch(fields[0]), fields[1:]
    if not whole:
        return f"the class {fields[0][:_SHOWN]!r} is not an index of a class"
    index = int(whole[1])
    if index not in names:
        return f"there is no class {index} among the {counted(len(names), 'name')} of classes"
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
        return {"bbox": box, "label_name": names[index], "segmentation": ""}
    across, down = values[::2], values[1::2]
    segmentation = f"[[{','.join(map(_json_number, coordinates))}]]"
    box = [min(down), min(across), max(down), max(across)]
    return {"bbox": box, "label_name": names[index], "segmentation": segmentation}


def _json_number(text: str) -> str:
    # JSON has no +1, .5, 1. and 007.
    return text if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", text) else repr(float(text))
