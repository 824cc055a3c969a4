"""Check that a worker's host sees the same local source as the driver.

If a folder is not mounted on one host, its images must not vanish silently. Object stores are the same on every host.
"""

import contextlib
import os
import platform
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import MachineError
from shardkit.sources.filtered_folder import FilteredFolder
from shardkit.sources.listing import Source
from shardkit.sources.walking import is_ignored, join
from shardkit.storage import Folder, LocalFolder
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


def count_folders(source: Source, part: Any) -> tuple[int | None, ...]:
    """Return `count_entries` for each of `source.listed_folders(part)`."""
    return tuple(count_entries(source.folder, path) for path in source.listed_folders(part))


def refuse_other_counts(source: Source, part: Any, counted_by_driver: Sequence[int | None]) -> None:
    """Refuse to list a part on a host that sees another number of entries in a folder than the driver."""
    for path, by_driver in zip(source.listed_folders(part), counted_by_driver, strict=False):
        here = None if by_driver is None else seen_again(partial(count_entries, source.folder, path), by_driver)
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


def filled_folders(source: Source, part: Any) -> tuple[int, ...]:
    """Return for each of `source.listed_folders(part)` 1 if this host sees entries in it; 0 in object stores."""
    return tuple(int(is_filled(source.folder, path)) for path in source.listed_folders(part))


def refuse_unseen_folders(source: Source, part: Any, seen_by_driver: Sequence[int | None]) -> None:
    """Refuse to list a part on a host that sees nothing in a folder in which the driver saw entries."""
    for path, was_filled in zip(source.listed_folders(part), seen_by_driver, strict=False):
        if was_filled:
            refuse_unseen(source.folder, path)


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
