"""Where pyarrow's file system for Google Cloud Storage differs from its others: folders, retries and errors."""

import contextlib
import errno
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# By default Google's client retries a failed request for 15 minutes, an upload for twice as long: with a store or
# credentials out of reach, the conversion would seem to hang.
RETRY_SECONDS = 60
# `…Permanent error, with a last message of The specified bucket does not exist. error_info={reason=…`. This finds
# the last message before the first error_info: a client that retried on two levels repeats the message.
_LAST_MESSAGE = re.compile(r"(?:(?! error_info=).)*with a last message of (.+?)(?: error_info=|$)", re.DOTALL)


def with_retry_limit(url: str) -> str:
    """Return the URL with the number of seconds for which pyarrow retries, unless the user's URL has one."""
    if "retry_limit_seconds=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}retry_limit_seconds={RETRY_SECONDS}"


class FolderInfo(NamedTuple):
    """The fields of pyarrow's FileInfo, for a folder that the store knows only from the objects below it."""

    base_name: str
    type: Any
    size: int | None = None
    mtime_ns: int | None = None


class FolderLister:
    """Lists folders, including those that pyarrow omits: most, because no object has the folder's own name.

    See https://github.com/apache/arrow/issues/35993. The workaround is to list all objects below a folder, a thousand a
    request. This is done once: the folders found are remembered, while files are listed again each time.
    """

    def __init__(self, filesystem: Any) -> None:
        """Wrap a GcsFileSystem."""
        self._filesystem = filesystem
        self._below: dict[str, dict[str, set[str]]] = {}  # by listed root: names of the folders in each folder

    def forget(self) -> None:
        """Drop the remembered folders, because something was written or removed."""
        self._below = {}

    def scan(self, path: str) -> list[Any]:
        """Return the children of a folder as FileInfo or FolderInfo; an empty list if there is no such folder."""
        from pyarrow import fs

        before = self._below
        names = next((folders.get(path, set()) for root, folders in before.items() if _is_below(path, root)), None)
        selector = fs.FileSelector(path, allow_not_found=True, recursive=names is None)
        found = self._filesystem.get_file_info(selector)
        if names is None:
            folders = _folders_of(info.path + "/" * (info.type == fs.FileType.Directory) for info in found)
            if self._below is before:  # otherwise something was written in the meantime
                self._below = {**before, path: folders}
            names = folders.get(path, set())
        files = [info for info in found if info.type == fs.FileType.File and "/" not in info.path[len(path) + 1 :]]
        return files + [FolderInfo(name, fs.FileType.Directory) for name in names]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _folders_of(paths: Iterator[str]) -> dict[str, set[str]]:
    """Return the names of the folders in each folder.

    Args:
        paths: Paths of all files and folders; those of folders end with a slash.
    """
    folders: dict[str, set[str]] = {}
    seen: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in seen:
            seen.add(folder)
            parent, _, name = folder.rpartition("/")
            folders.setdefault(parent, set()).add(name)
            folder = parent
    return folders


@contextlib.contextmanager
def shorten_errors(url: str) -> Iterator[None]:
    """Turn an OSError of Google's client, a message of some 400 characters, into one with the store's own message.

    Args:
        url: URL of the file or folder; the client's message does not have it.
    """
    try:
        yield
    except OSError as error:
        if found := _LAST_MESSAGE.match(str(error)):
            raise type(error)(error.errno or errno.EIO, found[1].strip().rstrip("."), url) from error
        raise
