"""Where pyarrow's file system of Google Cloud Storage is not what its others are: folders, patience and errors."""

import contextlib
import errno
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# Google's client tries for 15 minutes by default what the store refuses for the moment, and twice that to upload: a
# store or credentials out of reach would look like a conversion that hangs.
RETRY_SECONDS = 60
# `…Permanent error, with a last message of The specified bucket does not exist. error_info={reason=…`; the last before
# the first error_info, for what is tried on two levels is said twice.
_LAST_MESSAGE = re.compile(r"(?:(?! error_info=).)*with a last message of (.+?)(?: error_info=|$)", re.DOTALL)


def patient(url: str) -> str:
    """The URL that tells pyarrow how long to try, in seconds, unless the user's URL says so."""
    if "retry_limit_seconds=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}retry_limit_seconds={RETRY_SECONDS}"


class FolderInfo(NamedTuple):
    """What pyarrow's FileInfo says of a folder, of one that the store knows only from the objects below it."""

    base_name: str
    type: Any
    size: int | None = None
    mtime_ns: int | None = None


class Folders:
    """Lists folders, which pyarrow does not where no object has the folder's own name: of most, that is.

    See https://github.com/apache/arrow/issues/35993. The way out is to list everything below, a thousand objects a
    request. That is done once: which folders there are is remembered, which files there are is asked again each time.
    """

    def __init__(self, filesystem: Any) -> None:
        """Of a GcsFileSystem."""
        self._filesystem = filesystem
        self._below: dict[str, dict[str, set[str]]] = {}  # of what was listed whole: names of folders by folder

    def forget(self) -> None:
        """Remember nothing: something was written or removed."""
        self._below = {}

    def scan(self, path: str) -> list[Any]:
        """What is in a folder, as FileInfo or FolderInfo; nothing where there is no such folder."""
        from pyarrow import fs

        before = self._below
        names = next((folders.get(path, set()) for root, folders in before.items() if _is_below(path, root)), None)
        selector = fs.FileSelector(path, allow_not_found=True, recursive=names is None)
        found = self._filesystem.get_file_info(selector)
        if names is None:
            folders = _folders_of(info.path + "/" * (info.type == fs.FileType.Directory) for info in found)
            if self._below is before:  # else something was written meanwhile
                self._below = {**before, path: folders}
            names = folders.get(path, set())
        files = [info for info in found if info.type == fs.FileType.File and "/" not in info.path[len(path) + 1 :]]
        return files + [FolderInfo(name, fs.FileType.Directory) for name in names]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _folders_of(paths: Iterator[str]) -> dict[str, set[str]]:
    """Names of the folders in every folder; paths of folders end with a slash."""
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
def plainly_said(url: str) -> Iterator[None]:
    """Turn an OSError of Google's client, some 400 characters of its own words, into the one that says what it knew.

    Args:
        url: of the file or folder, which the client names nowhere.
    """
    try:
        yield
    except OSError as error:
        if found := _LAST_MESSAGE.match(str(error)):
            raise type(error)(error.errno or errno.EIO, found[1].strip().rstrip("."), url) from error
        raise
