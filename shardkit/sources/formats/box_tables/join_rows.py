"""Join the rows of a table of boxes by image, whatever their order.

A table of any size is read in slices of images: a slice reads all rows, and keeps those of its images as numbers, about
70 bytes a box.
"""

import zlib
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LINE, NO_SPLIT
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.box_tables.boxes import has_box, read_box
from shardkit.sources.formats.box_tables.columns import BoxColumns
from shardkit.sources.formats.column_names import is_discard, split_of_text
from shardkit.sources.formats.record import ImageRecord, Object, encodable, number, size_of
from shardkit.sources.formats.tables.records import Record
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.listing import BadRecord, RecordProblem, count_skipped

DISCARDED = "records of the split DISCARD"


@dataclass(frozen=True, slots=True)
class Slice:
    """The images of a table that one part keeps: every `num`-th by the hash of its key."""

    index: int
    num: int

    def has_key(self, key: str) -> bool:
        return self.num == 1 or zlib.crc32(key.encode()) % self.num == self.index

    def has_line(self, line: int) -> bool:
        """Return whether a record without image is reported by this slice."""
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
        """Yield what the table says about each image, sorted by key."""
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
