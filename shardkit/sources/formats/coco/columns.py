"""Read a COCO file into columns: images, and annotations that are joined to them by the image's id."""

import json
import re
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, relative_path_problem
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX, BAD_NAME, DUPLICATE_ID
from shardkit.sources.formats.format import encodable, size_of
from shardkit.sources.formats.shapes import number
from shardkit.sources.json_stream import array_items
from shardkit.sources.listing import RecordProblem
from shardkit.sources.walking import ending

NO_ID = -1  # the id of an annotation without an integer id
_MIN_BOXES = 4  # of which one larger than a pixel can be expected
_MOST = 0.5  # share of the boxes whose areas say what their numbers are
_NEAR = 0.01  # share of an area by which it may differ from its box, whose numbers are rounded
_LONG = 200  # characters of a wrong value that a message shows
_INT64 = range(-(2**63), 2**63)
_ABSOLUTE = re.compile(r"\A(?:[A-Za-z]:)?/+")
_NUMBERS = re.compile(r"[-+.0-9eE,\[\]]*")
_encode = json.JSONEncoder(separators=(",", ":")).encode


class JoinedAnnotations(NamedTuple):
    """Good annotations, joined to the images."""

    order: npt.NDArray[np.int64]  # indexes of the annotations in the order of their images
    starts: npt.NDArray[np.int64]  # start of each image's annotations in `order`, and the end of the last one's


