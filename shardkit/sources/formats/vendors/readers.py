"""The record of an image in such a file, and how the records of a file are read one after the other."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from shardkit.errors import DataError
from shardkit.sources.formats.record import Sides, is_finite
from shardkit.sources.json_stream import LONGEST, top_level_items

_DECODER = json.JSONDecoder()
_FIELDS_OF_ROW = 9  # of MOT: frame, object, left, top, width, height, flag, class, visibility
_FIELD = 16 << 20  # 16 Mi characters of a CSV field; an outline of many points is long
# Of a region in VIA's JSON, and the columns of its CSV.
_OF_REGION = (("shape_attributes", "region_shape_attributes"), ("region_attributes", "region_attributes"))


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

    `inside` is the member that holds them; '' for the file's own.
    """
    found = (value for name, value in top_level_items(file, url, _DECODER) if not inside or name == inside)
    yield from enumerate((one for value in found for one in list_of(value)) if inside else found, 1)


def members(file: BinaryIO, url: str, inside: str) -> Iterator[tuple[int, Any]]:
    """Yield the members of an object as numbered records: the name as `path`, the value as what holds them."""
    found = (value for name, value in top_level_items(file, url, _DECODER) if name == inside)
    named = (one for value in found for one in dict_of(value).items())
    yield from enumerate(({"path": name, inside: value} for name, value in named), 1)


def lines(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with one JSON value a line, with the lines' numbers; text for a line that is none."""
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
    """Yield VIA's CSV as its JSON has it: a row for each region, with JSON in fields; sorted rows may lie apart."""
    csv.field_size_limit(_FIELD)
    reader = csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", errors="backslashreplace", newline=""))
    numbered = ((reader.line_num, {str(name).lstrip("#"): text for name, text in row.items()}) for row in reader)
    try:
        images: dict[str | None, list[tuple[int, dict[str, str]]]] = {}
        for number, row in numbered:
            images.setdefault(row.get("filename"), []).append((number, row))
        for name, rows in images.items():
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


def json_of(data: bytes) -> Any:
    """Return the value of a JSON file, or why it cannot be parsed; a phrase that begins with ``it``."""
    try:
        return json.loads(data)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        return f"it is not JSON: {error}"
