"""Label Studio's exports JSON and JSON-MIN: rectangles, ellipses and polygons as boxes, or choices as classes.

An export with boxes is read as boxes; ``label_columns=CONTROL`` reads the choices of a control instead. The export has
no images: they are searched near the file, by the path at the end of their URL, and without the digits that Label
Studio adds to the names of uploaded files.
"""

from collections.abc import Sequence
from functools import partial
from itertools import islice

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.formats.label_studio import LABEL_STUDIO
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.found_files import FoundFile, open_found_files, read_records
from shardkit.sources.recognising.detection.image_paths import find_paths, image_places, not_near
from shardkit.sources.walking import files_in, read_head
from shardkit.storage import Folder

_TRIED = 8  # JSON files that are tested
_FIRST = 1000  # tasks that decide how the file is read


def is_export(folder: Folder, path: str) -> bool:
    """Return whether a file is a JSON export of Label Studio, judging by its beginning."""
    return LABEL_STUDIO.sniff(read_head(folder, path) or b"")


def has_label_studio(folder: Folder) -> bool:
    """Return whether a folder has a JSON export of Label Studio."""
    return bool(_find_exports(folder))


def _find_exports(folder: Folder) -> list[str]:
    return [name for name in files_in(folder, "", ".json")[:_TRIED] if is_export(folder, name)]


def open_label_studio(opening: Opening) -> Source:
    """Find the export and its images, and decide how to read it, from its first 1,000 tasks."""
    folder, path = opening.folder, opening.file
    found = [path] if path is not None else _find_exports(folder)
    if path is not None and not is_export(folder, path):
        msg = f"{folder.url}/{path}: the file is not an export 'JSON' or 'JSON-MIN' of Label Studio"
        raise DataError(msg)
    if not found:
        msg = f"{folder.url}: there is no JSON export of Label Studio; searched for *.json"
        raise DataError(msg)
    if len(found) > 1:
        commands = [Change(f"the tasks of {name}", sources=(f"{folder.url}/{name}",)) for name in found]
        raise RefusalError(f"{folder.url}: {len(found)} exports of Label Studio may be the source", commands)
    return _open(opening, found[0])


def _open(opening: Opening, path: str) -> Source:
    folder, url = opening.folder, f"{opening.folder.url}/{path}"
    tasks = list(islice(read_records(folder, path, partial(LABEL_STUDIO.records, options={})), _FIRST))
    control = _control(url, tasks, opening.options.label_columns)
    names = [task.image for task in tasks if task.image]
    if not names:
        msg = f"{url}: its first tasks name no image"
        raise DataError(msg)
    places = image_places(folder, path, opening.options, may_leave=opening.file is not None)
    for options in ({}, {"uploads": "renamed"}):
        some = read_records(folder, path, partial(LABEL_STUDIO.names, options=options))
        if located := find_paths(list(islice(some, _FIRST)), places):
            root, paths = located
            several = any(len(task.attributes.get(control or "", ())) > 1 for task in tasks)
            files = [FoundFile(path, paths)]
            title = LAYOUTS["label-studio"].title
            name = LABEL_STUDIO.name
            return open_found_files(opening, root, name, title, files, options, field=control, has_several=several)
    why = not_near(url, names, places)
    msg = f"{why}: this export has no images; give their folder with {named('root')}, or export 'COCO with images'"
    raise DataError(msg)


def _control(url: str, tasks: Sequence[ImageRecord], chosen: Sequence[str]) -> str | None:
    """Return the control whose choices are the classes; None if the export has boxes."""
    controls = list(dict.fromkeys(name for task in tasks for name in task.attributes))
    if chosen:
        if chosen[0] not in controls:
            given = ", ".join(map(repr, controls)) or "none"
            msg = f"{url}: no control {chosen[0]!r} has choices; there are {given}"
            raise DataError(msg)
        return chosen[0]
    if any(task.objects or task.problems or task.bad for task in tasks):
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
    return controls[0]
