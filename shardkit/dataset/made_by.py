"""The commands that made a dataset, from the logs of its runs."""

import json

from shardkit import naming
from shardkit.dataset.manifest.model import Manifest
from shardkit.errors import DataError

_COMMAND = "command"  # a fact of the event that ends a run


def commands_of(manifest: Manifest) -> list[str]:
    """Return the command of the conversion, and of each append after it, in order.

    Args:
        manifest: The dataset's manifest, read from its folder.

    Raises:
        DataError: A log is missing, or a run of an earlier version, of a pipeline or of `adopt` wrote it.
        MachineError: It cannot be read.
    """
    folders = [one.folder for one in manifest.generations] or [None]
    return [_command(manifest, folder) for folder in folders]


def _command(manifest: Manifest, folder: str | None) -> str:
    path = naming.RUN_LOG if folder is None else f"{folder}/{naming.RUN_LOG}"
    found = ""
    if manifest.root.stat(path) is not None:
        for line in manifest.root.read(path).decode(errors="replace").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the log is for people: a damaged line of it harms no dataset
            if isinstance(event, dict) and isinstance(event.get(_COMMAND), str):
                found = event[_COMMAND]  # of the last run
    if not found:
        msg = f"{manifest.root.url}/{path}: the log names no command; the manifest has the options"
        raise DataError(msg)
    return naming.printable(found)
