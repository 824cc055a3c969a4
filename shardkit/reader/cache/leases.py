"""Which shards of a cache are in use, and when each was last used.

    <random>.lease     the sha256 of every shard that one input reads, one a line; locked by the kernel as long as the
                       input exists
    <sha256>.used      empty; its modification time is when the shard's last lease began or ended

An input has one lease, written once, before the first of its shards is copied. So it needs one descriptor however many
shards it has: one for each would reach the usual limit of 1,024 with as many shards. A lease is written while the
folder is locked, and shards are evicted under the same lock, so that an eviction never misses one.
"""

import contextlib
import fcntl
import os
import re
import secrets
import weakref
from collections.abc import Sequence

from shardkit.storage import write_fully
from shardkit.storage.kernel_locks import lock_file

_LEASE = re.compile(r"[0-9a-f]{32}\.lease")


class Lease:
    """A claim on shards: none is evicted until `release`, or until this object or the process ends."""

    def __init__(self, directory: str, sha256s: Sequence[str]) -> None:
        """Write the lease. Lock the folder: an eviction at the same time might not see it."""
        path = f"{directory}/{secrets.token_hex(16)}.lease"
        descriptor = lock_file(path, fcntl.LOCK_EX)
        try:
            write_fully(descriptor, "".join(f"{sha256}\n" for sha256 in sha256s).encode(), 0)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(path)
            os.close(descriptor)
            raise
        for sha256 in sha256s:
            _stamp(directory, sha256, create=True)
        self._finalizer = weakref.finalize(self, _release, directory, tuple(sha256s), path, descriptor, os.getpid())

    def release(self) -> None:
        """End the lease; calls after the first do nothing."""
        self._finalizer()


def shards_in_use(directory: str) -> set[str]:
    """Return the sha256 of all shards with a lease, and remove the leases of killed processes. Lock the folder."""
    used: set[str] = set()
    for name in os.listdir(directory):
        if not _LEASE.fullmatch(name):
            continue
        path = f"{directory}/{name}"
        try:
            descriptor = lock_file(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with contextlib.suppress(FileNotFoundError), open(path) as file:
                used.update(file.read().split())
        else:
            # Another user's file may not be removable; it has no effect.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                os.remove(path)
            os.close(descriptor)
    return used


def last_used_ns(directory: str, sha256: str) -> int:
    """Return when a shard was last used, in ns since the epoch; 0 if that is unknown."""
    try:
        return os.stat(stamp_path(directory, sha256)).st_mtime_ns
    except FileNotFoundError:
        return 0


def stamp_path(directory: str, sha256: str) -> str:
    """Return the path of the file whose modification time is when a shard was last used."""
    return f"{directory}/{sha256}.used"


def _stamp(directory: str, sha256: str, *, create: bool) -> None:
    path = stamp_path(directory, sha256)
    # The file may be another user's, or evicted. An old time only makes the shard one of the first to be evicted.
    with contextlib.suppress(OSError):
        if create:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
        os.utime(path)


def _release(directory: str, sha256s: Sequence[str], path: str, descriptor: int, process: int) -> None:
    """End a lease without taking a lock: the garbage collector may call this at any moment."""
    if os.getpid() == process:  # a forked child has a copy of the lease, and must not end it
        for sha256 in sha256s:
            _stamp(directory, sha256, create=False)
        with contextlib.suppress(OSError):
            os.remove(path)
    os.close(descriptor)
