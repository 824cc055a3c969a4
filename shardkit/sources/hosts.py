"""List a source on several hosts: they see the same files, and list ranges of the names of a folder of very many.

If a folder is not mounted on one host, its images must not vanish silently. Object stores are the same on every host.

Each worker lists the names of a whole divided folder, which is fast, and looks up size and time of the files in its
range only. The ranges cover all names, whatever the folder holds by then, so no file is listed twice or not at all.
"""

import contextlib
import os
import platform
import posixpath
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import MachineError
from shardkit.naming import DATASET_FILES
from shardkit.sources.filtered_folder import FilteredFolder
from shardkit.sources.listing import Source
from shardkit.sources.walking import is_ignored, is_image, join, slice_bounds
from shardkit.storage import Entry, Folder, LocalFolder, WrappedFolder
from shardkit.storage.retry import PAUSES_SECONDS

T = TypeVar("T")


class FolderView(NamedTuple):
    """What a host sees directly in a folder, without files that operating systems leave behind."""

    num_entries: int  # number of files and folders
    # Sum of the CRC32 of their names: independent of their order, which differs between file systems; it finds another
    # folder, not one that was forged
    names_sum: int

    @classmethod
    def of_names(cls, names: Iterable[str]) -> "FolderView":
        sums = [zlib.crc32(name.encode("utf-8", "surrogateescape")) for name in names if not is_ignored(name)]
        return cls(len(sums), sum(sums))


def view_folder(folder: Folder, path: str = "") -> FolderView | None:
    """Return what this host sees in a folder; None in object stores and archives: there is nothing to compare."""
    names = _local_names(folder, path)
    return None if names is None else FolderView.of_names(names)


def _local_names(folder: Folder, path: str) -> list[str] | None:
    """Return the names that this host sees in a folder; None if what is in it cannot differ between hosts."""
    folder = unfiltered(folder)
    if isinstance(folder, LocalFolder):
        return folder.names(path)
    if isinstance(folder, MountedFolder) and any(isinstance(one.folder, LocalFolder) for one in folder.mounts):
        return [entry.name for entry in folder.scan(path)]
    return None


def count_entries(folder: Folder, path: str) -> int | None:
    """Return the number of files and folders that this host sees directly in a folder; None in object stores."""
    names = _local_names(folder, path)
    return None if names is None else sum(not is_ignored(name) for name in names)


def look_into_folders(source: Source, part: Any, *, counts: bool) -> tuple[int | None, ...]:
    """Return for each of `source.listed_folders(part)` how many entries this host sees; None in object stores.

    Counting takes long in large folders. Without it, 1 is for any number but 0, and object stores have 0.
    """
    look = count_entries if counts else is_filled
    return tuple(look(source.folder, path) for path in source.listed_folders(part))


def refuse_other_folders(source: Source, part: Any, seen_by_driver: Sequence[int | None], *, counts: bool) -> None:
    """Refuse to list a part on a host that sees nothing in a folder where the driver saw entries, or another number."""
    for path, by_driver in zip(source.listed_folders(part), seen_by_driver, strict=False):
        if by_driver:
            refuse_unseen(source.folder, path)
        if not counts or by_driver is None:
            continue
        here = seen_again(partial(count_entries, source.folder, path), by_driver)
        if here != by_driver:
            msg = (
                f"{join(source.folder.url, path)}: host {platform.node()} sees {here} files and folders, the driver "
                f"saw {by_driver}; give every worker the same files, and convert when the source no longer changes"
            )
            raise MachineError(msg)


def seen_again(look: Callable[[], T | None], wanted: T) -> T | None:
    """Return what `look` finds; look again, a few times, if it is not `wanted`: network file systems cache folders."""
    here = look()
    for pause in PAUSES_SECONDS:
        if here == wanted:
            break
        time.sleep(pause)
        here = look()
    return here


def refuse_unseen(folder: Folder, path: str) -> None:
    """Refuse to go on if this host sees nothing in a folder in which the driver saw entries."""
    if isinstance(unfiltered(folder), LocalFolder | MountedFolder) and not is_filled(folder, path):
        msg = (
            f"{join(folder.url, path)}: host {platform.node()} sees no file in this folder, the driver did; mount the "
            "source there under the same path, or end the workers of that host"
        )
        raise MachineError(msg)


