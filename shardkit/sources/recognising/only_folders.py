"""Folders around everything that a source holds, texts for people aside, and trees without those of unpacking.

    train_zip/train/1.jpg           train/1.jpg
    car_data/car_data/train/…       train/…, next to the tables that are next to car_data/
    images/images/1.jpg             images/1.jpg

A tree without them is tried only if it cannot be read as it is: then no key changes of a source that can.
"""

import re
from collections.abc import Iterator

from shardkit.archives.mounted_folder import Mount, MountedFolder
from shardkit.naming import printable
from shardkit.sources.options import subfolder
from shardkit.sources.walking import children, is_ignored, is_image, join
from shardkit.storage import Folder, LocalFolder, RemoteFolder

_MAX_BESIDE = 100  # texts and files of systems next to a folder around everything
_TEXT = re.compile(r"(?:readme|licen[cs]e|citation)[^/]*|.*\.(?:md|pdf|rst|html)", re.IGNORECASE)
_MAX_FOLDERS = 50  # next to each other
_MAX_DEPTH = 4  # folders in each other
# What unpacking adds to the name of an archive: train_zip, dataset-master, images.tar
_PACKED = re.compile(
    r"(?P<name>.+?)[-_. ](?:zip|tar|tgz|gz|7z|rar|master|main|unzipped|unpacked|extracted)", re.IGNORECASE
)


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


def without_wrappers(folder: Folder, excluded: str | None) -> Iterator[tuple[Folder, str]]:
    """Yield a folder as it would be without wrappers, and what changed, beginning with ';'; nothing if it has none."""
    left_out = [] if excluded is None else [excluded]
    folders = [one.name for one in children(folder) if one.is_folder and one.name != excluded]
    if not folders or len(folders) > _MAX_FOLDERS:
        return
    moved = {name: _without_wrapper(folder, name) for name in folders}
    changed = {name: place for name, place in moved.items() if place != (name, name)}
    ends = [end for end, _ in moved.values()]
    if changed and len(set(ends)) == len(ends):
        mounts = [Mount(end, folder, path) for end, path in changed.values()]
        yield _tree(folder, [*changed, *left_out], mounts), _note({path: end for end, path in changed.values()})
    if len(folders) == 1 and not _has_images(folder, ""):
        _, path = moved[folders[0]]
        while (inner := only_folder(folder, path)) and not _has_images(folder, path):
            path = join(path, inner)
        if not _has_images(folder, path) or path == folders[0]:
            is_alone = not left_out and only_folder(folder) is not None
            # A README next to the wrapper may be called like another one in it.
            texts = [one.name for one in children(folder) if is_text(one.name) or is_ignored(one.name)]
            lifted = _tree(folder, [*folders, *left_out, *texts], [Mount("", folder, path)])
            tree = subfolder(folder, path) if is_alone else lifted
            yield tree, _note({path: ""})


def _tree(folder: Folder, without: list[str], mounts: list[Mount]) -> MountedFolder:
    return MountedFolder(folder.url, (Mount("", folder, without=tuple(without)), *mounts))


def _note(moved: dict[str, str]) -> str:
    named = {path: f"{printable(end)}/" if end else "SOURCE" for path, end in moved.items()}
    return f"; {', '.join(f'{printable(path)}/ is read as {end}' for path, end in named.items())}"


def _without_wrapper(folder: Folder, name: str) -> tuple[str, str]:
    """Return the name and the path of what a folder holds, if it is around a folder of the same name."""
    path = end = name
    for _ in range(_MAX_DEPTH):
        inner = only_folder(folder, path)
        packed = _PACKED.fullmatch(end)
        if inner is None or inner.lower() not in {end.lower(), packed["name"].lower() if packed else None}:
            break
        path, end = join(path, inner), inner
    return end, path


def _has_images(folder: Folder, path: str) -> bool:
    return any(is_image(one.name) for one in children(folder, path) if not one.is_folder)
