"""Ask a store for what cannot be there: tell a store from a login page or a proxy that answers in its place.

Such a server answers 200 to everything. By a HEAD every object is there, so that a folder looks like a file, and by a
listing without XML no object is: pyarrow passes both on as answers of the store. So the first answer of each kind is
believed only after a request that no store grants.
"""

import secrets
import time
from collections.abc import Callable
from typing import Any

from shardkit.errors import StoreError
from shardkit.storage.amazon import ANSWERS_EVERYTHING

_VALID_SECONDS = 60.0  # a pipeline opens a folder for each task: one question a minute for all of them
_believed: dict[tuple[str, str], float] = {}  # when the answers of a kind were believed, by kind and bucket


def check_presence(filesystem: Any, root: str, url: str) -> None:
    """Check that the store does not find an object whose name is random.

    Args:
        filesystem: pyarrow's S3FileSystem.
        root: The folder's path in the store.
        url: The folder, for the message.

    Raises:
        StoreError: It does.
    """

    def is_found() -> bool:
        filesystem.open_input_file(f"{_bucket(root)}/shardkit-{secrets.token_hex(16)}").close()
        return True

    _check("presence", root, url, is_found)


def check_absence(filesystem: Any, root: str, url: str) -> None:
    """Check that the store does not list a bucket whose name is random; see check_presence."""
    from pyarrow import fs

    def is_found() -> bool:
        filesystem.get_file_info(fs.FileSelector(f"shardkit-{secrets.token_hex(16)}"))
        return True

    _check("absence", root, url, is_found)


def forget() -> None:
    """Believe no answer any more."""
    _believed.clear()


def _bucket(root: str) -> str:
    return root.partition("/")[0]


def _check(kind: str, root: str, url: str, is_found: Callable[[], bool]) -> None:
    now, key = time.monotonic(), (kind, _bucket(root))
    if now - _believed.get(key, -_VALID_SECONDS) < _VALID_SECONDS:
        return
    try:
        found = is_found()
    except OSError:  # a store refuses it: no such bucket, or no permission
        found = False
    if found:
        raise StoreError(f"{url}: {ANSWERS_EVERYTHING}") from PermissionError()  # `is_transient`: no use to try again
    _believed[key] = now
