"""The folder around everything that a source holds, texts for people aside."""

import re

from shardkit.sources.context import subfolder
from shardkit.sources.walking import children, is_image, join
from shardkit.storage import Folder, LocalFolder, RemoteFolder

_MAX_BESIDE = 100  # texts and files of systems next to a folder around everything
_TEXT = re.compile(r"(?:readme|licen[cs]e|citation)[^/]*|.*\.(?:md|pdf|rst|html)", re.IGNORECASE)


def is_text(name: str) -> bool:
    """Return whether a file is a text for people that comes with a dataset, such as README or LICENSE.pdf."""
    return _TEXT.fullmatch(name) is not None


def only_folder(folder: Folder, path: str = "") -> str | None:
    """Return the only folder in a folder, which holds no other file but texts; None if there is none."""
    if len(names_in(folder, path)) > _MAX_BESIDE:
        return None
    entries = [one for one in children(folder, path) if one.is_folder or not is_text(one.name)]
    return entries[0].name if len(entries) == 1 and entries[0].is_folder else None


def unwrapped(folder: Folder) -> tuple[Folder, str]:
    """Return a folder and the path in it of the folder around its contents; '' if these are in the folder itself.

    A folder is around the contents if it is the only one there, and if it holds no image itself: it may be a class.
    """
    path = ""
    while top := only_folder(folder, path):
        if any(is_image(one.name) for one in children(folder, join(path, top))):
            break
        path = join(path, top)
    return folder, path


def top_of(archive: Folder) -> Folder:
    """Return the only top folder of an archive if there is no other file; else the archive itself.

    Files of operating systems, such as ``__MACOSX``, and entries whose names leave the archive do not count.
    """
    entries = children(archive)
    return subfolder(archive, entries[0].name) if len(entries) == 1 and entries[0].is_folder else archive


def names_in(folder: Folder, path: str) -> list[str]:
    """Return the names in a folder, without looking at the files of a local one."""
    if isinstance(folder, LocalFolder):
        return folder.names(path)
    return [] if isinstance(folder, RemoteFolder) and path else [one.name for one in children(folder, path)]
