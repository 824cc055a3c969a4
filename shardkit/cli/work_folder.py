"""Where workers leave what `plan` and `verify` collect: these two write nothing beside the user's data."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator

from shardkit.storage import Folder, LocalFolder, open_folder


@contextlib.contextmanager
def work_folder(location: str | None) -> Iterator[Folder]:
    """A folder that is removed at the end; below Beam's --temp_location where one was given: all workers reach that."""
    if location is None:
        folder = open_folder(tempfile.mkdtemp(prefix="shardkit-"))
    else:
        folder = open_folder(f"{location.rstrip('/')}/shardkit-{secrets.token_hex(8)}")
        folder.create()
    try:
        yield folder
    finally:
        _removable(folder).remove_tree("")


def _removable(folder: Folder) -> Folder:
    # After Ctrl-C, workers write until the process ends. Under another name they do not find the folder.
    if not isinstance(folder, LocalFolder):
        return folder
    renamed = LocalFolder(f"{folder.path}-ended")
    os.rename(folder.path, renamed.path)
    return renamed
