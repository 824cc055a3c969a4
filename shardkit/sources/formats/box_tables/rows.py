"""Read the records of a table of boxes, and join those of each image, whatever their order.

A table of any size is read in slices of images: a slice reads all rows, and keeps those of its images as numbers, about
70 bytes a box.
"""

import math
import re
import zlib
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX, BAD_LINE, NO_SPLIT
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.box_tables.columns import BoxColumns, BoxForm
from shardkit.sources.formats.column_names import DISCARDED, is_discard, split_of_text
from shardkit.sources.formats.format import ONE_CLASS, ImageRecord, Object, encodable, size_of
from shardkit.sources.formats.shapes import number
from shardkit.sources.formats.tables.records import Record
from shardkit.sources.formats.tables.values import as_text, shown
from shardkit.sources.listing import BadRecord, RecordProblem, count_skipped

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


@dataclass(frozen=True, slots=True)
class Slice:
    """The images of a table that one part keeps: every `num`-th by the hash of its key."""

    index: int
    num: int

    def has_key(self, key: str) -> bool:
        return self.num == 1 or zlib.crc32(key.encode()) % self.num == self.index

    def has_line(self, line: int) -> bool:
        return line % self.num == self.index


@dataclass(slots=True)
class Image:
    """An image of a table: the line of its first record, its split, its size in pixels or (0, 0), and what is wrong."""

    line: int
    split: str | None
    size: tuple[int, int]
    problem: tuple[str, str] | None = None


@dataclass(slots=True)
class Gathered:
    """The images and boxes of a slice."""

    columns: BoxColumns
    name: str  # name of the table in keys of bad records
    part: Slice
    is_fraction: bool  # whether coordinates are fractions of the image's sides
    class_names: Mapping[str, str]  # other names of classes
    present: Container[str] | None  # keys of the slice's images that exist, if others are left out; None to keep all
    images: dict[str, Image] = field(default_factory=dict)
    problems: list[RecordProblem] = field(default_factory=list)
    # Counts of records that give nothing, and of images that are not there
    skipped: dict[str, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)  # of the images
    _labels: dict[str, int] = field(default_factory=dict)
    _image_of: "array[int]" = field(default_factory=lambda: array("q"))
    _label_of: "array[int]" = field(default_factory=lambda: array("q"))
    _line_of: "array[int]" = field(default_factory=lambda: array("q"))
    _sides: "array[float]" = field(default_factory=lambda: array("d"))
    _flags: "array[int]" = field(default_factory=lambda: array("b"))

    def read(self, records: Iterable[Record], key_of: Callable[[object], str]) -> None:
        """Add the records of the slice's images; `key_of` returns an image's key, or raises BadRecord."""
        absent = set[str]()
        for record in records:
            if record.problem is not None:
                if self.part.has_line(record.line):
                    self._add_problem(record.line, BAD_LINE, f"{record.problem}; correct the line")
                continue
            try:
                key = key_of(record.values[self.columns.image])
            except BadRecord as error:
                if self.part.has_line(record.line):
                    self._add_problem(record.line, error.reason, str(error))
                continue
            if not self.part.has_key(key):
                continue
            if self.columns.split is not None and is_discard(record.values[self.columns.split]):
                count_skipped(self.skipped, DISCARDED)
            elif self.present is not None and key not in self.present:
                absent.add(key)
            else:
                try:
                    self._add(key, record)
                except BadRecord as error:
                    message = f"{error}; the image is kept; correct the record, or remove it"
                    self._add_problem(record.line, error.reason, message)
        if absent:
            count_skipped(self.skipped, f"images of {self.name} that are not there", len(absent))

    def _add_problem(self, line: int, reason: str, message: str) -> None:
        self.problems.append(RecordProblem(f"{self.name}, line {line}", reason, encodable(message)))

    def _add(self, key: str, record: Record) -> None:
        values, columns = record.values, self.columns
        split, problem = None, None
        try:
            split = None if columns.split is None else split_of_text(as_text(values[columns.split]))
        except BadRecord as error:
            problem = error.reason, f"line {record.line}: {error}; correct the line"
        size = _size(values, columns)
        image = self.images.get(key)
        if image is None:
            self.images[key] = Image(record.line, split, size, problem)
            self._numbers[key] = len(self._numbers)
        elif image.problem is None:
            image.problem = problem or _conflict(image, split, size, record.line)
        if not has_box(values, columns):
            label = "" if columns.label is None else as_text(values[columns.label])
            if label:
                count_skipped(self.skipped, "records with a class and without a box")
            return
        box = read_box(values, columns, is_fraction=self.is_fraction)
        label = encodable(self.class_names.get(box.label, box.label))
        self._sides.extend(box[1:])
        self._image_of.append(self._numbers[key])
        self._label_of.append(self._labels.setdefault(label, len(self._labels)))
        self._line_of.append(record.line)
        self._flags.extend(_flag(values[i]) for _, i in columns.flags)

    def records(self) -> Iterator[ImageRecord]:
        image_of = np.frombuffer(self._image_of, np.int64) if self._image_of else np.zeros(0, np.int64)
        order = np.argsort(image_of, kind="stable")
        starts = np.searchsorted(image_of[order], np.arange(len(self._numbers) + 1))
        labels = list(self._labels)
        for key, image in sorted(self.images.items()):
            chosen = order[starts[self._numbers[key]] : starts[self._numbers[key] + 1]]
            width, height = image.size
            scale = (height, width, height, width) if self.is_fraction and width else (1, 1, 1, 1)
            objects = [self._object(i, labels, scale) for i in chosen[: MAX_OBJECTS + 1].tolist()]
            size = image.size if width or self.is_fraction else (None, None)
            reason, bad = image.problem or (BAD_ANNOTATION, "")
            split = image.split or ""
            yield ImageRecord(key, size, objects, number=image.line, split=split, bad=bad, reason=reason)

    def _object(self, i: int, labels: list[str], scale: tuple[int, ...]) -> Object:
        sides = self._sides[4 * i : 4 * i + 4]
        num_flags = len(self.columns.flags)
        flags = zip(self.columns.flags, self._flags[num_flags * i : num_flags * (i + 1)], strict=True)
        return {
            "bbox": [side * by for side, by in zip(sides, scale, strict=True)],
            "label_name": labels[self._label_of[i]],
            "name": f"line {self._line_of[i]}",
            **{name: value for (name, _), value in flags},
        }


def _conflict(image: Image, split: str | None, size: tuple[int, int], line: int) -> tuple[str, str] | None:
    if split != image.split:
        message = f"lines {image.line} and {line} give it the splits {image.split} and {split}; leave it in one"
        return NO_SPLIT, message
    if size != image.size:
        sizes = " and ".join(f"{width} x {height}" for width, height in (image.size, size))
        return BAD_ANNOTATION, f"lines {image.line} and {line} give it the sizes {sizes}; correct them"
    return None


def _size(values: Any, columns: BoxColumns) -> tuple[int, int]:
    width, height = size_of(*(values[i] for i in columns.size)) if columns.size else (None, None)
    return width or 0, height or 0


def _flag(value: Any) -> int:
    # Open Images: 1, 0, and -1 for unknown.
    found = number(value)
    return int(found) if found in (0, 1) else -1
