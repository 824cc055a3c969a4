"""COCO's panoptic segmentation as a format: a PNG of segments for each image, and the category of each segment.

A pixel's colour is the segment's id: red + 256 * green + 65,536 * blue. Segments of one category are not told apart.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from shardkit.errors import DataError
from shardkit.naming import relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_MASK, DUPLICATE_ID
from shardkit.sources.formats.coco.columns import CocoColumns, category_of, identity
from shardkit.sources.formats.coco.records import COCO, by_number
from shardkit.sources.formats.format import ROOT, Format, Options
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.json_stream import array_items

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
    """The format; its records have masks and no objects."""

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
                yield _record(image, i, columns, segments, categories)
        if columns.problems:
            problems = [one._replace(key=one.key.removeprefix(f"{name}, ")) for one in columns.problems]
            yield ImageRecord(problems=problems)


def _record(
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
