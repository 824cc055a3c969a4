"""Which shards of a cache a holder uses: one file with their names, locked by the kernel as long as the holder lives.

    <random>.lease     slots of 65 bytes, each the sha256 of a shard in use, or beginning with "-" where it is no more

One descriptor a holder, however many shards: one a shard would reach the usual limit of 1,024 descriptors with as many
shards. Slots are only filled by who is `CacheFolder.alone`, so whoever evicts, alone too, misses none; they are given
back by writing one byte, which needs no such lock and no room on the disk.
"""

import contextlib
import fcntl
import os
import re
import secrets
import threading
import weakref
from typing import TYPE_CHECKING

from shardkit.storage import is_out_of_space
from shardkit.storage.kernel_locks import lock_file

if TYPE_CHECKING:
    from shardkit.reader.cache.folder import CacheFolder

LEASE = re.compile(r"[0-9a-f]{32}\.lease")
_SLOT_BYTES = 65
_FREE = b"-"


def in_use(directory: str) -> set[str]:
    """sha256 of all shards that a living holder uses; leases of killed ones are removed. Only for whom is alone."""
    used: set[str] = set()
    for name in os.listdir(directory):
        if LEASE.fullmatch(name):
            path = f"{directory}/{name}"
            try:
                descriptor = lock_file(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with contextlib.suppress(FileNotFoundError), open(path) as file:
                    used.update(line for line in file.read().split("\n") if line and not line.startswith("-"))
            else:
                # Another user's stays where only its owner may remove it; it counts for nothing.
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    os.remove(path)
                os.close(descriptor)
    return used


class _File:
    """The file of a lease, apart from it so that it can be closed when nobody refers to the lease any more."""

    def __init__(self) -> None:
        self.path, self.descriptor = "", -1
        self.used: set[str] = set()
        self.process = os.getpid()

    def close(self, folder: "CacheFolder") -> None:
        """Give everything back. It takes no lock: the collector may call it in the midst of anything."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor < 0:
            return
        if os.getpid() == self.process:  # a forked child has the lease too, and must not end it
            for sha256 in list(self.used):
                folder.stamp(sha256)
            with contextlib.suppress(OSError):
                os.remove(self.path)
        os.close(descriptor)


class Lease:
    """Shards that are not evicted until they are given back, until nobody refers to this, or until the process ends."""

    def __init__(self, folder: "CacheFolder") -> None:
        """Begin without any, and without a file."""
        self._folder, self._file = folder, _File()
        self._counts: dict[str, int] = {}
        self._slots: dict[str, int] = {}
        self._unused: list[int] = []
        self._lock = threading.Lock()
        weakref.finalize(self, self._file.close, folder)

    def take(self, sha256: str) -> None:
        """Use a shard; as often as it is taken it must be given back.

        Raises:
            OSError: the folder cannot be written to.
        """
        with self._lock:
            if sha256 not in self._slots or not self._is_there():
                with self._folder.alone():
                    if not self._is_there():
                        self._begin()
                    self._fill(sha256)
            self._counts[sha256] = self._counts.get(sha256, 0) + 1

    def give_back(self, sha256: str) -> None:
        """Use it once less."""
        with self._lock:
            self._counts[sha256] -= 1
            if self._counts[sha256]:
                return
            del self._counts[sha256]
            self._folder.stamp(sha256)
            self._file.used.discard(sha256)
            slot = self._slots.pop(sha256, None)
            if slot is None:
                return  # another file had to be begun since, and there was no room for it
            self._unused.append(slot)
            with contextlib.suppress(OSError):  # the folder may be gone
                os.pwrite(self._file.descriptor, _FREE, slot * _SLOT_BYTES)

    def _is_there(self) -> bool:
        """Whether others find the file: somebody may have emptied the folder."""
        if self._file.descriptor < 0:
            return False
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._file.descriptor), os.stat(self._file.path))
        return False

    def _begin(self) -> None:
        """Begin another file, with what is in use already; there is none if that fails, and the next call tries again.

        Raises:
            OSError: The file cannot be made, or not all of it.
        """
        self._leave()
        self._file.path = f"{self._folder.path}/{secrets.token_hex(16)}.lease"
        self._file.descriptor = lock_file(self._file.path, fcntl.LOCK_EX)
        try:
            for sha256 in self._counts:
                self._fill(sha256)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(self._file.path)
            self._leave()
            raise

    def _leave(self) -> None:
        descriptor, self._file.descriptor = self._file.descriptor, -1
        self._slots, self._unused = {}, []
        if descriptor >= 0:
            os.close(descriptor)

    def _fill(self, sha256: str) -> None:
        if sha256 in self._slots:
            return
        slot = self._unused[-1] if self._unused else len(self._slots)
        line, start = f"{sha256}\n".encode(), slot * _SLOT_BYTES
        written = 0
        while written < len(line):
            written += self._write(line[written:], start + written)
        if self._unused:
            self._unused.pop()
        self._slots[sha256] = slot
        self._file.used.add(sha256)
        self._folder.stamp(sha256, make=True)

    def _write(self, line: bytes, start: int) -> int:
        try:
            return os.pwrite(self._file.descriptor, line, start)
        except OSError as error:
            # A disk full of copies that nobody uses has room.
            if is_out_of_space(error) and self._folder.evict_oldest():
                return 0
            raise
