"""Parse a task of Label Studio's exports JSON and JSON-MIN: the image, and the results that people gave.

JSON has ``{"data": {"image": …}, "annotations": [{"result": [{"from_name", "type", "value"}]}]}``, JSON-MIN
``{"image": …, "label": [{"x", "y", "width", "height", "rectanglelabels"}], "choice": "cat"}``.

Coordinates of regions are percent of the image's sides.
"""

import math
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from shardkit.naming import IMAGE_ENDINGS
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.listing import RecordProblem, ending
from shardkit.sources.name_index import UPLOAD_PREFIX

# Keys of JSON-MIN that are not results.
_OF_TASK = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"})
CHOICES = "choices"
_PERCENT = 100.0
_MAX_SIDE = 2**31
_Points = list[tuple[float, float]]


class Result(NamedTuple):
    """A result: the name of the control that gave it, its id (regions only), and its value."""

    control: str
    region: str
    value: dict[str, Any]


@dataclass(slots=True)
class Task:
    """A task.

    Attributes:
        number: Its number in the file, from 1.
        image: The image's path or URL as written; '' for none.
        results: The results of the annotation that counts.
        num_others: Number of further annotations of the same task.
        is_annotated: Whether somebody annotated the task.
        is_task: Whether the record is a task at all.
    """

    number: int
    image: str
    results: list[Result] = field(default_factory=list)
    num_others: int = 0
    is_annotated: bool = False
    is_task: bool = True


def parse_task(record: Any, number: int) -> Task:
    """Return a task.

    If several people annotated an image, the annotation marked as ground truth counts, else the first.
    """
    if not isinstance(record, dict):
        return Task(number, "", is_annotated=True, is_task=False)
    annotations = record.get("annotations", record.get("completions"))
    if isinstance(annotations, list):
        data = record.get("data")
        task = Task(number, _image(data if isinstance(data, dict) else {}))
        good = [one for one in annotations if isinstance(one, dict) and one.get("was_cancelled") is not True]
        good.sort(key=lambda one: one.get("ground_truth") is not True)
        task.is_annotated, task.num_others = bool(good), max(0, len(good) - 1)
        found = good[0].get("result") if good else []
        for one in found if isinstance(found, list) else []:
            if isinstance(one, dict) and isinstance(one.get("value"), dict):
                sizes = {
                    name: one[name] for name in ("original_width", "original_height", "image_rotation") if name in one
                }
                value = {**one["value"], **sizes}
                task.results.append(Result(str(one.get("from_name", "")), str(one.get("id", "")), value))
        return task
    task = Task(number, _image(record), is_annotated=True)
    for name, given in record.items():
        if name not in _OF_TASK and given != task.image:
            task.results += _minimal_results(name, given)
    return task


def _minimal_results(name: str, given: Any) -> Iterator[Result]:
    if isinstance(given, str) and ending(given) not in IMAGE_ENDINGS:
        yield Result(name, "", {"choices": [given]})
    elif isinstance(given, dict) and "choices" in given:
        yield Result(name, "", given)
    elif isinstance(given, list):
        for one in given:
            if isinstance(one, dict):
                yield Result(name, str(one.get("id", "")), one)


def _image(data: dict[str, Any]) -> str:
    """Return the value of `image`, or the first that names an image."""
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    for name in ("image", "img", "ocr", *texts):
        if name in texts and ending(image_path(texts[name])) in IMAGE_ENDINGS:
            return texts[name]
    return texts.get("image", "")


