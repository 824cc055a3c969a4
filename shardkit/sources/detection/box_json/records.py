"""The record of an image in such a file, and how the records of a file are read one after the other."""

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO

from shardkit.errors import DataError
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.detection.rows import Annotation, encodable
from shardkit.sources.json_stream import LONGEST, top_level_items
from shardkit.sources.listing import RecordProblem, count_skipped

ONE_CLASS = "object"  # the class of every box of a file without classes
_DECODER = json.JSONDecoder()
_MAX_SIDE = 2**31
_FIELDS_OF_ROW = 9  # of MOT: frame, object, left, top, width, height, flag, class, visibility
_FIELD = 16 << 20  # 16 Mi characters of a CSV field; an outline of many points is long
# Of a region in VIA's JSON, and the columns of its CSV.
_OF_REGION = (("shape_attributes", "region_shape_attributes"), ("region_attributes", "region_attributes"))
Sides = tuple[Any, Any, Any, Any]  # xmin, ymin, xmax, ymax


@dataclass(slots=True)
class JsonImage(Annotation):
    """What a file says about an image.

    Attributes:
        number: The record's number in the file, or that of its line, from 1.
        split: The split's name as written; '' for none.
        columns: Names of what gives classes to boxes: attributes of regions, or labelling jobs.
        bad: Why the record cannot be read; '' if it can.
        is_skipped: Whether the record says that nobody labelled the image.
    """

    number: int = 0
    split: str = ""
    columns: dict[str, None] = field(default_factory=dict)
    bad: str = ""
    is_skipped: bool = False

    def set_size(self, width: Any, height: Any) -> None:
        """Take the size in pixels that the boxes refer to, if it is one."""
        if all(isinstance(side, int) and 0 < side < _MAX_SIDE for side in (width, height)):
            self.size = width, height

    def add(self, name: str, label: Any, sides: Sides | None) -> None:
        """Add an object, or why it is bad.

        Args:
            name: The object's name in messages.
            label: Its class.
            sides: Its box; None if it has none that can be read.
        """
        if not isinstance(label, str | int) or isinstance(label, bool) or not str(label).strip():
            self._problem(name, BAD_ANNOTATION, "the box has no class; add it, or remove the box")
        elif sides is None or not all(map(is_finite, sides)):
            self._problem(name, BAD_BOX, "the coordinates of a box must be finite numbers")
        else:
            xmin, ymin, xmax, ymax = map(float, sides)
            self.objects.append(
                {"bbox": [ymin, xmin, ymax, xmax], "label_name": encodable(str(label).strip()), "name": name}
            )

    def leave_out(self, what: str) -> None:
        """Count a shape that is not read, by a phrase for the user."""
        count_skipped(self.left_out, what)

    def _problem(self, name: str, reason: str, message: str) -> None:
        self.problems.append(RecordProblem(f"record {self.number}, {name}", reason, message))


def is_finite(side: Any) -> bool:
    """Return whether a value of JSON is a finite number."""
    return isinstance(side, int | float) and not isinstance(side, bool) and abs(side) < math.inf


def dict_of(value: Any) -> dict[str, Any]:
    """Return a value if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the elements of an array or the values of an object; none for anything else."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def around(xs: Any, ys: Any) -> Sides | None:
    """Return the sides of the box around points; None if they are not points."""
    xs, ys = list_of(xs), list_of(ys)
    is_outline = xs and len(xs) == len(ys) and all(map(is_finite, [*xs, *ys]))
    return (min(xs), min(ys), max(xs), max(ys)) if is_outline else None


def items(file: BinaryIO, url: str, inside: str = "") -> Iterator[tuple[int, Any]]:
    """Yield the elements of a file's array or the values of its object, numbered.

    Args:
        file: The file.
        url: Its name in messages.
        inside: Name of the member that holds them; '' for the file's own.

    Raises:
        DataError: The file is not JSON.
    """
    found = (value for name, value in top_level_items(file, url, _DECODER) if not inside or name == inside)
    yield from enumerate((one for value in found for one in list_of(value)) if inside else found, 1)


def members(file: BinaryIO, url: str, inside: str) -> Iterator[tuple[int, Any]]:
    """Yield the members of an object as numbered records: the name as `path`, the value as the member that holds them.

    Args:
        file: The file.
        url: Its name in messages.
        inside: Name of the member that holds the object.

    Raises:
        DataError: The file is not JSON.
    """
    found = (value for name, value in top_level_items(file, url, _DECODER) if name == inside)
    named = (one for value in found for one in dict_of(value).items())
    yield from enumerate(({"path": name, inside: value} for name, value in named), 1)


def lines(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with one JSON value a line, with the lines' numbers; text for a line that is none."""
    del url
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if line.strip():
            try:
                yield number, json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield number, f"it is not JSON: {error}"


def rows_by_frame(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield MOT's rows by frame, in the order of frames: rows of one object follow each other; text for a bad line."""
    del url
    frames: dict[int, list[list[float]]] = {}
    for number, line in enumerate(file, 1):
        try:
            row = list(map(float, line.decode("ascii").split(",")))
        except ValueError:
            row = []
        if len(row) >= _FIELDS_OF_ROW and row[0].is_integer() and all(map(is_finite, row)):
            frames.setdefault(int(row[0]), []).append(row)
        elif line.strip():
            yield number, f"it is not {_FIELDS_OF_ROW} numbers with commas"
    for frame, rows in sorted(frames.items()):
        yield frame, {"frame": f"{frame:06}", "rows": rows}


def rows_by_image(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield VIA's CSV as its JSON has it: rows of one image follow each other, with JSON in fields.

    Raises:
        DataError: The file is not CSV.
    """
    csv.field_size_limit(_FIELD)
    reader = csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", errors="backslashreplace", newline=""))
    numbered = ((reader.line_num, {str(name).lstrip("#"): text for name, text in row.items()}) for row in reader)
    try:
        for name, group in groupby(numbered, lambda one: one[1].get("filename")):
            rows = list(group)
            regions = [{key: _json(row.get(column)) for key, column in _OF_REGION} for _, row in rows]
            found = [region for region in regions if region["shape_attributes"] != {}]
            about = _json(rows[0][1].get("file_attributes"))
            yield rows[0][0], {"filename": name, "file_attributes": about, "regions": found}
    except csv.Error as error:
        msg = f"{url}, line {reader.line_num}: this is not CSV: {error}; write the file again"
        raise DataError(msg) from None


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
