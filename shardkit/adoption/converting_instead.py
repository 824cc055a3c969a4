"""Offer the conversion of TFRecords which cannot be adopted as they are."""

import posixpath
from collections.abc import Sequence
from typing import Any

from shardkit.dataset.foreign.file_names import is_tfrecord_name
from shardkit.naming import split_of_folder
from shardkit.options.call import Change
from shardkit.storage import Folder

_MAX_SOURCES = 6  # longer calls name the folder that all files are in


def conversion_of(records: Folder, paths: Sequence[str], **options: Any) -> Change:
    """Return the call that converts TFRecord files.

    It names folders if the files are all TFRecord files in them, else the files.

    Args:
        records: The folder that the files have in common.
        paths: Their paths in it.
        **options: Further options that it needs, by name.
    """
    given = set(paths)
    folders = sorted({posixpath.dirname(path) for path in paths})
    if all(_records_in(records, folder) <= given for folder in folders):
        chosen = sorted(set(map(_folder_to_name, folders)))
    else:
        chosen = sorted(given)
    if "" in chosen or len(chosen) > _MAX_SOURCES:
        chosen = [""]
    urls = [f"{records.url.rstrip('/')}/{one}".rstrip("/") for one in chosen]
    changed = {"layout": "tfrecord", **options}
    return Change("", changed, sources=tuple(urls), command="convert", starts_anew=True)


def _records_in(records: Folder, folder: str) -> set[str]:
    names = [entry.name for entry in records.scan(folder) if not entry.is_folder and is_tfrecord_name(entry.name)]
    return {posixpath.join(folder, name) for name in names}


def _folder_to_name(folder: str) -> str:
    """Return the folder to name for one with files: a source is read with the split folders in it."""
    return posixpath.dirname(folder) if split_of_folder(posixpath.basename(folder)) else folder
