"""How a record of a format that was inferred becomes an image with boxes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from shardkit.naming import printable
from shardkit.sources.formats.inferred.roles import Way
from shardkit.sources.formats.inferred.trees import BOX
from shardkit.sources.formats.record import NUMBER, ONE_CLASS, ImageRecord, Sides, encodable
from shardkit.sources.formats.vendors.fields import UNIT, centre_and_size, corner_and_size

_MIN_POINTS = 2
_TRUE = {"1", "true", "yes"}
_SKIPPED = {"skipped", "skip", "cancelled", "was_cancelled"}
_NOTHING: tuple[Any, ...] = ("", None, [])


class Form(Enum):
    """What the numbers of a box are."""

    CORNERS = "xmin, ymin, xmax, ymax"
    SIZE = "x, y, width, height"
    CENTRE = "x and y of the centre, width, height"
    CORNERS_Y_FIRST = "ymin, xmin, ymax, xmax"
    OUTLINE = "boxes around points"
    SIZE_OR_CENTRE = "x, y, width, height of a corner or of the centre"  # until the images tell
    LIST = "four numbers"  # the same

    @property
    def may_be(self) -> tuple["Form", ...]:
        """The forms that it is one of."""
        if self is Form.LIST:
            return Form.CORNERS, Form.SIZE, Form.CENTRE
        return (Form.SIZE, Form.CENTRE) if self is Form.SIZE_OR_CENTRE else (self,)


@dataclass(frozen=True, slots=True)
class BoxField:
    """Where an object has its box.

    Attributes:
        ways: The ways from the object to four numbers, to a list of them, or to points: all x before all y if the two
            are apart.
        form: What the numbers are.
    """

    ways: tuple[Way, ...]
    form: Form

    def numbers(self, given: Any) -> list[float] | None:
        """Return the four numbers of an object's box, or the sides of its outline; None if it has none."""
        if self.form is Form.OUTLINE:
            points = self._points(given)
            if points is None or len(points) < _MIN_POINTS:
                return None
            xs, ys = zip(*points, strict=True)
            return [min(xs), min(ys), max(xs), max(ys)]
        values = [value for way in self.ways for value in values_at([given], way)]
        found = numbers_of(values[0] if len(self.ways) == 1 and len(values) == 1 else values)
        return found if found is not None and len(found) == len("xyxy") else None

    def _points(self, given: Any) -> list[tuple[float, float]] | None:
        if len(self.ways) == 1:
            return points_of(values_at([given], self.ways[0]))
        half = len(self.ways) // 2
        xs, ys = (
            numbers_of([value for way in ways for value in values_at([given], way)])
            for ways in (self.ways[:half], self.ways[half:])
        )
        return list(zip(xs, ys, strict=True)) if xs and ys and len(xs) == len(ys) else None

    @property
    def name(self) -> str:
        """The fields, for the user."""
        return printable(", ".join(name_of(way) for way in self.ways))


def name_of(way: Way) -> str:
    """Return the name of a field for the user."""
    return "/".join(part for part in way if part) or "the values"


def values_at(trees: Sequence[Any], way: Way) -> Iterator[Any]:
    """Yield all values that a way leads to."""
    for tree in trees:
        if isinstance(tree, list) and (way or any(isinstance(one, dict) for one in tree)):
            yield from values_at(tree, way)
        elif not way:
            yield tree
        elif isinstance(tree, dict) and way[0] in tree:
            yield from values_at([tree[way[0]]], way[1:])


def numbers_of(value: Any) -> list[float] | None:
    """Return the numbers of a list, or of a text such as ``[1, 2, 3, 4]``; None if something else is in it."""
    if isinstance(value, str):
        value = [part for part in value.strip(" []()").replace(";", ",").replace(",", " ").split() if part]
    if not isinstance(value, list) or not value:
        return None
    numbers = [_number(one) for one in value]
    return None if None in numbers else [one for one in numbers if one is not None]


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value.strip()) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    return float(value) if is_number else None


def points_of(values: Any) -> list[tuple[float, float]] | None:
    """Return the points of an outline: ``[[1, 2], [3, 4]]``, ``[1, 2, 3, 4]``, ``"1,2"`` or lists of these."""
    numbers = list[float]()
    for value in values:
        if isinstance(value, list) and any(len(numbers_of(one) or ()) > 1 for one in value):
            inner = points_of(value)
            if inner is None:
                return None
            numbers += [side for point in inner for side in point]
        else:
            found = numbers_of(value)
            if found is None or len(found) % 2:
                return None
            numbers += found
    return list(zip(numbers[::2], numbers[1::2], strict=True)) if numbers else None


