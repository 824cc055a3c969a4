"""Check that a worker's host sees the same local source as the driver.

If a folder is not mounted on one host, its images must not vanish silently. Object stores are the same on every host.
"""

import contextlib
import os
import platform
from collections.abc import Sequence
from typing import Any

from shardkit.errors import MachineError
from shardkit.sources.ignoring.filtered_folder import FilteredFolder
from shardkit.sources.listing import Source
from shardkit.sources.walking import join
from shardkit.storage import Folder, LocalFolder


def filled_folders(source: Source, part: Any) -> tuple[bool, ...]:
    """Return for each of `source.listed_folders(part)` whether this host sees entries in it; () in object stores."""
    return tuple(is_filled(source.folder, path) for path in source.listed_folders(part))


def refuse_unseen_folders(source: Source, part: Any, seen_by_driver: Sequence[bool]) -> None:
    """Refuse to list a part on a host that sees nothing in a folder in which the driver saw entries.

    Raises:
        MachineError: A folder is missing or empty here.
    """
    for path, was_filled in zip(source.listed_folders(part), seen_by_driver, strict=False):
        if was_filled:
            refuse_unseen(source.folder, path)


def refuse_unseen(folder: Folder, path: str) -> None:
    """Refuse to go on if this host sees nothing in a folder in which the driver saw entries.

    Raises:
        MachineError: The folder is missing or empty here.
    """
    if isinstance(_shown(folder), LocalFolder) and not is_filled(folder, path):
        msg = (
            f"{join(folder.url, path)}: host {platform.node()} sees no file in this folder, the driver did; mount the "
            "source there under the same path, or end the workers of that host"
        )
        raise MachineError(msg)


def refuse_other_count(folder: Folder, path: str, num_here: int, num_by_driver: int) -> None:
    """Refuse to list a slice of files if the driver counted another number: slices would overlap or have gaps.

    Raises:
        MachineError: The numbers differ.
    """
    if num_here != num_by_driver:
        msg = (
            f"{join(folder.url, path)}: host {platform.node()} sees {num_here} files, the driver saw {num_by_driver}; "
            "give every worker the same files, and convert when the source no longer changes"
        )
        raise MachineError(msg)


def is_filled(folder: Folder, path: str) -> bool:
    """Return whether this host sees entries in a local folder; False in object stores: there is nothing to compare."""
    folder = _shown(folder)
    if not isinstance(folder, LocalFolder):
        return False
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(join(folder.path, path)) as entries:
        return next(entries, None) is not None
    return False


def _shown(folder: Folder) -> Folder:
    return folder.inner if isinstance(folder, FilteredFolder) else folder
