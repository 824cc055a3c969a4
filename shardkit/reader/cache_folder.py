"""The folder of a shard cache: names, kernel locks, and room for one more shard within the limit.

    <sha256>.tfrecord          a whole shard, under the checksum of its manifest: equal shards of two datasets are one
                               file, and versions of one dataset never mix
    <sha256>.lock              locked (shared) by whoever uses the shard; its time of change is when that last was
    .shardkit-tmp-<sha256>     a copy in the making, locked by its maker; as long as the shard will be, so that the room
                               it will take is counted from the start
    lock                       held for as long as it takes to count, to evict and to rename

All locks are the kernel's: they die with their holders, however that be, so what a killed process leaves is told from
what a living one uses, and no daemon and no file of process numbers is needed. Other files in the folder are not
counted and never touched.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.errors import MachineError
from shardkit.storage import TEMPORARY

_SHARD = re.compile(r"(?P<sha256>[0-9a-f]{64})\.tfrecord")
_LOCK = re.compile(r"(?P<sha256>[0-9a-f]{64})\.lock")
_TEMPORARY = re.compile(re.escape(TEMPORARY) + r"(?P<sha256>[0-9a-f]{64})")
BLOCK_BYTES = 512  # what st_blocks counts, whatever the file system's own blocks are


def lock_name(path: str, operation: int) -> int:
    """Open a file, made where there is none, and lock it; the lock belongs to the name and not to a file removed since.

    Args:
        path: of the file.
        operation: of `fcntl.flock`.

    Returns:
        The descriptor; closing it gives the lock back.

    Raises:
        BlockingIOError: the operation has LOCK_NB, and another holds it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, operation)
            # Removed or renamed between our open and our lock, it would be a lock that nobody else can find.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Content:
    """What is in the folder: sizes in bytes by sha256."""

    shards: dict[str, int]
    unwritten: int

    @property
    def num_bytes(self) -> int:
        return sum(self.shards.values())


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """See the module.

    Attributes:
        path: of the folder, absolute; it is there.
        limit_bytes: what all shards in it may take, those in the making included.
    """

    path: str
    limit_bytes: int

    def shard(self, sha256: str) -> str:
        """Path of a shard that is here as a whole."""
        return f"{self.path}/{sha256}.tfrecord"

    def lock(self, sha256: str) -> str:
        """Path of what a shard's users lock."""
        return f"{self.path}/{sha256}.lock"

    def temporary(self, sha256: str) -> str:
        """Path of a copy in the making."""
        return f"{self.path}/{TEMPORARY}{sha256}"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else counts, evicts or renames meanwhile."""
        descriptor = lock_name(f"{self.path}/lock", fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(descriptor)

    def num_bytes(self) -> int:
        """Bytes that shards take, those in the making included."""
        with self.alone():
            return self._count().num_bytes

    def make_room(self, sha256: str, num_bytes: int, name: str) -> None:
        """Evict until a shard fits, the least recently used first, and only for whom is `alone`.

        Never evicted are shards that a living process holds, and hard-linked ones: their name would go and their bytes
        would stay. Copies that a killed process left are removed first.

        Args:
            sha256: of the shard; whatever is here of it will be replaced and does not count.
            num_bytes: of the shard.
            name: what errors call it.

        Raises:
            MachineError: what is in use leaves too little of the limit or of the disk.
        """
        self._remove_leftovers()
        content = self._count()
        content.shards.pop(sha256, None)
        for oldest in self._by_use(content.shards):
            if content.num_bytes + num_bytes <= self.limit_bytes and num_bytes <= self._free(content):
                return
            if self._evict(oldest):
                del content.shards[oldest]
        used, free = content.num_bytes, self._free(content)
        if used + num_bytes > self.limit_bytes:
            msg = (
                f"{self.path}: the cache is full: its limit is {self.limit_bytes} bytes, shards in use take {used}, "
                f"{name} needs {num_bytes} more; raise the limit to at least {used + num_bytes} bytes, or give each "
                f"job a folder of its own"
            )
            raise MachineError(msg)
        if num_bytes > free:
            msg = (
                f"{self.path}: the disk is full: {name} needs {num_bytes} bytes, {free} are free, and all shards in "
                f"the cache are in use; free at least {num_bytes - free} bytes, or choose a folder on a larger disk"
            )
            raise MachineError(msg)

    def _count(self) -> _Content:
        shards: dict[str, int] = {}
        unwritten = 0
        with os.scandir(self.path) as children:
            for child in children:
                whole, made = _SHARD.fullmatch(child.name), _TEMPORARY.fullmatch(child.name)
                match = whole or made
                if match is None:
                    continue
                with contextlib.suppress(FileNotFoundError):  # a copy given up just now
                    found = child.stat(follow_symlinks=False)
                    # A damaged shard that is being copied again is here twice.
                    shards[match["sha256"]] = shards.get(match["sha256"], 0) + found.st_size
                    if made:
                        unwritten += max(0, found.st_size - found.st_blocks * BLOCK_BYTES)
        return _Content(shards, unwritten)

    def _free(self, content: _Content) -> int:
        """Bytes of the disk that nobody has written and no copy in the making will."""
        disk = os.statvfs(self.path)
        return max(0, disk.f_bavail * disk.f_frsize - content.unwritten)

    def _by_use(self, shards: dict[str, int]) -> list[str]:
        return sorted(shards, key=self._last_used)

    def _last_used(self, sha256: str) -> int:
        try:
            return os.stat(self.lock(sha256)).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _evict(self, sha256: str) -> bool:
        """Remove a shard and its lock, unless it is in use."""
        try:
            descriptor = lock_name(self.lock(sha256), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            path = self.shard(sha256)
            with contextlib.suppress(FileNotFoundError):
                if os.lstat(path).st_nlink > 1:
                    return False
                os.remove(path)
            os.remove(self.lock(sha256))
        finally:
            os.close(descriptor)
        return True

    def _remove_leftovers(self) -> None:
        """Remove copies whose maker was killed, and locks of shards that are not here."""
        for name in os.listdir(self.path):
            lock, made = _LOCK.fullmatch(name), _TEMPORARY.fullmatch(name)
            if lock and not os.path.lexists(self.shard(lock["sha256"])):
                self._evict(lock["sha256"])
            elif made:
                # Who is about to lock it finds it gone, and makes another.
                with contextlib.suppress(BlockingIOError):
                    descriptor = lock_name(f"{self.path}/{name}", fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.remove(f"{self.path}/{name}")
                    os.close(descriptor)
