"""A folder inside a source as a source of its own: in an archive, with the same hidden files, or in a store."""

from dataclasses import replace

from shardkit.archives.member_tree import ArchiveFolder
from shardkit.sources.ignoring.filtered_folder import FilteredFolder
from shardkit.sources.walking import join
from shardkit.storage import Folder, open_folder


def subfolder(folder: Folder, path: str) -> Folder:
    """Return the folder at a path below another one, with keys that start there."""
    if isinstance(folder, FilteredFolder):
        return replace(folder, inner=subfolder(folder.inner, path), above=join(folder.above, path))
    if isinstance(folder, ArchiveFolder):
        return replace(folder, root=join(folder.root, path))
    return open_folder(f"{folder.url.rstrip('/')}/{path}")


def is_archive(folder: Folder) -> bool:
    """Return whether a folder is in an archive, so that no path leads to a file or folder in it."""
    return isinstance(folder.inner if isinstance(folder, FilteredFolder) else folder, ArchiveFolder)
