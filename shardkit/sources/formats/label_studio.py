"""Parse a task of Label Studio's exports JSON and JSON-MIN: the image, and the results that people gave.

JSON has ``{"data": {"image": …}, "annotations": [{"result": [{"from_name", "type", "value"}]}]}``, JSON-MIN
``{"image": …, "label": [{"x", "y", "width", "height", "rectanglelabels"}], "choice": "cat"}``.

Coordinates of regions are percent of the image's sides.
"""

import json
import math
import posixpath
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, TypeGuard
from urllib.parse import parse_qs, unquote, urlsplit

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.formats.format import Format, ImageRecord, Options, encodable
from shardkit.sources.formats.shapes import Point, Sides, around, points_of, reach_of_ellipse, turned
from shardkit.sources.formats.vendors.fields import dict_of, dicts_at
from shardkit.sources.json_stream import top_level_items
from shardkit.sources.listing import count_skipped
from shardkit.sources.name_index import UPLOAD_PREFIX
from shardkit.sources.walking import ending, looks_like

# Keys of JSON-MIN that are not results.
_OF_TASK = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"})
_OF_RESULT = ("original_width", "original_height", "image_rotation", "id")
# Of JSON, and of JSON-MIN.
_KEYS = (
    (rb'"data"\s*:\s*\{', rb'"(annotations|completions)"\s*:\s*\['),
    (rb'"annotation_id"\s*:', rb'"(annotator|lead_time)"\s*:'),
)
_DECODER = json.JSONDecoder()
_PERCENT = 100.0
_MAX_SIDE = 2**31


# The name of the control that gave a result, and its value with the id of its region.
_Result = tuple[str, dict[str, Any]]


def _record(task: Any, number: int) -> ImageRecord:
    """Return what a task says.

    If several people annotated an image, the annotation marked as ground truth counts, else the first.
    """
    if not isinstance(task, dict):
        return ImageRecord(number=number, bad="it is not a task of Label Studio")
    annotations = task.get("annotations", task.get("completions"))
    if not isinstance(annotations, list):
        image = _image(task)
        given = ((name, value) for name, value in task.items() if name not in _OF_TASK and value != image)
        return _of_results(image, number, [one for pair in given for one in _minimal_results(*pair)])
    good = [one for one in annotations if isinstance(one, dict) and one.get("was_cancelled") is not True]
    good.sort(key=lambda one: one.get("ground_truth") is not True)
    found = [one for one in dicts_at(good, "0.result") if isinstance(one.get("value"), dict)]
    values = ({**one["value"], **{name: one[name] for name in _OF_RESULT if name in one}} for one in found)
    names = (str(one.get("from_name", "")) for one in found)
    record = _of_results(_image(dict_of(task.get("data"))), number, [*zip(names, values, strict=True)])
    record.is_skipped = not good
    if len(good) > 1:
        count_skipped(record.left_out, "further annotations of a task", len(good) - 1)
    return record


def _of_results(image: str, number: int, results: Sequence[_Result]) -> ImageRecord:
    record = ImageRecord(image, number=number)
    for control, value in results:
        if "x" not in value and (choices := _texts(value.get("choices"))):
            known = record.attributes.setdefault(control, [])
            known += [one for one in dict.fromkeys(choices) if one not in known]
    regions = [value for _, value in results if _is_region(value)]
    with_box = [value for value in regions if _has_box(value)]
    if len(with_box) < len(regions):
        count_skipped(record.left_out, "regions without box (brushes, key points)", len(regions) - len(with_box))
    if any(value.get("image_rotation") not in {None, 0} for value in with_box):
        record.bad = "the image was turned in Label Studio; turn the file itself, and label it again"
    else:
        _add_regions(record, with_box)
    return record


def _minimal_results(name: str, given: Any) -> Iterator[_Result]:
    if isinstance(given, str) and ending(given) not in IMAGE_ENDINGS:
        yield name, {"choices": [given]}
    elif isinstance(given, dict) and "choices" in given:
        yield name, given
    elif isinstance(given, list):
        yield from ((name, one) for one in given if isinstance(one, dict))


def _image(data: dict[str, Any]) -> str:
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    for name in ("image", "img", "ocr", *texts):
        if name in texts and ending(image_path(texts[name])) in IMAGE_ENDINGS:
            return texts[name]
    return texts.get("image", "")


def image_path(text: str, *, without_prefix: bool = False) -> str:
    """Return the path in an image's URL: ``/data/local-files/?d=a/b.jpg`` is ``a/b.jpg``.

    `without_prefix` removes the eight digits that Label Studio adds to uploaded files.
    """
    try:
        parts = urlsplit(text)
    except ValueError:  # such as a bad IPv6 address
        return text
    local = parse_qs(parts.query).get("d", [])
    if local:
        path = local[0]
    elif parts.scheme and len(parts.scheme) > 1:
        path = f"{parts.netloc}{unquote(parts.path)}"
    else:
        path = unquote(text)
    above, name = posixpath.split(path.replace("\\", "/"))
    return posixpath.join(above, UPLOAD_PREFIX.sub("", name, count=1) if without_prefix else name)


