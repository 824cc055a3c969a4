"""Check once per worker process that it sees and runs what the driver does, before it does any work.

A worker with another Pillow writes other bytes than the manifest says, and one that lacks a mount lists fewer images.
Both end in a dataset that is wrong without any error, so a worker that differs refuses all work and names its host.
"""

import importlib.metadata
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from shardkit import naming, software
from shardkit.errors import CallError, DataError, MachineError, ShardkitError
from shardkit.sources.visibility import FolderView, seen_again, unfiltered, view_folder
from shardkit.storage import Folder, os_errors_as
from shardkit.storage.retry import retried
from shardkit.writing.output.run_token import Fence, Run

FAILURE = f"{naming.WORK_FOLDER}/failure.json"
_ERRORS = {kind.exit_code: kind for kind in (CallError, DataError, MachineError)}
# Digests of what an encoder writes: without the version of a library there is nothing to install.
_FOLLOW_FROM_OTHERS = frozenset(software.ENCODERS)


@dataclass(frozen=True, slots=True)
class DriverView:
    """What the driver runs and sees; small and pickled into the pipeline's graph.

    Attributes:
        versions: Versions of everything that decides bytes, and of what both sides must share, by name.
        folders: Local folders that every worker reads, and what the driver sees in them.
    """

    versions: tuple[tuple[str, str], ...]
    folders: tuple[tuple[Folder, FolderView], ...]

    @classmethod
    def of(cls, folders: Sequence[Folder]) -> "DriverView":
        """Return the view of this process.

        Args:
            folders: Folders that workers read. Object stores are the same on every host and are not compared.
        """
        seen = [(unfiltered(folder), view_folder(folder)) for folder in folders]
        return cls(_versions(), tuple((folder, view) for folder, view in seen if view is not None))


def _versions() -> tuple[tuple[str, str], ...]:
    import numpy as np

    found = {
        **software.versions(),
        "numpy": np.__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "Beam": ".".join(importlib.metadata.version("apache-beam").split(".")[:2]),
    }
    return tuple(sorted(found.items()))


_compared: dict[DriverView, str] = {}  # the problem found by this process; '' for none


def check_worker(driver: DriverView | None) -> None:
    """Refuse to work in a process that differs from the driver; the comparison is made once per process.

    Args:
        driver: The driver's view; None if workers are threads of the driver.

    Raises:
        MachineError: Versions or folders differ; the message names this host.
    """
    if driver is None:
        return
    if driver not in _compared:
        _compared[driver] = _version_problem(driver) or _folder_problem(driver)
    if problem := _compared[driver]:
        raise MachineError(problem)


def _version_problem(driver: DriverView) -> str:
    here, there = dict(_versions()), dict(driver.versions)
    differing = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    if not differing:
        return ""
    named = [name for name in differing if name not in _FOLLOW_FROM_OTHERS] or differing
    said = ", ".join(f"{name} {_shown(here.get(name))} (the driver: {_shown(there.get(name))})" for name in named)
    what = "would write other bytes than the driver" if {*named} - {"Python", "Beam"} else "cannot work for the driver"
    return f"host {platform.node()} {what}, it has {said}; install the same versions on every worker"


def _shown(version: str | None) -> str:
    return "not installed" if version in {None, "None"} else str(version)


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


def with_host(said: str, driver: DriverView | None) -> str:
    """Return an error's text with the worker's host, unless it names it already or the worker is the driver."""
    host = platform.node()
    return said if driver is None or f"host {host}" in said else f"{said} (on host {host})"


def report_failure(output: Folder, error: Exception, fence: Fence, driver: DriverView | None) -> None:
    """Write an error into the work folder; the driver stops all workers when it finds one.

    An exception of a worker would reach the user as the runner's failure, wrapped in its own words.
    """
    exit_code = error.exit_code if isinstance(error, ShardkitError) else MachineError.exit_code
    found = str(error) if exit_code == CallError.exit_code else with_host(str(error), driver)
    said = json.dumps({"error": found, "exit_code": exit_code}).encode()

    def write() -> None:
        with output.atomic_write(FAILURE, before_rename=fence.check) as file:
            file.write(said)

    fence.check()
    with os_errors_as("report an error", f"{output.url}/{naming.WORK_FOLDER}"):
        retried(write)


def has_failed(output: Folder) -> bool:
    """Return whether a worker has reported a failure."""
    return output.stat(FAILURE) is not None


def stop_after_failure(output: Folder, run: Run) -> None:
    """Stop the workers of a run if one has reported a failure: on a cluster the others would go on for hours."""
    if has_failed(output):
        run.stop_workers()


def raise_failure(output: Folder) -> None:
    """Raise the failure that a worker reported, if any.

    Raises:
        CallError: The options do not fit the source.
        DataError: The source is at fault.
        MachineError: A worker's host is.
    """
    if has_failed(output):
        failure = json.loads(output.read(FAILURE))
        raise _ERRORS[failure["exit_code"]](failure["error"])
