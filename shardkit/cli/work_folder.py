"""Where workers leave what `plan` and `verify` collect: these two write nothing beside the user's data."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator

from shardkit.storage import Folder, open_folder


@contextlib.contextmanager
def work_folder(location: str | None) -> Iterator[Folder]:
    """A folder that is removed at the end; below Beam's --temp_location where one was given: all workers reach that."""
    if location is None:
        with tempfile.TemporaryDirectory(prefix="shardkit-") as path:
            yield open_folder(path)
        return
    folder = open_folder(f"{location.rstrip('/')}/shardkit-{secrets.token_hex(8)}")
    try:
        yield folder
    finally:
        folder.remove_tree("")
