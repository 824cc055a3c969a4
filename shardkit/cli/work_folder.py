"""Where workers leave what `plan` and `verify` collect: these two write nothing beside the user's data."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator

from shardkit.storage import Folder, open_folder

REMOVALS = 20


@contextlib.contextmanager
def work_folder(location: str | None) -> Iterator[Folder]:
    """A folder that is removed at the end; below Beam's --temp_location where one was given: all workers reach that."""
    if location is None:
        path = tempfile.mkdtemp(prefix="shardkit-")
        try:
            yield open_folder(path)
        finally:
            _remove(path)
        return
    folder = open_folder(f"{location.rstrip('/')}/shardkit-{secrets.token_hex(8)}")
    try:
        yield folder
    finally:
        folder.remove_tree("")


def _remove(path: str) -> None:
    # After Ctrl-C, workers still write into it until the process ends, and would make it anew: a file in its place
    # stops them.
    for _ in range(REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(FileExistsError), open(path, "x"):
            break
    with contextlib.suppress(OSError):
        os.remove(path)
