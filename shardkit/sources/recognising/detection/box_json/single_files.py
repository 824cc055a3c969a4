"""A JSON file of boxes for each image: Supervisely's ``ann/1.jpg.json``, BDD100K's ``labels/1.json``, FUNSD's forms.

Supervisely's tags are classes of whole images, if its files have no objects.
"""

from collections.abc import Sequence

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.formats.column_names import is_split
from shardkit.sources.formats.image_json import BDD_IMAGE, DARWIN, DEEP_FASHION, FUNSD, SUPERVISELY
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.box_json.files import classes_of
from shardkit.sources.recognising.detection.files_of_images import files_with, first_files, first_records
from shardkit.sources.recognising.detection.found_files import open_image_files
from shardkit.sources.walking import read_head
from shardkit.storage import Folder

_FORMATS = {one.name: one for one in (SUPERVISELY, BDD_IMAGE, FUNSD, DEEP_FASHION, DARWIN)}


def open_single_files(opening: Opening, name: str, chosen: Sequence[str]) -> Source:
    """Decide whether files of single images are read as boxes or as classes, from the first of them."""
    folder, kind = opening.folder, _FORMATS[name]
    first = first_records(folder, kind, files_with(folder, ".json"))
    field = None
    if chosen or any(one.attributes for one in first):
        field, _ = classes_of(folder.url, first, chosen)
    values = [one.attributes.get(field or "", []) for one in first]
    every = {value for some in values for value in some}
    if len(every) > 1 and all(map(is_split, every)):
        msg = f"{folder.url}: {field!r} of the images gives splits ({', '.join(sorted(every))}), and nothing classes"
        raise DataError(msg)
    options = {"splits": "folders"} | ({"boxed": "keep"} if chosen else {})
    several = any(len(some) > 1 for some in values)
    title, remark = LAYOUTS["box-json"].title, f"; {kind.title}"
    return open_image_files(
        opening, name, title, ["**/*.json"], options, field=field, has_several=several, remark=remark
    )


def find_single_files(folder: Folder) -> str | None:
    """Return the format of a folder's JSON files, one for each image, judging by the first few; None for none."""
    for path in first_files(folder):
        if found := format_of_image(folder, path):
            return found
    return None


def format_of_image(folder: Folder, path: str) -> str | None:
    """Return the format of a file that is about one image; None if it is another one."""
    head = (read_head(folder, path) or b"") if path.lower().endswith(".json") else b""
    return next((one.name for one in _FORMATS.values() if one.sniff(head)), None)
