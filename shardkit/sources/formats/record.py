"""`ImageRecord`: what a file of annotations says about one image."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.listing import RecordProblem, count_skipped

Object = dict[str, Any]
Size = tuple[int | None, int | None]
Sides = tuple[Any, Any, Any, Any]  # xmin, ymin, xmax, ymax
ONE_CLASS = "object"  # the class of every box of a file without classes
# float() also accepts 1_000, infinity and the digits of other scripts.
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MAX_SIDE = 2**31
_SHOWN = 80  # characters of a bad field


@dataclass(slots=True)
class ImageRecord:
    """What a file says about one image.

    Attributes:
        image: The image's path or name as written; '' if the file gives none.
        size: Width and height that the boxes refer to: pixels, (0, 0) if boxes are fractions of the sides, None if the
            file does not give them: then they are the image's.
        objects: Fields of each good object.
        problems: The bad objects; the key is the object's name in the file, such as "line 3".
        left_out: Number of shapes that are not read, by a phrase for the user.
        attributes: Classes of the whole image, by the name of what gives them.
        file: Path of the file, if it is about this image only.
        number: The record's number in the file, or that of its line, from 1.
        split: The split's name as written; '' for none.
        columns: Names of what gives classes to boxes: attributes of regions, or labelling jobs.
        bad: Why the record gives no example, such as "it is no JSON object"; '' if it does.
        reason: The code of shardkit.reject_reasons for that.
        mask: Path of the image's mask, as written; '' for none.
        segments: The colours of the mask, as red + 256 * green + 65,536 * blue, with the class of each.
        is_skipped: Whether the record says that nobody labelled the image.
    """

    image: str = ""
    size: Size = (None, None)
    objects: list[Object] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, list[str]] = field(default_factory=dict)
    file: str = ""
    number: int = 0
    split: str = ""
    columns: dict[str, None] = field(default_factory=dict)
    bad: str = ""
    reason: str = BAD_ANNOTATION
    mask: str = ""
    segments: list[tuple[int, str]] = field(default_factory=list)
    is_skipped: bool = False

    def add_line_problem(self, line: int, what: str) -> None:
        """Add a bad line of a text file with one object per line."""
        self.problems.append(RecordProblem(f"line {line}", BAD_ANNOTATION, what))

    def set_size(self, width: Any, height: Any) -> None:
        """Take the size in pixels that the boxes refer to, if it is one."""
        if all(isinstance(side, int) and 0 < side < _MAX_SIDE for side in (width, height)):
            self.size = width, height

    def add(self, name: str, label: Any, sides: Sides | None) -> None:
        """Add an object, or why it is bad."""
        if not isinstance(label, str | int) or isinstance(label, bool) or not str(label).strip():
            self._problem(name, BAD_ANNOTATION, "the box has no class; add it, or remove the box")
        elif sides is None or not all(map(is_finite, sides)):
            self._problem(name, BAD_BOX, "the coordinates of a box must be finite numbers")
        else:
            xmin, ymin, xmax, ymax = map(float, sides)
            label_name = encodable(str(label).strip())
            self.objects.append({"bbox": [ymin, xmin, ymax, xmax], "label_name": label_name, "name": name})

    def leave_out(self, what: str) -> None:
        """Count a shape that is not read, by a phrase for the user."""
        count_skipped(self.left_out, what)

    def _problem(self, name: str, reason: str, message: str) -> None:
        self.problems.append(RecordProblem(f"record {self.number}, {name}", reason, message))


class RecordTable(NamedTuple):
    """Records whose objects are a column.

    Attributes:
        records: The records, to be read once, whose objects are counted only; None for one that is reported otherwise.
        objects: The objects of each, as the column of a listing; None for classes of whole images.
        classes: Names of classes by the numbers that give their order.
    """

    records: Iterable[ImageRecord | None]
    objects: pa.Array | None
    classes: Mapping[int, str]


def is_finite(side: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(side, int | float) and not isinstance(side, bool) and abs(side) < math.inf


def number_problem(texts: Iterable[str]) -> str | None:
    """Return which field of a text file is not a finite number; None if all are."""
    for text in texts:
        if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            return f"{text[:_SHOWN]!r} is not a finite number"
    return None


def encodable(text: str) -> str:
    """Return the text with lone surrogates escaped: JSON and YAML can contain them, and no table can store them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
