"""`BOX_TABLES`, tables with a row for each box as a format: all rows of an image are one record, whatever their order.

A row without coordinates is of an image without boxes. A table of any size is read in slices of images: a slice reads
all rows, and keeps those of its images as numbers, about 50 bytes a box.
"""

import math
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LINE, NO_SPLIT
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.box_tables.columns import (
    FIRST_SIDE,
    FRACTIONS,
    OPEN_IMAGES,
    PIXELS,
    BoxColumns,
    BoxForm,
    find_columns,
    flags_in,
    flags_of,
    open_box_file,
)
from shardkit.sources.formats.box_tables.rows import Values, decided, has_box, list_form, sides_of
from shardkit.sources.formats.class_names import read_class_names
from shardkit.sources.formats.column_names import DISCARDED, is_discard, split_of_text
from shardkit.sources.formats.format import (
    CLASS_FILE,
    ONE_CLASS,
    SLICE,
    Format,
    ImageRecord,
    Object,
    Options,
    encodable,
    size_of,
)
from shardkit.sources.formats.shapes import number
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record, TableFile
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.listing import BadRecord, RecordProblem, count_skipped
from shardkit.storage import Folder

_NUM_VALUES = 6  # of a box without its flags


class _BoxTables(Format):
    """Tables of boxes; options name the columns, and say what the numbers are."""

    name = "box-table"
    title = "a table of boxes"
    noun = "line"
    settings = frozenset(
        {"unit", "each", "one_class", "image", "label", "split", "x", "y", "size", "form", "kind", "flags"}
    )
    slice_bytes = 128 << 20  # 128 MiB of a table: about two million boxes, which take 300 MB while they are listed

    def open(self, folder: Folder, path: str) -> AbstractContextManager[TableFile]:
        return nullcontext(open_box_file(folder, path))

    def completed(self, folder: Folder, path: str, options: Options) -> dict[str, str]:
        """See Format; the first rows tell what the numbers are."""
        file = open_box_file(folder, path)
        found = dict(options) if "form" in options else find_columns(file, options)
        if found.get("kind") == OPEN_IMAGES and "flags" not in found:
            found["flags"] = flags_in(file.columns)
        columns = BoxColumns.of(file, found)
        if "unit" in found:
            return found
        rows = [one.values for one in islice(file.all_records(), PREFIX_RECORDS) if one.problem is None]
        columns = decided(file, columns, rows, found)
        # Nobody has said what they are: columns of these names have no header.
        are_unsaid = "form" not in options and file.columns[columns.xs[0]] == FIRST_SIDE
        if are_unsaid and columns.form is BoxForm.CORNERS and list_form(rows, columns) is BoxForm.LIST_OF_SIZE:
            columns = replace(columns, form=BoxForm.SIZE)
        return {**found, "form": columns.form.value, "unit": FRACTIONS if columns.is_fraction else PIXELS}

    def fields(self, options: Options) -> Sequence[pa.Field]:
        return [pa.field(name, pa.int64()) for name in flags_of(options)]  # 1, 0, -1 for unknown

    def describe(self, options: Options) -> str:
        """See Format; such as `(in pixels, classes of 'label')`."""
        is_list = options["form"] == BoxForm.LIST_OF_SIZE.value
        of_class = f"classes of {options['label']!r}" if "label" in options else ""
        if options.get("kind") == OPEN_IMAGES:
            named_by = printable(options[CLASS_FILE]) or "their codes, without class-descriptions-boxable.csv"
            of_class = f"classes named by {named_by}"
        one_class = f"all of the class {printable(options.get('one_class', ONE_CLASS))!r}"
        as_size = ", as x, y, width, height" if is_list else ""
        return f" (in {options['unit']}{as_size}, {of_class or one_class})"

    def names(self, file: TableFile, name: str, options: Options) -> Iterator[str]:
        image, last = BoxColumns.of(file, options).image, ""
        for record in file.all_records(frozenset({image})):
            text = None if record.problem else record.values[image]
            if isinstance(text, str) and text != last:
                yield text
                last = text

    def records(self, file: TableFile, name: str, options: Options) -> Iterator[ImageRecord]:
        return self.joined(file, name, options, str)

    def joined(
        self, file: TableFile, name: str, options: Options, key_of: Callable[[str], str]
    ) -> Iterator[ImageRecord]:
        """See Format; first those of the rows that name no image."""
        columns = BoxColumns.of(file, options)
        names = {} if columns.label is not None else {ONE_CLASS: options.get("one_class", ONE_CLASS)}
        if columns.label is not None and options[CLASS_FILE]:
            names = read_class_names(file.folder, options[CLASS_FILE])
        index, num = map(int, options.get(SLICE, "0 1").split())
        is_partial = options.get("kind") == OPEN_IMAGES
        gathered = _Gathered(columns, index, num, names, key_of, may_lack_images=is_partial)
        for record in file.all_records():
            if bad := gathered.add(record):
                yield bad
        yield from gathered.records()


BOX_TABLES = _BoxTables()


@dataclass(slots=True)
class _Image:
    """An image: the line of its first row, its name, split, size in pixels or (0, 0), and what is wrong."""

    line: int
    text: str
    # Of each box the line, the number of the class, ymin, xmin, ymax, xmax and the flags
    boxes: "array[float]"
    split: str | None = None
    size: tuple[int, int] = (0, 0)
    problem: tuple[str, str] | None = None
    is_discarded: bool = True  # whether all its rows are left out by their split


