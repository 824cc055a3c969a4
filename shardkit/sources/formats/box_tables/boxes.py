"""Read one record of a table of boxes."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.formats.box_tables.columns import BoxColumns, BoxForm
from shardkit.sources.formats.record import ONE_CLASS, number
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord

# Fractions reach a little beyond 1 in tables that were converted; a box of pixels is wider.
LARGEST_FRACTION = 2.0
_MIN_SHARE = 0.1  # of a table's first boxes that tell what four numbers are
_NAMES = ("xmin", "ymin", "xmax", "ymax")
_LIST_FORMS = {BoxForm.LIST, BoxForm.LIST_OF_CORNERS, BoxForm.LIST_OF_SIZE}
_BETWEEN = re.compile(r"[\[\](){},;\s]+")
_NOTHING = {"", "nan", "none", "null", "na", "n/a"}


class TableBox(NamedTuple):
    """The box of a record."""

    label: str
    ymin: float  # in the table's unit, as the others
    xmin: float
    ymax: float
    xmax: float


def has_box(values: Sequence[Any], columns: BoxColumns) -> bool:
    """Return whether a record has a coordinate; one without any says that the image has no box."""
    return not all(_is_empty(value) for value in coordinates(values, columns))


def coordinates(values: Sequence[Any], columns: BoxColumns) -> Sequence[Any]:
    """Return the coordinates of a record as written, x and y in turn."""
    if columns.form in _LIST_FORMS:
        given = values[columns.xs[0]]
        # Brackets and separators differ: [1, 2, 3, 4], (1 2 3 4), 1;2;3;4.
        return _BETWEEN.sub(" ", given).split() if isinstance(given, str) else list(given or ())
    return [values[i] for pair in zip(columns.xs, columns.ys, strict=True) for i in pair]


def list_form(rows: Sequence[Sequence[Any]], columns: BoxColumns) -> BoxForm | None:
    """Return what the four numbers of a list are, from some records; None if they may be either.

    Many boxes are narrower than they are far from the left: as corners, these would be exchanged. As sizes, many boxes
    of corners would reach beyond the image, if the table has its width and height. A few such boxes may be errors.
    """
    boxes = [(values, list(map(number, coordinates(values, columns)))) for values in rows]
    boxes = [(values, box) for values, box in boxes if len(box) == len(_NAMES)]
    num_sizes = sum(right <= left or bottom <= top for _, (left, top, right, bottom) in boxes)
    num_corners = 0
    for values, (x, y, right, bottom) in boxes if columns.size else ():
        width, height = (number(values[i]) for i in columns.size or ())
        num_corners += x + right > width + 1 or y + bottom > height + 1
    enough = max(1, _MIN_SHARE * len(boxes))
    if (num_sizes >= enough) == (num_corners >= enough):
        return None
    return BoxForm.LIST_OF_SIZE if num_sizes >= enough else BoxForm.LIST_OF_CORNERS


def read_box(values: Sequence[Any], columns: BoxColumns, *, is_fraction: bool) -> TableBox:
    """Return a record's box."""
    label = ONE_CLASS if columns.label is None else label_text(values[columns.label])
    if not label:
        msg = "the box has no class; add it, or remove the record"
        raise BadRecord(BAD_ANNOTATION, msg)
    ymin, xmin, ymax, xmax = _sides(values, columns)
    if is_fraction and max(abs(ymin), abs(xmin), abs(ymax), abs(xmax)) > LARGEST_FRACTION:
        msg = (
            f"the box (xmin, ymin, xmax, ymax) = ({xmin:g}, {ymin:g}, {xmax:g}, {ymax:g}) is not in fractions of the "
            "image's sides, as the table's first boxes are"
        )
        raise BadRecord(BAD_BOX, msg)
    if not is_fraction and xmax <= 1 and ymax <= 1 and not (xmax.is_integer() and ymax.is_integer()):
        msg = (
            f"the box (xmin, ymin, xmax, ymax) = ({xmin:g}, {ymin:g}, {xmax:g}, {ymax:g}) is smaller than one "
            "pixel; it may be in fractions, but the first boxes of the table are in pixels"
        )
        raise BadRecord(BAD_BOX, msg)
    return TableBox(label, ymin, xmin, ymax, xmax)


def _sides(values: Sequence[Any], columns: BoxColumns) -> tuple[float, float, float, float]:
    """Return ymin, xmin, ymax, xmax as written; corners are not exchanged, so that wrong ones are found."""
    if columns.form is BoxForm.OUTLINE:
        across = [number(values[i]) for i in columns.xs if not _is_empty(values[i])]
        down = [number(values[i]) for i in columns.ys if not _is_empty(values[i])]
        if len(across) == len(down) == 2:
            return _finite(values, columns, (down[0], across[0], down[1], across[1]))
        if len(across) != len(down) or len(across) < 2:
            msg = f"a box needs x and y of two or four corners; found {len(across)} x and {len(down)} y"
            raise BadRecord(BAD_BOX, msg)
        return _finite(values, columns, (min(down), min(across), max(down), max(across)))
    found = coordinates(values, columns)
    if len(found) != len(_NAMES):
        msg = f"a box needs {len(_NAMES)} numbers; found {len(found)}"
        raise BadRecord(BAD_BOX, msg)
    x0, y0, x1, y1 = map(number, found)
    if columns.form in {BoxForm.SIZE, BoxForm.LIST_OF_SIZE}:
        x1, y1 = x0 + x1, y0 + y1
    elif columns.form is BoxForm.CENTRE:
        x0, x1, y0, y1 = x0 - x1 / 2, x0 + x1 / 2, y0 - y1 / 2, y0 + y1 / 2
    return _finite(values, columns, (y0, x0, y1, x1))


def _finite(
    values: Sequence[Any], columns: BoxColumns, sides: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    if not all(map(math.isfinite, sides)):
        found = ", ".join(map(shown, coordinates(values, columns)))
        msg = f"the coordinates of a box must be finite numbers; found {found}"
        raise BadRecord(BAD_BOX, msg)
    return sides


def label_text(value: Any) -> str:
    """Return the name of a class: whole numbers without their fraction; '' for none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value).strip()


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))
