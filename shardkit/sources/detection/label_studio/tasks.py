"""Parse a task of Label Studio's exports JSON and JSON-MIN: the image, and the results that people gave.

JSON has ``{"data": {"image": …}, "annotations": [{"result": [{"from_name", "type", "value"}]}]}``, JSON-MIN
``{"image": …, "label": [{"x", "y", "width", "height", "rectanglelabels"}], "choice": "cat"}``.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.listing import ending

_UPLOAD_PREFIX = re.compile(r"[0-9a-f]{8}-(?=.)")  # that Label Studio adds to the names of uploaded files
# Keys of JSON-MIN that are not results.
_OF_TASK = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"})


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
    return posixpath.join(above, _UPLOAD_PREFIX.sub("", name, count=1) if without_prefix else name)