def refuse_other_count(folder: Folder, path: str, num_here: int, num_by_driver: int) -> None:
    """Refuse to list a slice of files if the driver counted another number: slices would overlap or have gaps."""
    if num_here != num_by_driver:
        msg = (
            f"{join(folder.url, path)}: host {platform.node()} sees {num_here} files, the driver saw {num_by_driver}; "
            "give every worker the same files, and convert when the source no longer changes"
        )
        raise MachineError(msg)


def is_filled(folder: Folder, path: str) -> bool:
    """Return whether this host sees entries in a local folder; False in object stores: there is nothing to compare."""
    folder = unfiltered(folder)
    if not isinstance(folder, LocalFolder):
        return bool(_local_names(folder, path))
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder.os_path(path)) as entries:
        return next(entries, None) is not None
    return False


def unfiltered(folder: Folder) -> Folder:
    """Return the folder without `ignore`, which does not change what a host sees."""
    return folder.inner if isinstance(folder, FilteredFolder) else folder


MIN_SLICED = 50_000  # images; 100,000 are listed in 2 s on a local disk
IMAGES_PER_SLICE = 25_000
MAX_FOLDER_SLICES = 16


@dataclass(frozen=True, slots=True)
class FolderSlice:
    """A part of a source of which only a range of names in one folder is listed."""

    part: Any
    path: str
    start: str  # the first name of the range
    stop: str | None  # the name that ends the range; None for no end


def slices_of(source: Source, part: Any) -> list[Any]:
    """Return the slices of a part of a local source; the part itself if it is small or cannot be divided."""
    path = source.sliceable_folder(part)
    folder = source.folder
    local = folder.inner if isinstance(folder, FilteredFolder) else folder
    if path is None or not isinstance(local, LocalFolder):
        return [part]
    names = [name for name in local.names(path) if not is_ignored(name)]
    # Bounds are names of images, so that each range has some: a label folder without one would be reported as empty.
    # Without their endings, so that files of one name stay together: 1.CR2 and 1.jpg.
    images = sorted(name for name in names if is_image(name) and not _is_hidden(folder, join(path, name)))
    num = min(MAX_FOLDER_SLICES, len(images) // IMAGES_PER_SLICE)
    # What shardkit wrote into a source is recognised by names that may be in different ranges.
    if len(images) < MIN_SLICED or num < 2 or set(names) >= DATASET_FILES:
        return [part]
    firsts = [images[slice_bounds(len(images), i, num).start] for i in range(1, num)]
    bounds = [f"{posixpath.splitext(name)[0]}." for name in firsts]
    ranges = zip(["", *bounds], [*bounds, None], strict=True)
    return [FolderSlice(part, path, start, stop) for start, stop in ranges]


def _is_hidden(folder: Folder, path: str) -> bool:
    return isinstance(folder, FilteredFolder) and folder.hiding_glob(path) is not None


def slice_source(source: Source, part: FolderSlice) -> Source:
    """Return a source that lists only the range of a slice, when its `list_part` is called with the slice's part."""
    folder = source.folder
    if isinstance(folder, FilteredFolder):
        return source.in_folder(replace(folder, inner=SlicedFolder(folder.inner, part.path, part.start, part.stop)))
    return source.in_folder(SlicedFolder(folder, part.path, part.start, part.stop))


@dataclass(frozen=True, slots=True)
class SlicedFolder(WrappedFolder):
    """A folder in which one folder shows only a range of its names."""

    path: str  # the folder in it that is divided
    start: str  # the first name of the range
    stop: str | None  # the name that ends the range; None for no end

    def _shows(self, name: str) -> bool:
        return self.start <= name and (self.stop is None or name < self.stop)

    def scan(self, path: str = "") -> list[Entry]:
        if path != self.path:
            return self.inner.scan(path)
        if isinstance(self.inner, LocalFolder):
            return self.inner.scan_names(path, self._shows)
        return [entry for entry in self.inner.scan(path) if self._shows(entry.name)]
