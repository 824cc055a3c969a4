"""Refuse exports of labelling tools that no layout reads, with the export to choose there instead.

Without this, a table of Label Studio would have a class for each text of JSON in it, and images next to a file that is
not understood would be class folders.
"""

import posixpath
from collections.abc import Iterator

from shardkit.errors import DataError
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.detection.labelme.files import is_labelme_file
from shardkit.sources.walking import files_in, read_head
from shardkit.storage import Folder

_TRIED = 8  # files that are tested
_TABLES = (".csv", ".tsv")
_LISTS = (".json", ".jsonl", ".ndjson")
_ENDINGS = (*_TABLES, *_LISTS)
_REGIONS = b"rectanglelabels|polygonlabels|brushlabels|ellipselabels|keypointlabels".split(b"|")
_SUPERVISELY = "this is Supervisely's JSON; export COCO there, with the app 'Export to COCO'"
# Endings, words that are all in the beginning of the file, and what to say.
_EXPORTS: tuple[tuple[tuple[str, ...], tuple[bytes, ...], str], ...] = (
    (_LISTS, (b'"classTitle"',), _SUPERVISELY),
    (_LISTS, (b'"projectType"', b'"classes"'), _SUPERVISELY),  # meta.json, next to folders of img/ and ann/
    (_LISTS, (b'"data_row"', b'"projects"'), "this is Labelbox's JSON, which its SDK converts to COCO"),
)


def other_export(folder: Folder, path: str) -> str | None:
    """Return what a file is and which export to choose instead; None if it is of no known tool."""
    kind = posixpath.splitext(path)[1].lower()
    if kind not in _ENDINGS:
        return None
    head = read_head(folder, path) or b""
    if kind in _TABLES and b"annotation_id" in head and any(word in head for word in _REGIONS):
        return "this is Label Studio's CSV, whose boxes are JSON in a field; export 'JSON' there"
    found = (text for endings, words, text in _EXPORTS if kind in endings and all(word in head for word in words))
    return next(found, None)


def refuse_other_export(folder: Folder, path: str) -> None:
    """Refuse a file that is such an export, or Labelme's file of one image.

    Raises:
        DataError: The file is such an export.
        CallError: It is Labelme's.
    """
    if path.lower().endswith(".json") and is_labelme_file(folder, path):
        command = Change("all images of the folder that have a file of Labelme", sources=(folder.url,))
        raise RefusalError(f"{folder.url}/{path}: this is the Labelme file of one image", [command])
    if what := other_export(folder, path):
        msg = f"{folder.url}/{path}: {what}"
        raise DataError(msg)


def holds_other_export(folder: Folder) -> bool:
    """Refuse a folder with such an export; return False if it has none.

    Raises:
        DataError: The folder has one.
    """
    for path in _candidates(folder):
        if what := other_export(folder, path):
            msg = f"{folder.url}/{path}: {what}"
            raise DataError(msg)
    return False


def _candidates(folder: Folder) -> Iterator[str]:
    yield from files_in(folder, "", *_ENDINGS)[:_TRIED]
