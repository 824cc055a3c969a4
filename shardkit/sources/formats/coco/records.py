"""COCO as two formats: the records of images, with their annotations as objects and as classes, or as masks."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_MASK, DUPLICATE_ID
from shardkit.sources.columns import objects_field
from shardkit.sources.formats.coco.columns import CocoColumns, annotation_name, category_of, identity, read_coco
from shardkit.sources.formats.format import ROOT, Format, ImageRecord, Object, Options, RecordTable, encodable
from shardkit.sources.json_stream import array_items

OBJECT_FIELDS = (
    pa.field("area", pa.float32()),  # pixels; of the box if the annotation has none
    pa.field("id", pa.int64()),  # NO_ID if the annotation has no integer id
    pa.field("is_crowd", pa.bool_()),
    pa.field("segmentation", pa.string()),  # the source's JSON without blanks: polygons or RLE; '' for none
)
_COUNTED: Object = {}  # stands for an object that is in a column
_ROWS = 1000  # of a table
CATEGORY = "category"  # the attribute of images whose annotations are classes


class _Coco(Format):
    """COCO; with the option `boxes: none`, which labels set, annotations need no boxes, as in iNaturalist."""

    name = "coco"
    title = "COCO"
    settings = frozenset({"boxes", "classes"})
    names_are_below = True
    object_fields = OBJECT_FIELDS

    def names(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        columns = CocoColumns(name, options.get(ROOT, ""))
        for line, (_, record) in enumerate(array_items(file, name, {"images"}), 1):
            columns.add_image(record, line)
            yield from filter(None, columns.image_names)
            columns.image_names.clear()
            columns.image_of.clear()

    def classes(self, file: BinaryIO, name: str, options: Options) -> Mapping[int, str]:
        if options.get("classes") == "names":
            return {}
        found = (category_of(record) for _, record in array_items(file, name, {"categories"}))
        return by_number({number: name for number, name in found if type(number) is int and isinstance(name, str)})

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        for table in self.tables(file, name, options, _ROWS):
            yield from filter(None, table.records)

    def tables(self, file: BinaryIO, name: str, options: Options, rows: int) -> Iterator[RecordTable]:
        columns = read_coco(file, name, name, options.get(ROOT, ""), has_boxes=options.get("boxes") != "none")
        joined, type_ = columns.joined(), objects_field(OBJECT_FIELDS).type
        starts = joined.starts.tolist()
        classes = {} if options.get("classes") == "names" else by_number(columns.categories)
        for start in range(0, len(columns.image_names), rows):
            stop = min(start + rows, len(columns.image_names))
            records = (_record(columns, i, joined.order[starts[i] : starts[i + 1]]) for i in range(start, stop))
            objects = None
            if columns.has_boxes:
                chosen = joined.order[joined.starts[start] : joined.starts[stop]]
                objects = objects_of(columns, type_, chosen, np.diff(joined.starts[start : stop + 1]))
            yield RecordTable(records, objects, classes)
        problems = [one._replace(key=one.key.removeprefix(f"{columns.url}, ")) for one in columns.problems]
        for start in range(0, len(problems), rows):
            some = ImageRecord(problems=problems[start : start + rows])
            yield RecordTable([some], pa.array([None], type_) if columns.has_boxes else None, classes)


def by_number(categories: Mapping[int, str]) -> dict[int, str]:
    """Return the class names in the order of their ids; several ids of one name are one class."""
    classes: dict[str, int] = {}
    for number, label in sorted(categories.items()):
        classes.setdefault(label, number)
    return {number: label for label, number in classes.items()}


def _record(columns: CocoColumns, i: int, annotations: npt.NDArray[np.int64]) -> ImageRecord | None:
    if not columns.image_names[i]:
        return None
    labels: dict[str, None] = {}
    if not columns.has_boxes:
        labels = dict.fromkeys(columns.categories[columns.category_ids[one]] for one in annotations)
    return ImageRecord(
        columns.image_names[i],
        columns.image_sizes[i],
        [_COUNTED] * len(annotations) if columns.has_boxes else [],
        attributes={CATEGORY: [*labels]} if labels else {},
        number=columns.image_lines[i],
        bad=columns.repeated_id(i) or "",
        reason=DUPLICATE_ID,
    )


def objects_of(
    columns: CocoColumns, type_: pa.DataType, chosen: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> pa.Array:
    """Return the column of objects.

    `chosen` has the annotations of all rows, one row after the other, and `counts` their number in each row.
    """
    boxes = np.frombuffer(columns.boxes, np.float64).reshape(-1, 4)[chosen]
    corners = np.stack([boxes[:, 1], boxes[:, 0], boxes[:, 1] + boxes[:, 3], boxes[:, 0] + boxes[:, 2]], axis=1)
    ids = np.frombuffer(columns.ids, np.int64)[chosen]
    category_ids = np.frombuffer(columns.category_ids, np.int64)[chosen].tolist()
    fields = [
        pa.FixedSizeListArray.from_arrays(pa.array(corners.ravel()), 4),
        pa.array([columns.categories[number] for number in category_ids], pa.string()),
        pa.array([annotation_name(number) for number in ids.tolist()], pa.string()),
        pa.array(np.frombuffer(columns.areas, np.float64)[chosen].astype(np.float32)),
        pa.array(ids),
        pa.array(np.frombuffer(columns.crowd, np.uint8)[chosen].astype(np.bool_)),
        pa.array([columns.segmentations[i] for i in chosen.tolist()], pa.string()),
    ]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    structs = pa.StructArray.from_arrays(fields, fields=list(type_.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), structs, type=type_)


COCO = _Coco()


_MAX_ID = (1 << 24) - 1


@dataclass(slots=True)
class _Segments:
    """The segments of a file: the mask's name, ids and category ids by the code of the image."""

    masks: dict[int, str] = field(default_factory=dict)
    ids: "dict[int, array[int]]" = field(default_factory=dict)

    def add(self, record: Any, columns: CocoColumns, number: int) -> None:
        get = record.get if isinstance(record, dict) else {}.get
        image_id, name, segments = identity(get("image_id")), get("file_name"), get("segments_info")
        code = None if image_id is None else columns.code_of.setdefault(image_id, len(columns.code_of))
        problem, found = "", array("q")
        if code is None:
            problem = "it has no `image_id`"
        elif not isinstance(name, str) or relative_path_problem(name) or encodable(name) != name:
            problem = "its `file_name` is not the path of a mask"
        elif code in self.masks:
            problem = "an earlier annotation is of the same image"
        for one in segments if isinstance(segments, list) else [None]:
            values = (one.get("id"), one.get("category_id")) if isinstance(one, dict) else (None, None)
            numbers = [value for value in values if type(value) is int and 0 <= value <= _MAX_ID]
            found.extend(numbers)
            if len(numbers) < len(values):
                problem = problem or f"each of `segments_info` needs an `id` up to {_MAX_ID:,} and a `category_id`"
        if problem:
            columns.add_problem(f"annotation number {number}", BAD_ANNOTATION, f"{problem}; correct or remove it")
        elif code is not None:
            self.masks[code], self.ids[code] = str(name), found


