"""A folder that passes everything on to another one: the base of folders that show only a part of it."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.storage.folder import Entry, Folder


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
