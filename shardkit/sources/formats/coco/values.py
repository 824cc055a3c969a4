"""Values of COCO's JSON: ids, sizes, areas, and outlines that are kept as text."""

import json
import re
from collections.abc import Hashable
from typing import Any

from shardkit.sources.formats.record import number

_LONG = 200  # characters of a wrong value that a message shows
_INT64 = range(-(2**63), 2**63)
_NUMBERS = re.compile(r"[-+.0-9eE,\[\]]*")
_encode = json.JSONEncoder(separators=(",", ":")).encode


def is_int64(value: Any) -> bool:
    """Return whether a value is an integer of 64 bits."""
    return type(value) is int and value in _INT64


def identity(value: Any) -> Hashable | None:
    """Return an id as images and annotations are joined by it; None if it is none."""
    # pandas writes the integers of a column with gaps as 17.0.
    if type(value) is str and value.endswith(".0"):
        return int(value[:-2]) if value[:-2].isdecimal() else value
    return value if type(value) in {int, str} else None


def area(value: Any, of_box: float) -> float:
    """Return an area; that of the box for anything else."""
    area = number(value)
    return area if area - area == 0 else of_box  # as pycocotools does for results


def json_text(value: Any) -> str:
    """Return the value as JSON, with its numbers as written; '' for None."""
    if value is None:
        return ""
    text = _list_text(value) if type(value) is list else ""
    return text if text and _NUMBERS.fullmatch(text) else _encode(value)


def _list_text(values: list[Any]) -> str:
    # Numbers are kept as text, so here they are written without quotes; _json_text checks that all values are numbers.
    if values and type(values[0]) is list:
        return f"[{','.join([_list_text(one) if type(one) is list else str(one) for one in values])}]"
    return f"[{','.join(map(str, values))}]"


def shown(value: Any) -> str:
    """Return a value as messages show it."""
    text = json_text(value) if type(value) is list else json.dumps(value)
    return text if len(text) <= _LONG else text[:_LONG] + "…"
