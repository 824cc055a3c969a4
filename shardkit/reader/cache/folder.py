"""The folder of a shard cache: names, kernel locks, and room for one more shard within the limit.

    <sha256>.tfrecord          a complete shard, under the checksum of its manifest: equal shards of two datasets share
                               one file, and versions of one dataset never mix
    <random>.lease             the sha256 of every shard that one input reads, one a line; locked by the kernel as long
                               as the input exists
    <random>.used              a lease that has ended; its modification time is when its shards were last used
    .shardkit-tmp-<sha256>     an unfinished copy, locked by its writer; it has the shard's length from the start, so
                               that the room it will need is already counted
    lock                       held while sizes are counted, shards evicted or renamed, and leases written

The kernel releases all these locks when their process exits, even on SIGKILL. So the files of a killed process are told
from those of a running one without a daemon or a file of process numbers. Other files in the folder are neither counted
nor touched.

An input has one lease, written once, before the first of its shards is copied: one for each shard would reach the usual
limit of 1,024 descriptors. It is written, and shards are evicted, while the folder is locked.
"""

import contextlib
import fcntl
import os
import re
import secrets
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from shardkit.errors import MachineError
from shardkit.storage import TEMPORARY, is_out_of_space, write_fully
from shardkit.storage.kernel_locks import lock_file

_SHARD = re.compile(r"(?P<sha256>[0-9a-f]{64})\.tfrecord")
_LEASE = re.compile(r"[0-9a-f]{32}\.(lease|used)")
_TEMPORARY = re.compile(re.escape(TEMPORARY) + r"(?P<sha256>[0-9a-f]{64})")
BLOCK_BYTES = 512  # unit of st_blocks, whatever the file system's own block size