def label_of(value: Any) -> str | None:
    """Return the class that a value is: a text or a whole number, or a list of one; None if it is none."""
    if isinstance(value, list):
        return label_of(value[0]) if len(value) == 1 else None
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    is_fraction = NUMBER.fullmatch(text) is not None and not float(text).is_integer()
    return text if text and not is_fraction else None


def sides_of(form: Form, numbers: Sequence[float]) -> Sides | None:
    """Return xmin, ymin, xmax, ymax of four numbers."""
    first, second, third, fourth = numbers
    if form is Form.SIZE:
        return corner_and_size(first, second, third, fourth)
    if form is Form.CENTRE:
        return centre_and_size(first, second, third, fourth)
    return (second, first, fourth, third) if form is Form.CORNERS_Y_FIRST else (first, second, third, fourth)


@dataclass(frozen=True, slots=True)
class Reading:
    """How the records of a file are read.

    Attributes:
        image: The way to the image's name; None if the file is called like it.
        objects: The way from a record to its objects.
        box: Where an object has its box.
        is_fraction: Whether boxes are in fractions of the image's sides.
        classes: The ways from an object to what may be its class; () if all are of one class.
        size: The ways to the image's width and height; () for none.
        class_names: Names of classes by what the records call them.
        flags: The ways from an object to what says that it is to be left out.
        members: Names of the members that most records have.
        is_usual: Whether the classes have a name that classes usually have; else the user is to be asked.
    """

    image: Way | None
    objects: Way
    box: BoxField
    is_fraction: bool
    classes: tuple[Way, ...]
    size: tuple[Way, ...] = ()
    class_names: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[Way, ...] = ()
    members: frozenset[str] = frozenset()
    is_usual: bool = True

    def is_of(self, tree: Any) -> bool:
        """Return whether a file is of this format: it has boxes, or is empty, or has the members of the first files."""
        if not isinstance(tree, dict):
            return False
        return any(self.boxes(tree)) or not any(tree.values()) or (len(tree) > 1 and self.members <= tree.keys())

    def boxes(self, record: Any) -> Iterator[list[float]]:
        """Yield the four numbers of each box of a record."""
        objects = values_at([record], self.objects) if self.objects else [record]
        return (numbers for given in objects if (numbers := self.box.numbers(given)) is not None)

    def parse(self, image: ImageRecord, record: Any, column: str | None) -> None:
        """Fill in an image; the parser of a `JsonFormat`."""
        if any(str(record.get(name)).lower() in _TRUE for name in record if name.lower() in _SKIPPED):
            image.is_skipped = True
        if self.image is not None:
            names = [str(value) for value in values_at([record], self.image) if isinstance(value, str | int)]
            image.image = names[0] if len(set(names)) == 1 else ""
            image.bad = "" if image.image else f"it has {len(names) or 'no'} values of {name_of(self.image)!r}"
        if self.is_fraction:
            image.size = UNIT
        elif self.size:
            image.set_size(*(_pixels(record, way) for way in self.size))
        image.columns.update({encodable(name_of(way)): None for way in self.classes})
        chosen = next((way for way in self.classes if column == encodable(name_of(way))), (*self.classes, None)[0])
        for place, given in enumerate(values_at([record], self.objects) if self.objects else [record], 1):
            if any(str(value).lower() in _TRUE for way in self.flags for value in values_at([given], way)):
                image.leave_out("objects that are to be left out")
                continue
            numbers = self.box.numbers(given)
            if numbers is None and all(value in _NOTHING for way in self.box.ways for value in values_at([given], way)):
                image.leave_out("objects without a box")
                continue
            sides = None if numbers is None else sides_of(self.box.form, numbers)
            image.add(f"object {place}", self._label(given, chosen), sides)

    def _label(self, given: Any, chosen: Way | None) -> str | None:
        if chosen is None:
            return ONE_CLASS
        values = {label_of(value) for value in values_at([given], chosen)}
        label = values.pop() if len(values) == 1 else None
        return None if label is None else self.class_names.get(label, label)

    @property
    def unit(self) -> str:
        """What the numbers are, for the user."""
        return f"{self.box.form.value} in {'fractions of the sides' if self.is_fraction else 'pixels'}"

    def describe(self) -> str:
        """Return what was inferred, for the user."""
        image = f"image: {name_of(self.image)}" if self.image is not None else "image: the one of the file's name"
        boxes = name_of(self.objects) if self.box.ways == ((BOX,),) else self.box.name
        return f"{boxes} as {self.unit}; {image}"


def _pixels(record: Any, way: Way) -> int | None:
    values = list(values_at([record], way))
    number = _number(values[0]) if len(values) == 1 else None
    return int(number) if number is not None and number.is_integer() else None
