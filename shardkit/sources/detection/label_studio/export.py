"""Open an export of Label Studio: decide whether it gives boxes or classes, and find its images."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.detection.annotation_files import AnnotationFile, read_records
from shardkit.sources.detection.image_paths import find_paths, image_places, not_near
from shardkit.sources.formats.label_studio import Task, choices_of, has_box, image_path, is_region, parse_task
from shardkit.sources.json_stream import top_level_items
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import files_in, looks_like, read_head
from shardkit.storage import Folder

_TRIED = 8  # JSON files that are tested
_FIRST = 1000  # tasks that decide how the file is read
# Of JSON, and of JSON-MIN.
_KEYS = (
    (rb'"data"\s*:\s*\{', rb'"(annotations|completions)"\s*:\s*\['),
    (rb'"annotation_id"\s*:', rb'"(annotator|lead_time)"\s*:'),
)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Export(AnnotationFile):
    """An export.

    Attributes:
        without_prefix: Whether the images are there without the digits that Label Studio adds to uploaded files.
        control: The control whose choices are the classes; None for boxes.
        has_several: Whether an image may have several classes.
    """

    without_prefix: bool
    control: str | None
    has_several: bool


def is_export(folder: Folder, path: str) -> bool:
    """Return whether a file is a JSON export of Label Studio, judging by its beginning."""
    head = read_head(folder, path)
    return any(looks_like(head, *keys, start=b"[") for keys in _KEYS)


def find_exports(folder: Folder) -> list[str]:
    """Return the names of the exports in a folder."""
    return [name for name in files_in(folder, "", ".json")[:_TRIED] if is_export(folder, name)]


def read_tasks(file: BinaryIO, url: str) -> Iterator[Task]:
    """Yield the tasks of an export.

    Raises:
        DataError: The file is not JSON.
    """
    return (parse_task(record, number) for number, (_, record) in enumerate(top_level_items(file, url, _DECODER), 1))


def open_export(folder: Folder, path: str, options: SourceOptions, *, may_leave: bool) -> tuple[Folder, Export]:
    """Decide how to read an export, from its first 1,000 tasks; return the folder that keys start at, and the export.

    Args:
        folder: The folder that the file's path starts at.
        path: The file.
        options: Options of the source: `root` is the folder of the images, the label column a control of choices.
        may_leave: Whether the images may be in the folder above.

    Raises:
        DataError: The file has neither boxes nor choices, or its images are not found.
        CallError: Several controls have choices.
    """
    url = f"{folder.url}/{path}"
    tasks = list(islice(read_records(folder, path, read_tasks), _FIRST))
    control = _control(url, tasks, options)
    several = control is not None and any(len(choices_by(task, control)) > 1 for task in tasks)
    with_image = [task.image for task in tasks if task.image]
    if not with_image:
        msg = f"{url}: its first tasks name no image"
        raise DataError(msg)
    places = image_places(folder, path, options, may_leave=may_leave)
    for without_prefix in (False, True):
        texts = [image_path(text, without_prefix=without_prefix) for text in with_image]
        if found := find_paths(texts, places):
            return found[0], Export(path, found[1], None, without_prefix, control, several)
    why = not_near(url, with_image, places)
    msg = f"{why}: this export has no images; give their folder with {named('root')}, or export 'COCO with images'"
    raise DataError(msg)


def _control(url: str, tasks: list[Task], options: SourceOptions) -> str | None:
    """Return the control whose choices are the classes; None if the export has boxes."""
    controls = {result.control: None for task in tasks for result in task.results if choices_of(result.value)}
    chosen = next(iter(options.label_columns), None)
    if chosen is not None:
        if chosen not in controls:
            given = ", ".join(map(repr, controls)) or "none"
            msg = f"{url}: no control {chosen!r} has choices; there are {given}"
            raise DataError(msg)
        return chosen
    if any(has_box(result.value) and is_region(result.value) for task in tasks for result in task.results):
        return None
    if len(controls) > 1:
        commands = [
            Change(f"the choices of {printable(name)} are the classes", {"label_columns": (name,)}, sources=(url,))
            for name in controls
        ]
        raise RefusalError(f"{url}: {len(controls)} controls have choices", commands)
    if not controls:
        msg = (
            f"{url}: its first tasks have neither rectangles nor choices; export brushes and key points as 'COCO with "
            "images' or 'YOLO with images'"
        )
        raise DataError(msg)
    return next(iter(controls))


def choices_by(task: Task, control: str | None) -> list[str]:
    """Return the choices that a control gives a task's image, each once."""
    found = [one for result in task.results if result.control == control for one in choices_of(result.value)]
    return list(dict.fromkeys(found))
