"""The folder of a shard cache: names, kernel locks, and room for one more shard within the limit.

    <sha256>.tfrecord          a whole shard, under the checksum of its manifest: equal shards of two datasets are one
                               file, and versions of one dataset never mix
    <sha256>.used              empty; its time of change is when the shard was last taken or given back
    <random>.lease             the shards that one holder uses, locked by it, see `leases`
    .shardkit-tmp-<sha256>     a copy in the making, locked by its maker; as long as the shard will be, so that the room
                               it will take is counted from the start
    lock                       held for as long as it takes to count, to evict, to rename and to add to a lease

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
from shardkit.reader.cache.leases import in_use
from shardkit.storage import TEMPORARY
from shardkit.storage.kernel_locks import lock_file

_SHARD = re.compile(r"(?P<sha256>[0-9a-f]{64})\.tfrecord")
_STAMP = re.compile(r"(?P<sha256>[0-9a-f]{64})\.used")
_TEMPORARY = re.compile(re.escape(TEMPORARY) + r"(?P<sha256>[0-9a-f]{64})")
BLOCK_BYTES = 512  # what st_blocks counts, whatever the file system's own blocks are


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

    def stamp(self, sha256: str, *, make: bool = False) -> None:
        """Note that a shard is used now; `make` where that was never noted before, which is for whom is `alone`."""
        path = f"{self.path}/{sha256}.used"
        with contextlib.suppress(OSError):  # another user's, or evicted: it only decides what is evicted first
            if make:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
            os.utime(path)

    def temporary(self, sha256: str) -> str:
        """Path of a copy in the making."""
        return f"{self.path}/{TEMPORARY}{sha256}"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else counts, evicts or renames meanwhile."""
        descriptor = lock_file(f"{self.path}/lock", fcntl.LOCK_EX)
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
        used = in_use(self.path)
        self._remove_leftovers(used)
        content = self._count()
        content.shards.pop(sha256, None)
        for oldest in self._by_use(content.shards):
            if content.num_bytes + num_bytes <= self.limit_bytes and num_bytes <= self._free(content):
                return
            if oldest not in used and self._evict(oldest):
                del content.shards[oldest]
        taken, free = content.num_bytes, self._free(content)
        if taken + num_bytes > self.limit_bytes:
            msg = (
                f"{self.path}: the cache is full: its limit is {self.limit_bytes} bytes, shards in use take {taken}, "
                f"{name} needs {num_bytes} more; raise the limit to at least {taken + num_bytes} bytes, or give each "
                f"job a folder of its own"
            )
            raise MachineError(msg)
        if num_bytes > free:
            msg = (
                f"{self.path}: the disk is full: {name} needs {num_bytes} bytes, {free} are free, and all shards in "
                f"the cache are in use; free at least {num_bytes - free} bytes, or choose a folder on a larger disk"
            )
            raise MachineError(msg)

    def evict_oldest(self) -> bool:
        """Remove the least recently used shard that is not in use, and only for whom is `alone`; False without any."""
        used = in_use(self.path)
        return any(sha256 not in used and self._evict(sha256) for sha256 in self._by_use(self._count().shards))

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
            return os.stat(f"{self.path}/{sha256}.used").st_mtime_ns
        except FileNotFoundError:
            return 0

    def _evict(self, sha256: str) -> bool:
        """Remove a shard that is not in use, unless its room would not come free."""
        path = self.shard(sha256)
        try:
            if os.lstat(path).st_nlink > 1:
                return False
            os.remove(path)
        except FileNotFoundError:
            pass
        except PermissionError:
            return False  # another user's, in a folder where only owners may remove their files
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.remove(f"{self.path}/{sha256}.used")
        return True

    def _remove_leftovers(self, used: set[str]) -> None:
        """Remove copies whose maker was killed, and stamps of shards that are not here."""
        for name in os.listdir(self.path):
            stamp, made = _STAMP.fullmatch(name), _TEMPORARY.fullmatch(name)
            if stamp and stamp["sha256"] not in used and not os.path.lexists(self.shard(stamp["sha256"])):
                self._evict(stamp["sha256"])
            elif made:
                # Who is about to lock it finds it gone, and makes another.
                with contextlib.suppress(BlockingIOError, PermissionError):
                    descriptor = lock_file(f"{self.path}/{name}", fcntl.LOCK_EX | fcntl.LOCK_NB)
                    try:
                        os.remove(f"{self.path}/{name}")
                    finally:
                        os.close(descriptor)
