"""Parse a task of Label Studio's exports JSON and JSON-MIN: the image, and the results that people gave.

JSON has ``{"data": {"image": …}, "annotations": [{"result": [{"from_name", "type", "value"}]}]}``, JSON-MIN
``{"image": …, "label": [{"x", "y", "width", "height", "rectanglelabels"}], "choice": "cat"}``.

Coordinates of regions are percent of the image's sides.
"""

import json
import math
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from shardkit.naming import IMAGE_ENDINGS
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.file_names import ending
from shardkit.sources.formats.format import Format, Options
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.json_stream import top_level_items
from shardkit.sources.listing import RecordProblem, count_skipped
from shardkit.sources.name_index import UPLOAD_PREFIX
from shardkit.sources.walking import looks_like

# Keys of JSON-MIN that are not results.
_OF_TASK = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"})
_OF_RESULT = ("original_width", "original_height", "image_rotation")
_CHOICES = "choices"
# Of JSON, and of JSON-MIN.
_KEYS = (
    (rb'"data"\s*:\s*\{', rb'"(annotations|completions)"\s*:\s*\['),
    (rb'"annotation_id"\s*:', rb'"(annotator|lead_time)"\s*:'),
)
_DECODER = json.JSONDecoder()
_PERCENT = 100.0
_MAX_SIDE = 2**31
_Points = list[tuple[float, float]]


class _Result(NamedTuple):
    """A result: the name of the control that gave it, its id (regions only), and its value."""

    control: str
    region: str
    value: dict[str, Any]


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
    data = task.get("data")
    good = [one for one in annotations if isinstance(one, dict) and one.get("was_cancelled") is not True]
    good.sort(key=lambda one: one.get("ground_truth") is not True)
    found = good[0].get("result") if good else []
    record = _of_results(
        _image(data if isinstance(data, dict) else {}),
        number,
        [
            _Result(
                str(one.get("from_name", "")),
                str(one.get("id", "")),
                {**one["value"], **{name: one[name] for name in _OF_RESULT if name in one}},
            )
            for one in (found if isinstance(found, list) else [])
            if isinstance(one, dict) and isinstance(one.get("value"), dict)
        ],
    )
    record.is_skipped = not good
    if len(good) > 1:
        count_skipped(record.left_out, "further annotations of a task", len(good) - 1)
    return record


def _of_results(image: str, number: int, results: Sequence[_Result]) -> ImageRecord:
    record = ImageRecord(image, number=number)
    for result in results:
        if choices := _choices_of(result.value):
            known = record.attributes.setdefault(result.control, [])
            known += [one for one in dict.fromkeys(choices) if one not in known]
    regions = [result for result in results if _is_region(result.value)]
    with_box = [result for result in regions if _has_box(result.value)]
    if len(with_box) < len(regions):
        count_skipped(record.left_out, "regions without box (brushes, key points)", len(regions) - len(with_box))
    if any(result.value.get("image_rotation") not in {None, 0} for result in with_box):
        record.bad = "the image was turned in Label Studio; turn the file itself, and label it again"
    else:
        _add_regions(record, with_box)
    return record


def _minimal_results(name: str, given: Any) -> Iterator[_Result]:
    if isinstance(given, str) and ending(given) not in IMAGE_ENDINGS:
        yield _Result(name, "", {"choices": [given]})
    elif isinstance(given, dict) and "choices" in given:
        yield _Result(name, "", given)
    elif isinstance(given, list):
        for one in given:
            if isinstance(one, dict):
                yield _Result(name, str(one.get("id", "")), one)


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


def _labels_of(value: dict[str, Any]) -> list[str]:
    """Return the labels of a region, such as those of its `rectanglelabels`; [] for none."""
    for name, given in value.items():
        if name.endswith("labels") and isinstance(given, list):
            return [encodable(one.strip()) for one in given if isinstance(one, str) and one.strip()]
    return []


def _is_region(value: dict[str, Any]) -> bool:
    """Return whether a result has a place in the image; a choice has none, unless it is of a region."""
    return _CHOICES not in value and any(name in value for name in ("x", "points", "rle"))


def _has_box(value: dict[str, Any]) -> bool:
    """Return whether a region has an area whose box can be computed: a rectangle, ellipse or polygon."""
    return "points" in value or {"width", "height"} <= value.keys() or {"radiusX", "radiusY"} <= value.keys()


def _choices_of(value: dict[str, Any]) -> list[str]:
    given = value.get(_CHOICES)
    if not isinstance(given, list) or "x" in value:
        return []
    return [encodable(one.strip()) for one in given if isinstance(one, str) and one.strip()]


def _image_size(results: Iterable[_Result]) -> tuple[int, int]:
    """Return the width and height in pixels that the regions refer to; (0, 0) if they do not say."""
    for result in results:
        width, height = result.value.get("original_width"), result.value.get("original_height")
        if _is_side(width) and _is_side(height):
            return int(width), int(height)  # type: ignore[arg-type]
    return 0, 0


def _add_regions(record: ImageRecord, results: Sequence[_Result]) -> None:
    """Add an object for each label of each region, and what is wrong with others.

    If the results do not give the image's size, boxes are fractions of its sides.
    """
    record.size = size = _image_size(results)
    # <Labels> with <Rectangle>: the same region twice, once without labels.
    labelled = {result.region for result in results if _labels_of(result.value)}
    for number, result in enumerate(results, 1):
        labels = _labels_of(result.value)
        where = f"task {record.number}, region {number}"
        if not labels:
            if result.region not in labelled:
                message = "it has no label; add its class, or remove it"
                record.problems.append(RecordProblem(where, BAD_ANNOTATION, message))
            continue
        box = _box(result.value, size)
        if not all(map(math.isfinite, box)):
            message = "its coordinates must be finite numbers; correct or remove it"
            record.problems.append(RecordProblem(where, BAD_BOX, message))
            continue
        record.objects += [{"bbox": box, "label_name": label, "name": f"region {number}"} for label in labels]


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


class _LabelStudio(Format):
    """Label Studio's exports; with the option `uploads`, images lack the digits that it adds to uploaded files."""

    name = "label-studio"
    title = "Label Studio's export"
    noun = "task"
    settings = frozenset({"uploads"})

    def sniff(self, head: bytes) -> bool:
        return any(looks_like(head, *keys, start=b"[") for keys in _KEYS)

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        without_prefix = options.get("uploads") == "renamed"
        for number, (_, task) in enumerate(top_level_items(file, name, _DECODER), 1):
            record = _record(task, number)
            record.image = image_path(record.image, without_prefix=without_prefix)
            yield record


LABEL_STUDIO = _LabelStudio()
