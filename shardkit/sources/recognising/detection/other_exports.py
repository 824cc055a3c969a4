"""Refuse exports of labelling tools that no layout reads, with the export to choose there instead.

Without this, a table of Label Studio would have a class for each text of JSON in it, and images next to a file that is
not understood would be class folders.
"""

import posixpath
from collections.abc import Iterator

from shardkit.errors import DataError
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.recognising.detection.box_json.single_files import format_of_image
from shardkit.sources.recognising.detection.labelme import is_labelme_file
from shardkit.sources.walking import files_in, read_head
from shardkit.storage import Folder

_TRIED = 8  # files that are tested
_TABLES = (".csv", ".tsv")
_REGIONS = b"rectanglelabels|polygonlabels|brushlabels|ellipselabels|keypointlabels".split(b"|")


def other_export(folder: Folder, path: str) -> str | None:
    """Return what a file is and which export to choose instead; None if it is of no known tool."""
    kind = posixpath.splitext(path)[1].lower()
    if kind not in _TABLES:
        return None
    head = read_head(folder, path) or b""
    if b"annotation_id" in head and any(word in head for word in _REGIONS):
        return "this is Label Studio's CSV, whose boxes are JSON in a field; export 'JSON' there"
    return None


def refuse_other_export(folder: Folder, path: str) -> None:
    """Refuse a file that is such an export, or the file of one image."""
    if path.lower().endswith(".json"):
        title = "the Labelme file of one image" if is_labelme_file(folder, path) else format_of_image(folder, path)
        if title:
            command = Change("all images of the folder that have such a file", sources=(folder.url,))
            raise RefusalError(f"{folder.url}/{path}: this is {title}", [command])
    if what := other_export(folder, path):
        msg = f"{folder.url}/{path}: {what}"
        raise DataError(msg)


def holds_other_export(folder: Folder) -> bool:
    """Refuse a folder with such an export; return False if it has none."""
    for path in _candidates(folder):
        if what := other_export(folder, path):
            msg = f"{folder.url}/{path}: {what}"
            raise DataError(msg)
    return False


def _candidates(folder: Folder) -> Iterator[str]:
    yield from files_in(folder, "", *_TABLES)[:_TRIED]
