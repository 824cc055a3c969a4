"""A folder that nothing is written to: one in an archive, or a tree of several sources."""

import contextlib
from collections.abc import Callable
from typing import BinaryIO, NoReturn

from shardkit.errors import CallError
from shardkit.storage import Folder


class ReadOnlyFolder(Folder):
    """A folder whose methods that write raise CallError."""

    __slots__ = ()

    def _refuse_writing(self) -> NoReturn:
        raise CallError(f"{self.url}: an archive is read-only; choose a folder to write to")

    def create(self) -> None:
        """Raise CallError."""
        self._refuse_writing()

    def atomic_write(
        self, path: str, *, before_rename: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Raise CallError."""
        self._refuse_writing()

    def remove(self, path: str) -> None:
        """Raise CallError."""
        self._refuse_writing()

    def remove_tree(self, path: str) -> None:
        """Raise CallError."""
        self._refuse_writing()
