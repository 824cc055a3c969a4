"""The interface of a folder: every file in it is either complete or absent.

Local folders and object stores implement it. Both show a file under its name only when the whole file is written: a
reader that runs at the same time, or after a crash, never finds a part of one.
"""

import abc
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from shardkit.errors import DataError

TEMPORARY = ".shardkit-tmp-"  # prefix of the names of unfinished files
COPY_BYTES = 1 << 20  # 1 MiB: read at a time where a file is copied or hashed


class Entry(NamedTuple):
    """One child of a folder.

    Attributes:
        name: Its name in the folder.
        is_folder: Whether it is a folder.
        num_bytes: Size of a file.
        mtime_ns: Modification time of a file, in ns since the epoch.
    """

    name: str
    is_folder: bool
    num_bytes: int
    mtime_ns: int


class Folder(abc.ABC):
    """A folder and everything below it. Paths are relative and POSIX; '' is the folder itself."""

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """The folder's path or URL, as messages name it."""

    def url_of(self, path: str) -> str:
        """Return the path or URL of a file or folder, as messages name it."""
        return f"{self.url}/{path}"

    @abc.abstractmethod
    def scan(self, path: str = "") -> list[Entry]:
        """Return the children of a folder, sorted by name; an empty list if there is no such folder."""

    @abc.abstractmethod
    def stat(self, path: str) -> Entry | None:
        """Return the file or folder at a path; None if there is none."""

    @abc.abstractmethod
    def read(self, path: str) -> bytes:
        """Return the whole file."""

    def read_at_most(self, path: str, max_bytes: int) -> bytes:
        """Return the whole file, which must not be larger than `max_bytes`: it is not read if it is.

        Raises:
            DataError: The file is larger.
        """
        found = self.stat(path)
        if found is not None and found.num_bytes > max_bytes:
            msg = f"{self.url}/{path}: the file has {found.num_bytes:,} bytes; at most {max_bytes:,} are expected"
            raise DataError(msg)
        return self.read(path)

    @abc.abstractmethod
    def open(self, path: str) -> Any:
        """Open the file for reading: a seekable binary file that ``with`` closes."""

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """Return bytes [start, start + num_bytes) of the file; fewer if the file ends before."""
        with self.open(path) as file:
            file.seek(start)
            return read_fully(lambda done: file.read(num_bytes - done), num_bytes)

    def ranges(self, path: str) -> Callable[[int, int], bytes]:
        """Return a function that reads ranges of the file as `read_range` does, where opening it takes a request."""
        return lambda start, num_bytes: self.read_range(path, start, num_bytes)

    @abc.abstractmethod
    def create(self) -> None:
        """Create the folder and its parents if the store has folders; do nothing if it exists."""

    @abc.abstractmethod
    def atomic_write(
        self, path: str, *, before_rename: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Write a file that appears under its name when the block ends without an exception, whole or not at all.

        Folders between this one and the file are created. This folder itself must exist, so that removing it stops all
        its writers.

        Args:
            path: The file's path.
            before_rename: Function called when the whole file is stored under a temporary name. If it raises, the file
                does not appear.
        """

    @abc.abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; do nothing if there is none."""

    @abc.abstractmethod
    def remove_tree(self, path: str) -> None:
        """Remove a folder and everything below it; do nothing if there is none."""

    @abc.abstractmethod
    def resolve(self, path: str) -> str:
        """Return the path with symbolic links resolved: two paths name the same folder if their results are equal."""

    def is_link(self, path: str) -> bool:
        """Return whether a path is a symbolic link; only local folders have some."""
        return False


def remove_temporaries(folder: Folder) -> None:
    """Remove the temporary files in a folder. Hold the output lock: this also removes those of running writers."""
    for entry in folder.scan():
        if entry.name.startswith(TEMPORARY):
            folder.remove(entry.name)


def read_fully(read: Callable[[int], bytes], num_bytes: int) -> bytes:
    """Read until `num_bytes` have arrived or the file ends: one read of a network file system may return fewer.

    Args:
        read: Function that reads on, given the number of bytes that have arrived; b"" at the end of the file.
        num_bytes: Number of bytes to read.
    """
    data = read(0)
    if len(data) == num_bytes:
        return data
    parts, done = [data], len(data)
    while data and done < num_bytes:
        data = read(done)
        parts.append(data)
        done += len(data)
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class WrappedFolder(Folder):
    """A folder around another one.

    Attributes:
        inner: The other folder.
    """

    inner: Folder

    @property
    def url(self) -> str:
        """See Folder."""
        return self.inner.url

    def url_of(self, path: str) -> str:
        """See Folder."""
        return self.inner.url_of(path)

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        return self.inner.scan(path)

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        return self.inner.stat(path)

    def read(self, path: str) -> bytes:
        """See Folder."""
        return self.inner.read(path)

    def read_at_most(self, path: str, max_bytes: int) -> bytes:
        """See Folder."""
        return self.inner.read_at_most(path, max_bytes)

    def open(self, path: str) -> Any:
        """See Folder."""
        return self.inner.open(path)

    def read_range(self, path: str, start: int, num_bytes: int) -> bytes:
        """See Folder."""
        return self.inner.read_range(path, start, num_bytes)

    def ranges(self, path: str) -> Callable[[int, int], bytes]:
        """See Folder."""
        return self.inner.ranges(path)

    def create(self) -> None:
        """See Folder."""
        self.inner.create()

    def atomic_write(
        self, path: str, *, before_rename: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """See Folder."""
        return self.inner.atomic_write(path, before_rename=before_rename)

    def remove(self, path: str) -> None:
        """See Folder."""
        self.inner.remove(path)

    def remove_tree(self, path: str) -> None:
        """See Folder."""
        self.inner.remove_tree(path)

    def resolve(self, path: str) -> str:
        """See Folder."""
        return self.inner.resolve(path)

    def is_link(self, path: str) -> bool:
        """See Folder."""
        return self.inner.is_link(path)