@dataclass(slots=True)
class CocoColumns:
    """Content of one file; index i of the image columns is one image, of the annotation columns one annotation."""

    url: str  # name of the file in messages
    root_url: str = ""  # URL of the folder that image paths start at; absolute paths below it are made relative
    # Class names by category id; several ids may have the same name
    categories: dict[int, str] = field(default_factory=dict)
    image_names: list[str] = field(default_factory=list)  # paths of the images; '' if the path is bad
    image_lines: list[int] = field(default_factory=list)  # numbers of the records, from 1
    # Width and height in pixels; None if the file has none
    image_sizes: list[tuple[int | None, int | None]] = field(default_factory=list)
    image_codes: "array[int]" = field(default_factory=lambda: array("q"))  # code of each image's id
    codes: "array[int]" = field(default_factory=lambda: array("q"))  # code of each annotation's image id
    # Values of the annotations; four values of `boxes` are one box: x, y, width, height in pixels
    category_ids: "array[int]" = field(default_factory=lambda: array("q"))
    ids: "array[int]" = field(default_factory=lambda: array("q"))
    areas: "array[float]" = field(default_factory=lambda: array("d"))
    crowd: bytearray = field(default_factory=bytearray)
    boxes: "array[float]" = field(default_factory=lambda: array("d"))
    segmentations: list[str] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    num_records: int = 0  # number of annotations that were read, bad ones included
    has_boxes: bool = True  # whether annotations have boxes; else they are classes of whole images
    code_of: dict[Hashable, int] = field(default_factory=dict)  # codes by image id
    image_of: dict[int, int] = field(default_factory=dict)  # index of the first image by its code
    # Codes that several images have, so that nobody knows which of them their annotations are of
    repeated: set[int] = field(default_factory=set)

    def add_problem(self, what: str, reason: str, message: str) -> None:
        self.problems.append(RecordProblem(f"{self.url}, {what}", reason, message))

    def add_category(self, record: Any) -> None:
        number: Any
        number, name = category_of(record)
        if not is_int64(number) or not isinstance(name, str):
            self.add_problem(f"category {shown(number)}", BAD_ANNOTATION, "a category needs an integer id and a name")
        elif self.categories.setdefault(number, encodable(name)) != encodable(name):
            there = self.categories[number]
            message = f"the id is {there!r} already, and here {name!r}; give each category a different id"
            self.add_problem(f"category {number}", BAD_ANNOTATION, message)

    def add_image(self, record: Any, line: int) -> None:
        if not isinstance(record, dict):
            self.add_problem(f"image number {line}", BAD_ANNOTATION, f"expected an object, found {shown(record)}")
            return
        given = record.get("id", record.get("image_id"))  # as Herbarium has it
        what, number = f"image {shown(given)}", identity(given)
        if number is None:
            self.add_problem(f"image number {line}", BAD_ANNOTATION, "the image has no `id`; annotations refer to it")
            return
        name = record.get("file_name")
        if name is None and isinstance(url := record.get("coco_url"), str):
            name = "/".join(url.split("/")[-2:])  # LVIS has train2017/1.jpg only as the end of a URL
        if name is None and isinstance(given, str) and ending(given) in IMAGE_ENDINGS:
            name = given
        problem = "the record has none" if not isinstance(name, str) else None
        if isinstance(name, str):
            name = _relative(name, self.root_url)
            problem = relative_path_problem(name) or ("it is not Unicode" if encodable(name) != name else None)
        if problem:
            found = shown(record.get("file_name"))
            message = f"`file_name` {found} is not a path below the folder of images: {problem}; correct it"
            self.add_problem(what, BAD_NAME, message)
            name = ""
        code = self.code_of.setdefault(number, len(self.code_of))
        first = self.image_of.setdefault(code, len(self.image_names))
        if first < len(self.image_names):
            if name and name == self.image_names[first]:
                self.add_problem(f"{what}, number {line}", DUPLICATE_ID, "the image has an earlier record; remove one")
                return
            self.repeated.add(code)
        self.image_names.append(str(name))
        self.image_lines.append(line)
        self.image_codes.append(code)
        self.image_sizes.append(size_of(record.get("width"), record.get("height")))

    def add_annotation(self, record: Any) -> None:
        self.num_records += 1
        if not isinstance(record, dict):
            what = f"annotation number {self.num_records}"
            self.add_problem(what, BAD_ANNOTATION, f"expected an object, found {shown(record)}")
            return
        get: Callable[[str], Any] = record.get
        image_id, category_id, box = identity(get("image_id")), get("category_id"), get("bbox")
        if image_id is None or not is_int64(category_id):
            message = "an annotation needs an `image_id`, and an integer as `category_id`"
            self.add_problem(self._annotation_name(get("id")), BAD_ANNOTATION, message)
            return
        try:
            x, y, width, height = map(float, box) if self.has_boxes else (0.0, 0.0, 0.0, 0.0)
        except (TypeError, ValueError, OverflowError):
            x = y = width = height = np.nan
        # NaN and infinity minus themselves are not 0.
        if self.has_boxes and not (type(box) is list and x - x == y - y == width - width == height - height == 0):
            message = f"`bbox` must be 4 finite numbers, x, y, width, height; found {shown(box)}; the image is kept"
            self.add_problem(self._annotation_name(get("id")), BAD_BOX, message)
            return
        self.boxes.extend((x, y, width, height))
        self.codes.append(self.code_of.setdefault(image_id, len(self.code_of)))
        self.category_ids.append(category_id)
        self.ids.append(get("id") if is_int64(get("id")) else NO_ID)
        self.areas.append(area(get("area"), width * height))
        self.crowd.append(get("iscrowd") in (1, "1", "1.0"))
        self.segmentations.append(json_text(get("segmentation")))

    def _annotation_name(self, number: Any) -> str:
        return f"annotation number {self.num_records}" if number is None else f"annotation {shown(number)}"

    def repeated_id(self, image: int) -> str | None:
        if self.image_codes[image] not in self.repeated:
            return None
        return "other images have the same id, so its annotations may be theirs; give each image a different id"

    def are_corners(self) -> bool:
        """Return whether the areas of most boxes say that the last two numbers are the lower right corner.

        The area of a polygon fits neither, so a few boxes that fit by chance do not count.
        """
        x, y, width, height = np.frombuffer(self.boxes).reshape(-1, 4).T
        areas = np.frombuffer(self.areas)
        across, down = np.maximum(width - x, 0), np.maximum(height - y, 0)
        are_sizes = _are_near(width * height, areas)
        are_corners = _are_near(across * down, areas) | _are_near((across + 1) * (down + 1), areas)
        return bool((are_corners & ~are_sizes).sum() > _MOST * len(areas))

    def are_fractions(self) -> bool:
        """Return whether there are several boxes, none is larger than a pixel, and some is smaller."""
        boxes = np.frombuffer(self.boxes).reshape(-1, 4)
        return bool(len(boxes) >= _MIN_BOXES and boxes.max() <= 1 and (boxes % 1).any())

    def joined(self) -> JoinedAnnotations:
        """Join the annotations to the images; annotations with an unknown image or category become problems."""
        codes, category_ids = np.array(self.codes, np.int64), np.array(self.category_ids, np.int64)
        image_of = np.full(len(self.code_of), -1, np.int64)
        image_of[np.array(self.image_codes, np.int64)] = np.arange(len(self.image_codes))
        # An image with a bad path was reported already, so its annotations are not.
        is_known = np.zeros(len(self.code_of), np.bool_)
        is_known[list(self.image_of)] = True
        has_category = np.isin(category_ids, np.array(list(self.categories), np.int64))
        for i in np.flatnonzero(~(is_known[codes] & has_category)).tolist():
            unknown = "category" if is_known[codes[i]] else "image"
            number = f" {category_ids[i]}" if unknown == "category" else ""
            message = f"no {unknown} of the file has its `{unknown}_id`{number}"
            self.add_problem(annotation_name(self.ids[i]), BAD_ANNOTATION, message + "; correct or remove it")
        images = image_of[codes]
        good = np.flatnonzero((images >= 0) & has_category)
        order = good[np.argsort(images[good], kind="stable")]
        starts = np.searchsorted(images[order], np.arange(len(self.image_codes) + 1))
        return JoinedAnnotations(order, starts)


