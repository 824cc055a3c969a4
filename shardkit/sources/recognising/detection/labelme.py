"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Flags are the classes of images, if no file has shapes.
"""

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.sources.context import Opening
from shardkit.sources.formats.labelme import LABELME
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.files_of_images import files_with, first_files, first_records, has_shapes
from shardkit.sources.recognising.detection.found_files import open_image_files
from shardkit.sources.walking import read_head
from shardkit.storage import Folder


def is_labelme_file(folder: Folder, path: str) -> bool:
    """Return whether a file is Labelme's, judging by its beginning."""
    return LABELME.sniff(read_head(folder, path) or b"")


def has_labelme(folder: Folder) -> bool:
    """Return whether a folder has files of Labelme, judging by names and the beginning of a few files."""
    return any(is_labelme_file(folder, path) for path in first_files(folder))


def open_labelme(opening: Opening) -> Source:
    """Find Labelme's files."""
    folder = opening.folder
    jsons = files_with(folder, ".json")
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    first = first_records(folder, LABELME, jsons)
    has_flags = any(one.attributes for one in first) and not any(map(has_shapes, first))
    options = {"splits": "folders"} if with_splits else {}
    field = "flags" if has_flags else None
    several = any(len(one.attributes.get("flags", ())) > 1 for one in first)
    title = LAYOUTS["labelme"].title
    return open_image_files(opening, LABELME.name, title, ["**/*.json"], options, field=field, has_several=several)