@dataclass(slots=True)
class _Gathered:
    """The images and boxes of a slice: every `num`-th image by the hash of its key."""

    columns: BoxColumns
    index: int
    num: int
    class_names: Mapping[str, str]  # other names of classes
    key_of: Callable[[str], str]
    may_lack_images: bool  # whether the table names more images than people download
    _last: tuple[str, str | None] = "", None  # an image's name and its key: rows of one image usually follow each other
    _images: dict[str, _Image] = field(default_factory=dict)
    _labels: dict[str, int] = field(default_factory=dict)
    # Bad rows of an image, and counts of its rows that give nothing
    _problems: dict[str, list[RecordProblem]] = field(default_factory=lambda: defaultdict(list))
    _left_out: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, record: Record) -> ImageRecord | None:
        """Add a row; return the record of a row that names no image."""
        value = None if record.problem else record.values[self.columns.image]
        text = value if isinstance(value, str) else ""
        key = self._key(text) if text.strip() else None
        if key is None:
            if record.line % self.num != self.index:
                return None
            bad = encodable(f"{record.problem}; correct the line") if record.problem else ""
            return ImageRecord(text, number=record.line, bad=bad, reason=BAD_LINE)
        if self.num > 1 and zlib.crc32(key.encode()) % self.num != self.index:
            return None
        if (image := self._images.get(key)) is None:
            image = self._images[key] = _Image(record.line, text, array("d"))
        try:
            if kind := self._add(image, record.line, record.values):
                count_skipped(self._left_out[key], kind)
        except BadRecord as error:
            message = encodable(f"{error}; correct the record, or remove it")
            self._problems[key].append(RecordProblem(f"line {record.line}", error.reason, message))
        return None

    def _key(self, text: str) -> str | None:
        """Return the key of an image; None if the engine rejects its name."""
        if text != self._last[0]:
            self._last = text, None
            with suppress(BadRecord):
                self._last = text, self.key_of(text)
        return self._last[1]

    def _add(self, image: _Image, line: int, values: Values) -> str | None:
        """Add a row to its image; return how it is counted if it gives nothing."""
        columns = self.columns
        if columns.split is not None and is_discard(values[columns.split]):
            return DISCARDED
        split, problem = None, None
        try:
            split = None if columns.split is None else split_of_text(as_text(values[columns.split]))
        except BadRecord as error:
            problem = error.reason, f"line {line}: {error}; correct the line"
        size = _size(values, columns)
        if image.is_discarded:
            image.is_discarded, image.line = False, line
            image.split, image.size, image.problem = split, size, problem
        elif image.problem is None:
            image.problem = problem or _conflict(image, split, size, line)
        label = ONE_CLASS if columns.label is None else _label(values[columns.label])
        if not has_box(values, columns):
            return "records with a class and without a box" if label and columns.label is not None else None
        if not label:
            msg = "the box has no class"
            raise BadRecord(BAD_ANNOTATION, msg)
        sides = sides_of(values, columns)
        number = self._labels.setdefault(encodable(self.class_names.get(label, label)), len(self._labels))
        image.boxes.extend((line, number, *sides, *(_flag(values[i]) for _, i in columns.flags)))
        return None

    def records(self) -> Iterator[ImageRecord]:
        labels, num = list(self._labels), _NUM_VALUES + len(self.columns.flags)
        for key, image in sorted(self._images.items()):
            width, height = image.size
            is_fraction = self.columns.is_fraction
            scale = (height, width, height, width) if is_fraction and width else (1, 1, 1, 1)
            boxes = (image.boxes[i : i + num] for i in range(0, len(image.boxes), num))
            reason, bad = image.problem or (BAD_ANNOTATION, "")
            yield ImageRecord(
                image.text,
                size=image.size if width or is_fraction else (None, None),
                objects=[self._object(box, labels, scale) for box in islice(boxes, MAX_OBJECTS + 1)],
                problems=self._problems.pop(key, []),
                left_out=self._left_out.pop(key, {}),
                number=image.line,
                split=image.split or "",
                bad=bad,
                reason=reason,
                is_skipped=image.is_discarded,
                may_lack_image=self.may_lack_images,
            )

    def _object(self, box: Sequence[float], labels: Sequence[str], scale: Sequence[int]) -> Object:
        return {
            "bbox": [side * by for side, by in zip(box[2:_NUM_VALUES], scale, strict=True)],
            "label_name": labels[int(box[1])],
            "name": f"line {int(box[0])}",
            **{name: int(value) for (name, _), value in zip(self.columns.flags, box[_NUM_VALUES:], strict=True)},
        }


def _conflict(image: _Image, split: str | None, size: tuple[int, int], line: int) -> tuple[str, str] | None:
    if split != image.split:
        message = f"lines {image.line} and {line} give it the splits {image.split} and {split}; leave it in one"
        return NO_SPLIT, message
    if size != image.size:
        sizes = " and ".join(f"{width} x {height}" for width, height in (image.size, size))
        return BAD_ANNOTATION, f"lines {image.line} and {line} give it the sizes {sizes}; correct them"
    return None


def _size(values: Values, columns: BoxColumns) -> tuple[int, int]:
    width, height = size_of(*(values[i] for i in columns.size)) if columns.size else (None, None)
    return width or 0, height or 0


def _label(value: Any) -> str:
    """Return the name of a class: whole numbers without their fraction; '' for none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value).strip()


def _flag(value: Any) -> int:
    # Open Images: 1, 0, and -1 for unknown.
    found = number(value)
    return int(found) if found in (0, 1) else -1
