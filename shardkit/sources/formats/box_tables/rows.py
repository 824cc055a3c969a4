"""Read the box of a row, and decide from the first rows what its numbers are."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shardkit.errors import DataError
from shardkit.reject_reasons import BAD_BOX
from shardkit.sources.formats.box_tables.columns import OPEN_IMAGES, BoxColumns, BoxForm, usual_form
from shardkit.sources.formats.format import Options
from shardkit.sources.formats.shapes import number
from shardkit.sources.formats.tables.records import TableFile
from shardkit.sources.formats.tables.values import shown
from shardkit.sources.listing import BadRecord

# Fractions reach a little beyond 1 in tables that were converted; a box of pixels is wider.
_LARGEST_FRACTION = 2.0
_MIN_SHARE = 0.1  # of a table's first boxes that tell what four numbers are
_NUM_SIDES = 4
_LIST_FORMS = {BoxForm.LIST, BoxForm.LIST_OF_CORNERS, BoxForm.LIST_OF_SIZE}
_BETWEEN = re.compile(r"[\[\](){},;\s]+")
_NOTHING = {"", "nan", "none", "null", "na", "n/a"}

Values = Sequence[Any]  # of a row


def has_box(values: Values, columns: BoxColumns) -> bool:
    """Return whether a row has a coordinate; one without any says that the image has no box."""
    return not all(_is_empty(value) for value in _coordinates(values, columns))


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


def _coordinates(values: Values, columns: BoxColumns) -> Values:
    """Return the coordinates of a row as written, x and y in turn."""
    if columns.form in _LIST_FORMS:
        given = values[columns.xs[0]]
        # Brackets and separators differ: [1, 2, 3, 4], (1 2 3 4), 1;2;3;4.
        return _BETWEEN.sub(" ", given).split() if isinstance(given, str) else list(given or ())
    return [values[i] for pair in zip(columns.xs, columns.ys, strict=True) for i in pair]


def decided(file: TableFile, columns: BoxColumns, rows: Sequence[Values], options: Options) -> BoxColumns:
    """Return columns with the form of their boxes and whether these are fractions, by the first rows."""
    rows = [values for values in rows if has_box(values, columns)]
    if columns.form is BoxForm.LIST:
        form = list_form(rows, columns) or usual_form(file.columns)
        if form is None:
            msg = (
                f"{file.url}: the four numbers of {file.columns[columns.xs[0]]!r} may be xmin, ymin, xmax, ymax or x, "
                "y, width, height; write them into four columns with these names"
            )
            raise DataError(msg)
        columns = replace(columns, form=form)
    sides = [number(side) for values in rows for side in _coordinates(values, columns)]
    # No table of pixels has only boxes within the first two pixels.
    are_small = bool(sides) and all(abs(side) <= _LARGEST_FRACTION for side in sides if math.isfinite(side))
    is_known = options.get("kind") == OPEN_IMAGES or columns.form is BoxForm.OUTLINE
    return replace(columns, is_fraction=is_known or are_small)


def list_form(rows: Sequence[Values], columns: BoxColumns) -> BoxForm | None:
    """Return what the four numbers of a list are, from some rows; None if they may be either.

    Many boxes are narrower than they are far from the left: as corners, these would be exchanged. As sizes, many boxes
    of corners would reach beyond the image, if the table has its width and height. A few such boxes may be errors.
    """
    boxes = [(values, list(map(number, _coordinates(values, columns)))) for values in rows]
    boxes = [(values, box) for values, box in boxes if len(box) == _NUM_SIDES]
    num_sizes = sum(right <= left or bottom <= top for _, (left, top, right, bottom) in boxes)
    num_corners = 0
    for values, (x, y, right, bottom) in boxes if columns.size else ():
        width, height = (number(values[i]) for i in columns.size)
        num_corners += x + right > width + 1 or y + bottom > height + 1
    enough = max(1, _MIN_SHARE * len(boxes))
    if (num_sizes >= enough) == (num_corners >= enough):
        return None
    return BoxForm.LIST_OF_SIZE if num_sizes >= enough else BoxForm.LIST_OF_CORNERS


def sides_of(values: Values, columns: BoxColumns) -> tuple[float, float, float, float]:
    """Return ymin, xmin, ymax, xmax of a row's box, in the table's unit."""
    ymin, xmin, ymax, xmax = sides = _sides(values, columns)
    if not all(map(math.isfinite, sides)):
        found = ", ".join(map(shown, _coordinates(values, columns)))
        msg = f"the coordinates of a box must be finite numbers; found {found}"
        raise BadRecord(BAD_BOX, msg)
    if columns.is_fraction and max(map(abs, sides)) > _LARGEST_FRACTION:
        problem = "not in fractions of the image's sides, as the table's first boxes are"
    elif not columns.is_fraction and xmax <= 1 and ymax <= 1 and not (xmax.is_integer() and ymax.is_integer()):
        problem = "smaller than one pixel; it may be in fractions, but the first boxes of the table are in pixels"
    else:
        return sides
    msg = f"the box (xmin, ymin, xmax, ymax) = ({xmin:g}, {ymin:g}, {xmax:g}, {ymax:g}) is {problem}"
    raise BadRecord(BAD_BOX, msg)


def _sides(values: Values, columns: BoxColumns) -> tuple[float, float, float, float]:
    """Return the sides as written; corners are not exchanged, so that wrong ones are found."""
    if columns.form is BoxForm.OUTLINE:
        across = [number(values[i]) for i in columns.xs if not _is_empty(values[i])]
        down = [number(values[i]) for i in columns.ys if not _is_empty(values[i])]
        if len(across) == len(down) == 2:
            return down[0], across[0], down[1], across[1]
        if len(across) != len(down) or len(across) < 2:
            msg = f"a box needs x and y of two or four corners; found {len(across)} x and {len(down)} y"
            raise BadRecord(BAD_BOX, msg)
        return min(down), min(across), max(down), max(across)
    found = _coordinates(values, columns)
    if len(found) != _NUM_SIDES:
        msg = f"a box needs {_NUM_SIDES} numbers; found {len(found)}"
        raise BadRecord(BAD_BOX, msg)
    x0, y0, x1, y1 = map(number, found)
    if columns.form in {BoxForm.SIZE, BoxForm.LIST_OF_SIZE}:
        x1, y1 = x0 + x1, y0 + y1
    elif columns.form is BoxForm.CENTRE:
        x0, x1, y0, y1 = x0 - x1 / 2, x0 + x1 / 2, y0 - y1 / 2, y0 + y1 / 2
    return y0, x0, y1, x1