@dataclass(frozen=True, slots=True)
class _Content:
    """What the folder holds."""

    shards: dict[str, int]  # size in bytes of each shard by its sha256, unfinished copies included
    unwritten: int  # bytes that unfinished copies have yet to write

    @property
    def num_bytes(self) -> int:
        return sum(self.shards.values())


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """The folder and its limit; see the module."""

    path: str  # absolute path of the folder; all methods but those that name a file need it to exist
    limit_bytes: int  # maximum size of all shards in it, unfinished copies included

    def shard_path(self, sha256: str) -> str:
        """Return the path of a complete shard."""
        return f"{self.path}/{sha256}.tfrecord"

    def temporary_path(self, sha256: str) -> str:
        """Return the path of an unfinished copy."""
        return f"{self.path}/{TEMPORARY}{sha256}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder: no other process counts, evicts, renames or leases during the block."""
        descriptor = lock_file(f"{self.path}/lock", fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(descriptor)

    def lease(self, sha256s: Sequence[str]) -> "Lease":
        """Return a lease on shards. If the disk is full, evict for it: a lease needs 65 bytes for each shard."""
        with self.locked():
            in_use, by_use = self._uses()
            while True:
                try:
                    return Lease(self.path, sha256s)
                except OSError as error:  # noqa: PERF203 - each attempt needs its own
                    if not (is_out_of_space(error) and any(self._evict(one) for one in by_use if one not in in_use)):
                        raise

    def make_room(self, sha256: str, num_bytes: int, name: str) -> None:
        """Evict the least recently used shards until a new one fits. Lock the folder.

        Leased shards are never evicted, nor are hard-linked ones: removing their name would free no bytes. Unfinished
        copies of killed processes are removed first.
        """
        self._remove_unfinished()
        in_use, by_use = self._uses()
        content = self._count()
        content.shards.pop(sha256, None)
        for oldest in by_use:
            if content.num_bytes + num_bytes <= self.limit_bytes and num_bytes <= self._free_bytes(content):
                return
            if oldest not in in_use and self._evict(oldest):
                content.shards.pop(oldest, None)
        taken, free = content.num_bytes, self._free_bytes(content)
        if taken + num_bytes > self.limit_bytes:
            raise MachineError(
                f"{self.path}: the cache is full: its limit is {self.limit_bytes} bytes, shards in use take {taken}, "
                f"{name} needs {num_bytes} more; raise the limit to at least {taken + num_bytes} bytes, or give each "
                f"job its own folder"
            )
        if num_bytes > free:
            raise MachineError(
                f"{self.path}: the disk is full: {name} needs {num_bytes} bytes, {free} are free, and all shards in "
                f"the cache are in use; free at least {num_bytes - free} bytes, or choose a folder on a larger disk"
            )

    def _uses(self) -> tuple[set[str], list[str]]:
        """Return the sha256 of the shards that have a lease, and those of all shards, the least recently used first.

        Leases of killed processes end here, and ended leases are removed if all their shards were used again.
        """
        files, in_use, by_use = list[tuple[int, str]](), set[str](), dict[str, None]()
        for name in filter(_LEASE.fullmatch, os.listdir(self.path)):
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                files.append((os.stat(f"{self.path}/{name}").st_mtime_ns, f"{self.path}/{name}"))
        for _, path in sorted(files, reverse=True):
            with contextlib.suppress(FileNotFoundError), open(path) as file:
                sha256s = file.read().split()
                if _is_locked(file):
                    in_use.update(sha256s)
                else:
                    is_news = any(one not in by_use and os.path.lexists(self.shard_path(one)) for one in sha256s)
                    with contextlib.suppress(PermissionError):  # another user's
                        os.replace(path, _ended(path)) if is_news else os.remove(path)
                by_use |= dict.fromkeys(sha256s)
        unknown = self._count().shards.keys() - by_use.keys()
        return in_use, [*sorted(unknown), *reversed(by_use)]

    def _count(self) -> _Content:
        shards: dict[str, int] = {}
        unwritten = 0
        with os.scandir(self.path) as children:
            for child in children:
                whole, unfinished = _SHARD.fullmatch(child.name), _TEMPORARY.fullmatch(child.name)
                match = whole or unfinished
                if match is None:
                    continue
                with contextlib.suppress(FileNotFoundError):  # a copy that just failed
                    found = child.stat(follow_symlinks=False)
                    # A damaged shard that is being copied again has two files.
                    shards[match["sha256"]] = shards.get(match["sha256"], 0) + found.st_size
                    if unfinished:
                        unwritten += max(0, found.st_size - found.st_blocks * BLOCK_BYTES)
        return _Content(shards, unwritten)

    def _free_bytes(self, content: _Content) -> int:
        """Return the disk's free bytes less those that unfinished copies have yet to write."""
        disk = os.statvfs(self.path)
        return max(0, disk.f_bavail * disk.f_frsize - content.unwritten)

    def _evict(self, sha256: str) -> bool:
        """Remove a shard that is not in use; return False if that would free no bytes or is not permitted."""
        path = self.shard_path(sha256)
        try:
            if os.lstat(path).st_nlink > 1:
                return False
            os.remove(path)
        except (FileNotFoundError, PermissionError):
            return False  # another user's, in a folder where only owners may remove their files
        return True

    def _remove_unfinished(self) -> None:
        """Remove unfinished copies of killed processes."""
        for name in filter(_TEMPORARY.fullmatch, os.listdir(self.path)):
            # A process that opened it and is about to lock it finds it removed, and creates another.
            with contextlib.suppress(BlockingIOError, PermissionError):
                descriptor = lock_file(f"{self.path}/{name}", fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    os.remove(f"{self.path}/{name}")
                finally:
                    os.close(descriptor)


class Lease:
    """A claim on shards: none is evicted until `release`, or until this object or the process ends."""

    def __init__(self, directory: str, sha256s: Sequence[str]) -> None:
        """Write the lease. Lock the folder: an eviction at the same time might not see it."""
        path = f"{directory}/{secrets.token_hex(16)}.lease"
        descriptor = lock_file(path, fcntl.LOCK_EX)
        try:
            write_fully(descriptor, "".join(f"{sha256}\n" for sha256 in sha256s).encode(), 0)
            _stamp(descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(path)
            os.close(descriptor)
            raise
        self._finalizer = weakref.finalize(self, _release, path, descriptor, os.getpid())

    def release(self) -> None:
        """End the lease; calls after the first do nothing."""
        self._finalizer()


def _stamp(descriptor: int) -> None:
    # Not the kernel's time of a write, which is the same for some milliseconds.
    os.utime(descriptor, ns=(time.time_ns(), time.time_ns()))


def _ended(path: str) -> str:
    return f"{os.path.splitext(path)[0]}.used"


def _is_locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _release(path: str, descriptor: int, process: int) -> None:
    """End a lease without taking a lock: the garbage collector may call this at any moment."""
    if os.getpid() == process:  # a forked child has a copy of the lease, and must not end it
        with contextlib.suppress(OSError):
            _stamp(descriptor)
            os.replace(path, _ended(path))
    os.close(descriptor)
