"""Tell by its name what a number of a box is: ``xmin``, ``bndbox/ymax``, ``topX``, ``Upper left corner Y``."""

import re
from enum import Enum

Way = tuple[str, ...]  # names that lead to a value, from the outside to the inside


class Role(Enum):
    """What a number of a box is."""

    XMIN = "xmin"
    YMIN = "ymin"
    XMAX = "xmax"
    YMAX = "ymax"
    X = "x"  # of a corner, of the centre or of a point
    Y = "y"
    XCENTRE = "x of the centre"
    YCENTRE = "y of the centre"
    WIDTH = "width"
    HEIGHT = "height"


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words that may be written together, such as xmin or cx, the longest first.
_TOGETHER = (
    *("minimum", "maximum", "column", "height", "bottom", "center", "centre", "corner", "upper", "lower", "right"),
    *("width", "start", "left", "min", "max", "top", "end", "ctr", "col", "row", "tl", "lt", "ul", "br", "rb", "lr"),
    *("dx", "dy", "x", "y", "w", "h", "c", "r"),
)
_WORD = re.compile(rf"(?:{'|'.join(_TOGETHER)})+")
_ONE = re.compile("|".join(_TOGETHER))
_LOW = {"min", "minimum", "start", "tl", "lt", "ul"}
_HIGH = {"max", "maximum", "end", "br", "rb", "lr"}
_CENTRE = {"center", "centre", "ctr"}
_TURNED = {"ang", "angle", "theta", "rot", "rotation", "yaw"}
_OF_IMAGE = {"image", "img", "frame", "picture", "size", "shape", "original", "orig"}


def words_of(text: str) -> list[str]:
    """Return the words of a name in lower case: ``topX`` and ``top_x`` are top and x, and ``xmin`` is x and min."""
    found = list[str]()
    for part in map(str.lower, _PARTS.findall(text)):
        found += _ONE.findall(part) if _WORD.fullmatch(part) else [part]
    return found


def is_turned(way: Way) -> bool:
    """Return whether a field is the angle of a box."""
    return any(word in _TURNED for word in words_of(" ".join(way)))


def is_of_image(way: Way) -> bool:
    """Return whether a field says that it is about the whole image."""
    return any(word in _OF_IMAGE for word in words_of(" ".join(way)))


def role_of(way: Way) -> tuple[Role, tuple[str, ...], int | None] | None:
    """Return what a field is by its name, the other words of the name, and its number; None if it is no side."""
    words = words_of(" ".join(way))
    numbers = [int(word) for word in words if word.isdecimal()]
    known = {word for word in words if word in _TOGETHER}
    rest = tuple(word for word in words if word not in known and not word.isdecimal())
    number = numbers[-1] if numbers else None
    if known & {"width", "w", "dx"} and not known & {"x", "y"}:
        return Role.WIDTH, rest, number
    if known & {"height", "h", "dy"} and not known & {"x", "y"}:
        return Role.HEIGHT, rest, number
    axis = _axis(known)
    if axis is None:
        return None
    if known & _CENTRE or ("c" in known and known & {"x", "y"}):
        return (Role.XCENTRE if axis == "x" else Role.YCENTRE), rest, number
    low = {"left"} if axis == "x" else {"top", "upper"}
    high = {"right"} if axis == "x" else {"bottom", "lower"}
    other_low, other_high = ({"top", "upper"}, {"bottom", "lower"}) if axis == "x" else ({"left"}, {"right"})
    for lows, highs in ((low | _LOW, high | _HIGH), (other_low, other_high)):
        if known & lows and not known & highs:
            return (Role.XMIN if axis == "x" else Role.YMIN), rest, number
        if known & highs and not known & lows:
            return (Role.XMAX if axis == "x" else Role.YMAX), rest, number
    return (Role.X if axis == "x" else Role.Y), rest, number


def _axis(known: set[str]) -> str | None:
    ends = known & (_LOW | _HIGH)
    for axis, names in (("x", {"x", "col", "column"}), ("y", {"y", "row"})):
        if known & names:
            return axis
    if ends and known & {"c", "r"}:
        return "x" if "c" in known else "y"
    if len(known & {"left", "right"}) == 1 and not known & {"top", "bottom", "upper", "lower"}:
        return "x"
    if len(known & {"top", "bottom", "upper", "lower"}) == 1 and not known & {"left", "right"}:
        return "y"
    return None