def image_path(text: str, *, without_prefix: bool = False) -> str:
    """Return the path in an image's URL: ``/data/local-files/?d=a/b.jpg`` is ``a/b.jpg``.

    Args:
        text: The image as the task names it.
        without_prefix: Whether to remove the eight digits that Label Studio adds to uploaded files.
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


def labels_of(value: dict[str, Any]) -> list[str]:
    """Return the labels of a region, such as those of its `rectanglelabels`; [] for none."""
    for name, given in value.items():
        if name.endswith("labels") and isinstance(given, list):
            return [encodable(one.strip()) for one in given if isinstance(one, str) and one.strip()]
    return []


def is_region(value: dict[str, Any]) -> bool:
    """Return whether a result has a place in the image; a choice has none, unless it is of a region."""
    return CHOICES not in value and any(name in value for name in ("x", "points", "rle"))


def has_box(value: dict[str, Any]) -> bool:
    """Return whether a region has an area whose box can be computed: a rectangle, ellipse or polygon."""
    return "points" in value or {"width", "height"} <= value.keys() or {"radiusX", "radiusY"} <= value.keys()


def choices_of(value: dict[str, Any]) -> list[str]:
    """Return the choices of a result for the whole image; [] for none."""
    given = value.get(CHOICES)
    if not isinstance(given, list) or "x" in value:
        return []
    return [encodable(one.strip()) for one in given if isinstance(one, str) and one.strip()]


def _image_size(results: Iterable[Result]) -> tuple[int, int]:
    """Return the width and height in pixels that the regions refer to; (0, 0) if they do not say."""
    for result in results:
        width, height = result.value.get("original_width"), result.value.get("original_height")
        if _is_side(width) and _is_side(height):
            return int(width), int(height)  # type: ignore[arg-type]
    return 0, 0


def is_turned(results: Iterable[Result]) -> bool:
    """Return whether the image was turned while it was labelled: then coordinates refer to the turned image."""
    return any(result.value.get("image_rotation") not in {None, 0} for result in results)


def read_regions(results: Sequence[Result], name: str) -> ImageRecord:
    """Return an object for each label of each region, and what is wrong with others.

    Args:
        results: Results with areas. If they do not give the image's size, boxes are fractions of its sides.
        name: Name of the task in its file.
    """
    size = _image_size(results)
    found = ImageRecord(size=size)
    # <Labels> with <Rectangle>: the same region twice, once without labels.
    labelled = {result.region for result in results if labels_of(result.value)}
    for number, result in enumerate(results, 1):
        labels = labels_of(result.value)
        where = f"{name}, region {number}"
        if not labels:
            if result.region not in labelled:
                message = "it has no label; add its class, or remove it"
                found.problems.append(RecordProblem(where, BAD_ANNOTATION, message))
            continue
        box = _box(result.value, size)
        if not all(map(math.isfinite, box)):
            message = "its coordinates must be finite numbers; correct or remove it"
            found.problems.append(RecordProblem(where, BAD_BOX, message))
            continue
        found.objects += [{"bbox": box, "label_name": label, "name": f"region {number}"} for label in labels]
    return found


def _box(value: dict[str, Any], size: tuple[int, int]) -> list[float]:
    points = _outline(value, size)
    if not points:
        return [math.nan] * 4
    width, height = size if size[0] else (1, 1)
    across = [x * width / _PERCENT for x, _ in points]
    down = [y * height / _PERCENT for _, y in points]
    if len(points) == 2:
        return [down[0], across[0], down[1], across[1]]
    return [min(down), min(across), max(down), max(across)]


def _outline(value: dict[str, Any], size: tuple[int, int]) -> _Points:
    """Return the corners of a region in percent, two of them for a plain rectangle."""
    if "points" in value:
        try:
            points = [(float(x), float(y)) for x, y in value["points"]]
        except (TypeError, ValueError, OverflowError):
            return []
        return points if len(points) > 2 else []
    x, y = _number(value, "x"), _number(value, "y")
    # Angles are of pixels; without a size, the image is taken for square.
    aspect = size[0] / size[1] if size[0] else 1.0
    turn = _number(value, "rotation") if value.get("rotation") is not None else 0.0
    angle = math.radians(turn % 360)
    sine, cosine = math.sin(angle), math.cos(angle)
    if "radiusX" in value:
        rx, ry = _number(value, "radiusX"), _number(value, "radiusY") / aspect
        across, down = math.hypot(rx * cosine, ry * sine), math.hypot(rx * sine, ry * cosine) * aspect
        return [(x - across, y - down), (x + across, y + down)]
    width, height = _number(value, "width"), _number(value, "height")
    if turn == 0:
        return [(x, y), (x + width, y + height)]
    # A rectangle is turned around its upper left corner.
    corners = ((0.0, 0.0), (width, 0.0), (width, height / aspect), (0.0, height / aspect))
    return [(x + px * cosine - py * sine, y + (px * sine + py * cosine) * aspect) for px, py in corners]


def _number(value: dict[str, Any], name: str) -> float:
    found = value.get(name)
    return float(found) if type(found) in {int, float} and abs(found) < _MAX_SIDE else math.nan  # type: ignore[arg-type]


def _is_side(value: Any) -> bool:
    return type(value) in {int, float} and 0 < value < _MAX_SIDE
