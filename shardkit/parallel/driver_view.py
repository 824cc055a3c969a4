"""Check once per worker process that it sees and runs what the driver does, before it does any work.

A worker with another Pillow writes other bytes than the manifest says, and one that lacks a mount lists fewer images.
Both end in a dataset that is wrong without any error, so a worker that differs refuses all work and names its host.
"""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from shardkit import software
from shardkit.archives.mounted_folder import MountedFolder
from shardkit.errors import MachineError
from shardkit.sources.hosts import FolderView, seen_again, unfiltered, view_folder
from shardkit.storage import Folder

# Digests of what an encoder writes: without the version of a library there is nothing to install.
_FOLLOW_FROM_OTHERS = frozenset(software.ENCODERS)


@dataclass(frozen=True, slots=True)
class DriverView:
    """What the driver runs and sees; small and pickled into the pipeline's graph."""

    # Versions of everything that decides bytes, and of what both sides must share, by name.
    versions: tuple[tuple[str, str], ...]
    # Local folders that every worker reads, and what the driver sees in them.
    folders: tuple[tuple[Folder, FolderView], ...]

    @classmethod
    def of(cls, folders: Sequence[Folder]) -> "DriverView":
        """Return the view of this process. Object stores are the same on every host and are not compared."""
        plain = [one for folder in folders for one in _parts(unfiltered(folder))]
        seen = [(folder, view_folder(folder)) for folder in plain]
        return cls(
            tuple(software.environment().items()), tuple((folder, view) for folder, view in seen if view is not None)
        )


def _parts(folder: Folder) -> list[Folder]:
    """Return the folders of a tree of several; the folder itself if it is none."""
    return [mount.folder for mount in folder.mounts] if isinstance(folder, MountedFolder) else [folder]


_compared: dict[DriverView, str] = {}  # the problem found by this process; '' for none


def check_worker(driver: DriverView | None) -> None:
    """Refuse to work in a process that differs from the driver, None for the driver's own; it is compared once."""
    if driver is None:
        return
    if driver not in _compared:
        _compared[driver] = _version_problem(driver) or _folder_problem(driver)
    if problem := _compared[driver]:
        raise MachineError(problem)


def _version_problem(driver: DriverView) -> str:
    here, there = software.environment(), dict(driver.versions)
    differing = software.differing(there, here)
    if not differing:
        return ""
    named = [name for name in differing if name not in _FOLLOW_FROM_OTHERS] or differing
    said = ", ".join(f"{name} {_shown(here.get(name))} (the driver: {_shown(there.get(name))})" for name in named)
    what = "would write other bytes than the driver" if {*named} - {"python", "beam"} else "cannot work for the driver"
    return f"host {platform.node()} {what}, it has {said}; install the same versions on every worker"


def _shown(version: str | None) -> str:
    return "not installed" if version in {None, "None", ""} else str(version)


def _folder_problem(driver: DriverView) -> str:
    for folder, seen in driver.folders:
        here = seen_again(partial(view_folder, folder), seen)
        if here != seen and here is not None:
            found = f"sees {here.num_entries} files and folders" if here.num_entries else "sees no file"
            other = "" if here.num_entries != seen.num_entries else " under other names"
            return (
                f"{folder.url}: host {platform.node()} {found} in this folder, the driver saw {seen.num_entries}"
                f"{other}; mount the same folder there under the same path, or end the workers of that host. If the "
                "folder has changed meanwhile, run the same command again"
            )
    return ""