def _are_near(found: npt.NDArray[np.float64], areas: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    near: npt.NDArray[np.bool_] = np.abs(found - areas) <= np.maximum(1, _NEAR * areas)
    return near


def category_of(record: Any) -> tuple[Any, Any]:
    """Return id and name of an element of a file's `categories`; with Darwin Core's word for the name, too."""
    if not isinstance(record, dict):
        return None, None
    return record.get("id", record.get("category_id")), record.get("name", record.get("scientificName"))


def annotation_name(number: int) -> str:
    """Return the name of an annotation in messages."""
    return "an annotation without id" if number == NO_ID else f"annotation {number}"


def read_coco(file: BinaryIO, url: str, path: str, root_url: str = "", *, has_boxes: bool = True) -> CocoColumns:
    """Read a file of object annotations."""
    columns = CocoColumns(path, root_url, has_boxes=has_boxes)
    num_images = 0
    for name, record in array_items(file, url, {"images", "annotations", "categories"}):
        if name == "annotations":
            columns.add_annotation(record)
        elif name == "images":
            num_images += 1
            columns.add_image(record, num_images)
        else:
            columns.add_category(record)
    if columns.are_fractions():
        msg = (
            f"{url}: all boxes lie between 0 and 1, so they are fractions of the image, as Azure exports them; "
            "multiply x and width by the image's width, y and height by its height: COCO's boxes are in pixels"
        )
        raise DataError(msg)
    if columns.has_boxes and columns.are_corners():
        msg = (
            f"{url}: by `area`, most boxes are two corners, xmin, ymin, xmax, ymax; subtract the first two numbers of "
            "`bbox` from its last two: COCO's boxes are x, y, width, height"
        )
        raise DataError(msg)
    return columns


def _relative(name: str, root_url: str) -> str:
    # Tools on Windows write backslashes. No path with a backslash is followed on any system, so nothing is lost.
    name = name.replace("\\", "/")
    if root_url and name.startswith(f"{root_url}/"):
        return name[len(root_url) + 1 :]
    while name.startswith("./"):
        name = name[2:]
    return _ABSOLUTE.sub("", name, count=1)  # of another machine: its first folders are dropped, if the others are here


def is_int64(value: Any) -> bool:
    """Return whether a value is an integer of 64 bits."""
    return type(value) is int and value in _INT64


def identity(value: Any) -> Hashable | None:
    """Return an id as images and annotations are joined by it; None if it is none."""
    # pandas writes the integers of a column with gaps as 17.0.
    if type(value) is str and value.endswith(".0"):
        return int(value[:-2]) if value[:-2].isdecimal() else value
    return value if type(value) in {int, str} else None


def area(value: Any, of_box: float) -> float:
    """Return an area; that of the box for anything else."""
    area = number(value)
    return area if area - area == 0 else of_box  # as pycocotools does for results


def json_text(value: Any) -> str:
    """Return the value as JSON, with its numbers as written; '' for None."""
    if value is None:
        return ""
    text = _list_text(value) if type(value) is list else ""
    return text if text and _NUMBERS.fullmatch(text) else _encode(value)


def _list_text(values: list[Any]) -> str:
    # Numbers are kept as text, so here they are written without quotes; json_text checks that all values are numbers.
    if values and type(values[0]) is list:
        return f"[{','.join([_list_text(one) if type(one) is list else str(one) for one in values])}]"
    return f"[{','.join(map(str, values))}]"


def shown(value: Any) -> str:
    """Return a value as messages show it."""
    text = json_text(value) if type(value) is list else json.dumps(value)
    return text if len(text) <= _LONG else text[:_LONG] + "…"
