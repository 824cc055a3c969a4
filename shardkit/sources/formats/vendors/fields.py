"""Describe where the records of a format have the image and its boxes, instead of parsing them by a function."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardkit.sources.formats.format import ImageRecord
from shardkit.sources.formats.shapes import Sides, corners

Way = str  # names and indexes that lead into a value, with points between them, such as `frames.0.objects`
UNIT = (0, 0)  # the size of boxes in fractions of the image's sides


def signs(names: str) -> tuple[bytes, ...]:
    """Return expressions for names of members, divided by blanks; ``objects[`` is one whose value is an array."""
    begins = {"[": rb"\[", "{": rb"\{"}
    return tuple(b'"%s"\\s*:\\s*%s' % (one.rstrip("[{").encode(), begins.get(one[-1], b"")) for one in names.split())


def json_of(data: bytes) -> Any:
    """Return the value of a JSON file, or why it cannot be parsed; a phrase that begins with ``it``."""
    try:
        return json.loads(data)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        return f"it is not JSON: {error}"


def dict_of(value: Any) -> dict[str, Any]:
    """Return a value if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the elements of an array or the values of an object; none for anything else."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def dicts_at(value: Any, way: Way) -> list[dict[str, Any]]:
    """Return the elements of what a way leads to, each as an object."""
    return list(map(dict_of, list_of(at(value, way))))


def at(value: Any, way: Way) -> Any:
    """Return what a way leads to; None if there is nothing."""
    for step in way.split(".") if way else ():
        if isinstance(value, list):
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def text_at(value: Any, way: Way) -> str:
    """Return the text that a way leads to; '' if there is none."""
    found = at(value, way)
    return found if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True)
class Box:
    """Where an object has the four numbers of its box, and what they are."""

    way: Way  # from the object to an object or a list of four that has the numbers; '' for the object itself
    names: str  # the ways to them from there, with blanks between them; '' for a list
    sides: Callable[..., Sides | None] = corners  # function from the numbers to the sides

    def read(self, given: Any) -> Sides | None:
        box = at(given, self.way)
        if self.names:
            return self.sides(*(at(box, name) for name in self.names.split()))
        return self.sides(*box) if isinstance(box, list) and len(box) == len("xyxy") else None


@dataclass(frozen=True, slots=True)
class Fields:
    """Where a record has the image and its boxes."""

    image: Way  # the way to the image's path; '' if the file is about the image of its name
    objects: Way  # the way to the objects, an array or an object
    label: Way
    box: Box
    # The ways to width and height in pixels; the sizes of the image itself if there are none
    size: tuple[Way, ...] = ()
    noun: str = "object"  # what messages call an object
    are_fractions: bool = False  # whether boxes are in fractions of the image's sides
    # Phrase for the user about objects without a box, which are left out; '' if each must have one
    without_box: str = ""
    key: str = ""  # the beginning of the names of objects that are members of the record itself

    def parse(self, image: ImageRecord, record: dict[str, Any], column: str | None = None) -> None:
        image.image = text_at(record, self.image)
        if self.are_fractions:
            image.size = UNIT
        elif self.size:
            image.set_size(*(at(record, way) for way in self.size))
        found = at(record, self.objects)
        if self.key:
            found = [one for name, one in dict_of(found).items() if name.startswith(self.key)]
        for place, given in enumerate(map(dict_of, list_of(found)), 1):
            if self.without_box and not at(given, self.box.way):
                image.leave_out(self.without_box)
                continue
            label = at(given, self.label)
            if isinstance(label, list):
                label = label[0] if len(label) == 1 else None
            image.add(f"{self.noun} {place}", label, self.box.read(given))
