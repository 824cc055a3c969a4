"""CVAT for images 1.1: ``annotations.xml`` with the images in ``images/``; without shapes, tags are the classes."""

from collections.abc import Sequence
from functools import partial
from itertools import islice

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.options.words import named
from shardkit.sources.context import Opening
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.formats.cvat import CVAT, TracksError
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.found_files import FoundFile, open_found_files, read_records
from shardkit.sources.recognising.detection.image_paths import find_paths, image_places, not_near
from shardkit.sources.walking import files_in, read_head
from shardkit.storage import Folder

_TRIED = 8  # XML files that are tested
_FIRST = 1000  # images that decide how the file is read


def is_cvat(folder: Folder) -> bool:
    """Return whether a folder has XML files of CVAT, judging by the beginning of a few files."""
    return bool(_xml_files(folder))


def _xml_files(folder: Folder) -> list[str]:
    return [name for name in files_in(folder, "", ".xml")[:_TRIED] if CVAT.sniff(read_head(folder, name) or b"")]


def open_cvat(opening: Opening) -> Source:
    """Find CVAT's files and their images, which may be next to the folder of a file that is the source."""
    folder, path = opening.folder, opening.file
    paths = [path] if path is not None else _xml_files(folder)
    if not paths:
        msg = f"{folder.url}: there is no XML file of CVAT for images, such as annotations.xml next to images/"
        raise DataError(msg)
    first = {one: _first_images(folder, one) for one in paths}
    images = [image for some in first.values() for image in some]
    has_boxes = any(image.objects or image.problems for image in images)
    is_of_tags = not has_boxes and all(any(image.attributes for image in some) for some in first.values())
    located = [_locate(opening, one) for one in paths]
    return open_found_files(
        opening,
        located[0][0],
        CVAT.name,
        LAYOUTS["cvat"].title,
        [FoundFile(one, found[1]) for one, found in zip(paths, located, strict=True)],
        located[0][2],
        field="tag" if is_of_tags else None,
        gives_splits=any(image.split for image in images),
        has_several=any(len(image.attributes.get("tag", ())) > 1 for image in images),
    )


def _first_images(folder: Folder, path: str) -> Sequence[ImageRecord]:
    url = f"{folder.url}/{path}"
    if not CVAT.sniff(read_head(folder, path) or b""):
        msg = (
            f"{url}: the file is not 'CVAT for images 1.1'; for Pascal VOC, give the folder of the XML files as SOURCE"
        )
        raise DataError(msg)
    try:
        first = list(islice(read_records(folder, path, partial(CVAT.records, options={})), _FIRST))
    except TracksError as error:
        msg = f"{error}, which shardkit does not read; export the task as 'COCO 1.0' with its images"
        raise DataError(msg) from None
    if not any(image.image for image in first):
        msg = f"{url}: the file names no image; export the task as 'COCO 1.0' with its images"
        raise DataError(msg)
    return first


def _locate(opening: Opening, path: str) -> tuple[Folder, PathRule, dict[str, str]]:
    """Return the folder that keys start at, how paths become keys, and the options of the format."""
    places = image_places(opening.folder, path, opening.options, may_leave=opening.file is not None)
    ways: tuple[dict[str, str], ...] = ({}, {"subset": "folder"})
    for options in ways:
        names = read_records(opening.folder, path, partial(CVAT.names, options=options))
        texts = list(islice(names, _FIRST))
        if located := find_paths(texts, places):
            return *located, options
    why = not_near(f"{opening.folder.url}/{path}", texts, places)
    msg = f"{why}; give the folder that the images are in with {named('root')}, or export the task with its images"
    raise DataError(msg)
