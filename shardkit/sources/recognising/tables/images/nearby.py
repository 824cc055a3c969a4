"""Search the folders near a table for the images that it names, as in Kaggle's ``train.csv`` with ``train_images/``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shardkit.errors import MachineError
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.engine.lookup import NameResolver
from shardkit.sources.file_names import ending
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import file_or_folder, join, list_if_allowed
from shardkit.storage import Folder, LocalFolder, RemoteFolder, open_folder

NUM_SEARCHED = 10  # images that are searched in each folder
_MAX_FOLDERS = 100  # folders of one level that are searched
# Siblings of the table's folder may belong to another dataset, so that only these names are searched.
_FOR_IMAGES = re.compile(
    r"((train|test|val|valid|validation|all|raw)[_-]?)?(images?|imgs?|photos?|pictures?|jpe?gs?|pngs?|jpegimages)"
    r"([_-]?[a-z0-9]{1,10})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Nearby:
    """Folders near a table that hold its images.

    Attributes:
        base: The folder that `folders` are below: the table's folder or its parent.
        folders: Paths of the folders; several if the images are spread over them.
        found: For each folder, the paths of the table that are there.
        by_name: Whether files are found only by inexact names.
    """

    base: Folder
    folders: tuple[str, ...]
    found: tuple[frozenset[str], ...]
    by_name: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether some path is in two folders."""
        return sum(map(len, self.found)) > len(frozenset().union(*self.found))


def search_nearby(folder: Folder, paths: Sequence[str], *, also_above: bool) -> Nearby | None:
    """Return the folders that hold a table's images; None if there are none.

    Search the children and grandchildren of the folder, and for copies of what is there a few folders in them; then its
    siblings with usual names for image folders, and the folders in them; for paths with folders, also the parent.

    With `also_above`, siblings are searched, too.
    """
    levels = _two_levels(folder)
    found = _search(folder, levels, paths)
    if found is not None:
        return _with_copies(found, _deeper(folder, levels), paths)
    above = parent_folder(folder) if also_above else None
    if above is None:
        return None
    parent = [""] if all("/" in path for path in paths) else []
    return _search(above, [*parent, *_siblings(above, folder)], paths)


def parent_folder(folder: Folder) -> Folder | None:
    """Return the folder above; None for the root of a disk, a bucket or an archive."""
    if not isinstance(folder, LocalFolder | RemoteFolder):
        return None
    above, _, name = folder.url.rstrip("/").rpartition("/")
    return open_folder(above) if name and above and not above.endswith("/") else None


def _search(base: Folder, folders: list[str], paths: Sequence[str]) -> Nearby | None:
    names = NameResolver(base)
    for by_name in (False, True):
        found = {path: _held(names, path, paths, by_name=by_name) for path in folders}
        there = {path: held for path, held in found.items() if held}
        if there:
            # Datasets are split into numbered folders, and the first records may all be in the first one.
            numbered = {_without_digits(path) for path in there}
            spread = [path for path in folders if path in there or _without_digits(path) in numbered]
            return Nearby(base, tuple(spread), tuple(found[path] for path in spread), by_name)
    return None


def _with_copies(found: Nearby, deeper: Sequence[str], paths: Sequence[str]) -> Nearby:
    """Return folders with those that have images of the same names: thumbnails/1.jpg may be of data/train/cat/1.jpg."""
    names = NameResolver(found.base)
    held = {path: _held(names, path, paths, by_name=found.by_name) for path in deeper}
    more = {path: one for path, one in held.items() if one & frozenset().union(*found.found)}
    return Nearby(found.base, (*found.folders, *more), (*found.found, *more.values()), found.by_name)


def _held(names: NameResolver, above: str, paths: Iterable[str], *, by_name: bool) -> frozenset[str]:
    return frozenset(path for path in paths if _is_held(names, join(above, path), by_name=by_name))


def _is_held(names: NameResolver, key: str, *, by_name: bool) -> bool:
    if by_name:
        try:
            return names.find(key) is not None
        except BadRecord:  # several files: the listing rejects the record
            return True
    if ending(key) not in IMAGE_ENDINGS:
        return False
    return is_file(names.folder, key)


def is_file(folder: Folder, path: str) -> bool:
    """Return whether a file exists; False too in a folder that may not be read."""
    try:
        entry = file_or_folder(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError):
            return False
        raise
    return entry is not None and not entry.is_folder


def _without_digits(path: str) -> str:
    return re.sub("[0-9]+", "0", path)


def _two_levels(folder: Folder) -> list[str]:
    children = _folders_in(folder, "")
    return [*children, *_grandchildren(folder, children)]


def _deeper(folder: Folder, levels: Sequence[str]) -> list[str]:
    """Return the folders of the third and fourth level, a hundred of each at most."""
    third = _grandchildren(folder, [path for path in levels if "/" in path])
    return [*third, *_grandchildren(folder, third)]


def _siblings(above: Folder, folder: Folder) -> list[str]:
    own = folder.url.rstrip("/").rpartition("/")[2]
    siblings = [name for name in _folders_in(above, "") if name != own and _FOR_IMAGES.fullmatch(name)]
    return [*siblings, *_grandchildren(above, siblings)]


def _grandchildren(folder: Folder, children: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in children:
        found += [join(name, inner) for inner in _folders_in(folder, name)]
        if len(found) >= _MAX_FOLDERS:
            break
    return found[:_MAX_FOLDERS]


def _folders_in(folder: Folder, path: str) -> list[str]:
    return [entry.name for entry in list_if_allowed(folder, path) if entry.is_folder][:_MAX_FOLDERS]
