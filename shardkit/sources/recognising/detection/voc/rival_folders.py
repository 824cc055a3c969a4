"""Folders of XML files for the same images, such as DIOR's horizontal and oriented boxes: read one, or refuse."""

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.file_names import stem_of
from shardkit.sources.recognising.detection.files_of_images import files_with, nearest_images
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import join, parent_of, read_head
from shardkit.storage import Folder

_FOLDERS_SHOWN = 8  # folders that the refusal names
_TRIED = 16  # files of a folder that are looked at
_BOX = b"<bndbox>"
_NAME = re.compile(rb"<name>\s*([^<]*?)\s*</name>")


def without_boxes(opening: Opening) -> tuple[str, ...]:
    """Return the folders to leave out: other shapes of the objects that one folder has boxes for."""
    files = files_with(opening.folder, ".xml")
    num_images = Counter(stem_of(path) for path in nearest_images(opening.folder).images)
    num_files = Counter(stem_of(path) for path, _ in files)
    twice = {stem for stem, num in num_files.items() if num > num_images[stem] > 0}
    if not twice:
        return ()
    inside: dict[str, list[str]] = {}
    for path, _ in files:
        inside.setdefault(parent_of(path), []).append(path)
    stems = {place: {stem_of(path) for path in paths} for place, paths in inside.items()}
    places = sorted(place for place, names in stems.items() if not names.isdisjoint(twice))
    if len(places) < 2:
        return ()
    tried = {place: _heads(opening.folder, inside[place]) for place in places}
    with_boxes = [place for place in places if any(_BOX in head for head in tried[place].values())]
    if len(with_boxes) == 1:
        boxes = with_boxes[0]
        others = tuple(place for place in places if place != boxes)
        if all(
            stems[other] <= stems[boxes] and _has_same_objects(opening.folder, tried[other], boxes) for other in others
        ):
            return others
    place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=opening.options.ignore)
    changes = [
        place.without([other for other in places if other != kept], f"the boxes in {printable(kept)}/")
        for kept in (with_boxes or places)[:_FOLDERS_SHOWN]
    ]
    problem = (
        f"{opening.url}: {len(places)} folders, such as {printable(places[0])}/, have XML files of the same images"
    )
    raise RefusalError(problem, changes)


def _heads(folder: Folder, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the starts of some files by path."""
    return {path: read_head(folder, path) or b"" for path in paths[:: -(-len(paths) // _TRIED)]}


def _has_same_objects(folder: Folder, tried: Mapping[str, bytes], boxes: str) -> bool:
    """Return whether some files name objects, and only of classes that the files of their names with boxes name too."""
    names = {path: {*_NAME.findall(head)} for path, head in tried.items()}
    return any(names.values()) and all(
        found <= {*_NAME.findall(read_head(folder, join(boxes, posixpath.basename(path))) or b"")}
        for path, found in names.items()
        if found
    )
