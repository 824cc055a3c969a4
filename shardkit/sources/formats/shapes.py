"""The numbers of shapes, and the boxes that enclose them."""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Point = tuple[float, float]
Sides = tuple[Any, Any, Any, Any]  # xmin, ymin, xmax, ymax


def is_finite(side: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(side, int | float) and not isinstance(side, bool) and abs(side) <= sys.float_info.max


def around(xs: Sequence[Any], ys: Sequence[Any]) -> Sides | None:
    """Return the sides of the box around points; None if they are not points."""
    is_outline = xs and len(xs) == len(ys) and all(map(is_finite, [*xs, *ys]))
    return (min(xs), min(ys), max(xs), max(ys)) if is_outline else None


def around_points(points: Sequence[Point]) -> Sides | None:
    """Return the sides of the box around points; None if there are none, or one is not finite."""
    return around(*map(list, zip(*points, strict=True))) if points else None


def points_of(value: Any) -> list[Point]:
    """Return a list of pairs of numbers as points; [] for anything else."""
    try:
        return [(number(x), number(y)) for x, y in value]
    except (TypeError, ValueError):
        return []


def turned(x: float, y: float, offsets: Iterable[Point], degrees: float) -> list[Point]:
    """Return the points at some offsets from a point, turned around it."""
    angle = math.radians(degrees % 360)
    sine, cosine = math.sin(angle), math.cos(angle)
    return [(x + across * cosine - down * sine, y + across * sine + down * cosine) for across, down in offsets]


def reach_of_ellipse(rx: float, ry: float, degrees: float) -> Point:
    """Return how far a turned ellipse reaches from its centre, across and down."""
    angle = math.radians(degrees % 360)
    sine, cosine = math.sin(angle), math.cos(angle)
    return math.hypot(rx * cosine, ry * sine), math.hypot(rx * sine, ry * cosine)


def number(value: Any) -> float:
    """Return a value as a float; NaN if it is no number."""
    # float() also accepts 1_000.
    if isinstance(value, str) and "_" in value:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def corners(xmin: Any, ymin: Any, xmax: Any, ymax: Any) -> Sides | None:
    """Return the sides of a box that is given by two corners."""
    return xmin, ymin, xmax, ymax


def corner_and_size(x: Any, y: Any, width: Any, height: Any) -> Sides | None:
    """Return the sides of a box that is given by its upper left corner and its size."""
    return (x, y, x + width, y + height) if all(map(is_finite, (x, y, width, height))) else None


def centre_and_size(x: Any, y: Any, width: Any, height: Any) -> Sides | None:
    """Return the sides of a box that is given by its centre and its size."""
    if not all(map(is_finite, (x, y, width, height))):
        return None
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2