def _texts(given: Any) -> list[str]:
    found = given if isinstance(given, list) else []
    return [encodable(one.strip()) for one in found if isinstance(one, str) and one.strip()]


def _labels_of(value: dict[str, Any]) -> list[str]:
    lists = (given for name, given in value.items() if name.endswith("labels") and isinstance(given, list))
    return _texts(next(lists, []))


def _is_region(value: dict[str, Any]) -> bool:
    """Return whether a result has a place in the image; a choice has none, unless it is of a region."""
    return "choices" not in value and any(name in value for name in ("x", "points", "rle"))


def _has_box(value: dict[str, Any]) -> bool:
    """Return whether a region has an area whose box can be computed: a rectangle, ellipse or polygon."""
    return "points" in value or {"width", "height"} <= value.keys() or {"radiusX", "radiusY"} <= value.keys()


def _add_regions(record: ImageRecord, regions: Sequence[dict[str, Any]]) -> None:
    """Add an object for each label of each region, and what is wrong with others.

    If the results do not give the image's size, boxes are fractions of its sides.
    """
    sizes = ([value.get(name) for name in _OF_RESULT[:2]] for value in regions)
    width, height = record.size = next(((int(w), int(h)) for w, h in sizes if _is_side(w) and _is_side(h)), (0, 0))
    # <Labels> with <Rectangle>: the same region twice, once without labels.
    labelled = {str(value.get("id", "")) for value in regions if _labels_of(value)}
    for number, value in enumerate(regions, 1):
        labels, name = _labels_of(value), f"region {number}"
        sides = _sides(value, width, height)
        if not labels and str(value.get("id", "")) in labelled:
            continue
        for label in labels[: None if sides else 1] or [""]:
            record.add(name, label, sides, key=f"task {record.number}, {name}")


def _sides(value: dict[str, Any], width: int, height: int) -> Sides | None:
    """Return the sides of a region in pixels, or in fractions if the image's size is not known; None for a bad one."""
    # Angles are of pixels; without a size, the image is taken for square.
    points = _outline(value, width / height if width else 1.0)
    across = [x * (width or 1) / _PERCENT for x, _ in points]
    down = [y * (height or 1) / _PERCENT for _, y in points]
    if not points or not all(map(math.isfinite, across + down)):
        return None
    return (across[0], down[0], across[1], down[1]) if len(points) == 2 else around(across, down)


def _outline(value: dict[str, Any], aspect: float) -> list[Point]:
    """Return the corners of a region in percent, two of them for a plain rectangle."""
    if "points" in value:
        points = points_of(value["points"])
        return points if len(points) > 2 else []
    x, y = _number(value, "x"), _number(value, "y")
    turn = _number(value, "rotation") if value.get("rotation") is not None else 0.0
    if "radiusX" in value:
        across, down = reach_of_ellipse(_number(value, "radiusX"), _number(value, "radiusY") / aspect, turn)
        return [(x - across, y - down * aspect), (x + across, y + down * aspect)]
    width, height = _number(value, "width"), _number(value, "height")
    if turn == 0:
        return [(x, y), (x + width, y + height)]
    # A rectangle is turned around its upper left corner.
    corners = ((0.0, 0.0), (width, 0.0), (width, height / aspect), (0.0, height / aspect))
    return [(px, y + down * aspect) for px, down in turned(x, 0.0, corners, turn)]


def _number(value: dict[str, Any], name: str) -> float:
    found = value.get(name)
    return float(found) if type(found) in {int, float} and abs(found) < _MAX_SIDE else math.nan  # type: ignore[arg-type]


def _is_side(value: Any) -> TypeGuard[float]:
    return type(value) in {int, float} and 0 < value < _MAX_SIDE


class _LabelStudio(Format):
    """Label Studio's exports; with the option `uploads`, images lack the digits that it adds to uploaded files."""

    name = "label-studio"
    title = "Label Studio's export"
    noun = "task"
    settings = frozenset({"uploads"})
    ways = ({}, {"uploads": "renamed"})
    missing = "export 'COCO with images': this export has no images"

    def sniff(self, head: bytes) -> bool:
        return any(looks_like(head, *keys, start=b"[") for keys in _KEYS)

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        without_prefix = options.get("uploads") == "renamed"
        for number, (_, task) in enumerate(top_level_items(file, name, _DECODER), 1):
            record = _record(task, number)
            record.image = image_path(record.image, without_prefix=without_prefix)
            yield record


LABEL_STUDIO = _LabelStudio()