class _Panoptic(Format):
    """COCO's panoptic segmentation: a PNG of segments for each image, and the category of each segment.

    A pixel's colour is the segment's id: red + 256 * green + 65,536 * blue. Segments of one category are not told
    apart.
    """

    name = "coco-panoptic"
    title = "COCO panoptic"
    settings = frozenset({"masks"})
    note = "masks of categories, whose segments are not told apart; pixels without a segment are 255"
    names_are_below = True

    def names(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        return COCO.names(file, name, options)

    def masks(self, file: BinaryIO, name: str, options: Options) -> Iterator[str]:
        for _, record in array_items(file, name, {"annotations"}):
            path = record.get("file_name") if isinstance(record, dict) else None
            if isinstance(path, str) and not relative_path_problem(path):
                yield path

    def classes(self, file: BinaryIO, name: str, options: Options) -> Mapping[int, str]:
        categories: dict[int, str] = {}
        for _, record in array_items(file, name, {"categories"}):
            _add_category(name, categories, record)
        return by_number(categories)

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        columns, segments, categories = CocoColumns(name, options.get(ROOT, "")), _Segments(), dict[int, str]()
        counts = dict.fromkeys(("images", "annotations", "categories"), 0)
        for kind, record in array_items(file, name, {*counts}):
            counts[kind] += 1
            if kind == "images":
                columns.add_image(record, counts[kind])
            elif kind == "annotations":
                segments.add(record, columns, counts[kind])
            else:
                _add_category(name, categories, record)
        for code in segments.masks.keys() - columns.image_of.keys():
            message = "no image of the file has its `image_id`; correct or remove it"
            columns.add_problem(f"the annotation of {segments.masks[code]}", BAD_ANNOTATION, message)
        for i, image in enumerate(columns.image_names):
            if image:
                yield _with_segments(image, i, columns, segments, categories)
        if columns.problems:
            problems = [one._replace(key=one.key.removeprefix(f"{name}, ")) for one in columns.problems]
            yield ImageRecord(problems=problems)


def _with_segments(
    image: str, i: int, columns: CocoColumns, segments: _Segments, categories: Mapping[int, str]
) -> ImageRecord:
    code = columns.image_codes[i]
    ids, numbers = (segments.ids.get(code, array("q"))[start::2] for start in (0, 1))
    record = ImageRecord(image, number=columns.image_lines[i], mask=segments.masks.get(code, ""))
    if repeated := columns.repeated_id(i):
        record.bad, record.reason = repeated, DUPLICATE_ID
    elif unknown := [number for number in numbers if number not in categories]:
        what = f"a segment of the image has the category {unknown[0]}, which is none of the file's categories"
        record.bad, record.reason = what, BAD_MASK
    else:
        names = (categories[number] for number in numbers)
        record.segments = [(one, label) for one, label in zip(ids, names, strict=True) if one]
    return record


def _add_category(url: str, categories: dict[int, str], record: Any) -> None:
    number, name = category_of(record)
    if type(number) is not int or not isinstance(name, str) or categories.setdefault(number, name) != name:
        msg = f"{url}: a category needs an integer id of its own and a name; found {number!r} and {name!r}"
        raise DataError(msg)


PANOPTIC = _Panoptic()
