"""Parse a KITTI label file: one object per line, of 15 fields, or 16 with a score.

The fields are those of KITTI's object development kit: type, truncated, occluded, alpha, the box (left, top, right,
bottom) in pixels, and seven numbers in three dimensions, which are not read.
"""

import math
import re

from shardkit.sources.detection.rows import Object, counted
from shardkit.sources.listing import MAX_OBJECTS

MAX_BYTES = 16 << 20  # 16 MiB for the labels of one image
DONT_CARE = "DontCare"  # regions without labels, not objects; TFDS leaves them out too
_FIELDS = (15, 16)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_SHOWN = 80  # characters of a bad field


def is_label_line(line: str) -> bool:
    """Return whether a line is an object of KITTI: a word and 14 or 15 numbers."""
    fields = line.split()
    return len(fields) in _FIELDS and not _NUMBER.fullmatch(fields[0]) and all(map(_NUMBER.fullmatch, fields[1:]))


def parse_labels(data: bytes) -> tuple[list[Object], list[tuple[int, str]], int] | str:
    """Return the objects of a label file, (line, what is wrong) of its bad lines, and the number of DontCare regions.

    If the file has more lines than an image may have objects, return a sentence instead.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if len(lines) > MAX_OBJECTS + 1:
        return f"it has {len(lines):,} lines, more than {MAX_OBJECTS:,}"
    objects, problems, num_ignored = list[Object](), list[tuple[int, str]](), 0
    for number, raw in enumerate(lines, 1):
        fields = raw.decode("utf-8", "replace").split()
        if not fields:
            continue
        if fields[0] == DONT_CARE:
            num_ignored += 1
            continue
        made = _parse(fields)
        if isinstance(made, str):
            problems.append((number, made))
        else:
            objects.append({**made, "name": f"line {number}"})
    return objects, problems, num_ignored


def _parse(fields: list[str]) -> Object | str:
    if len(fields) not in _FIELDS:
        return f"{counted(len(fields), 'field')}, where an object has {_FIELDS[0]}"
    for text in fields[1:]:
        if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            return f"{text[:_SHOWN]!r} is not a finite number"
    truncated, occluded, alpha, left, top, right, bottom = map(float, fields[1:8])
    return {
        "bbox": [top, left, bottom, right],
        "label_name": fields[0],
        "truncated": truncated,
        "occluded": int(occluded),
        "alpha": alpha,
    }
