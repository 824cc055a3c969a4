"""Copies of shards on a local disk, within a limit of bytes, for stores that are slow or that TensorFlow cannot open.

A copy is written under a temporary name; what the file then holds is compared with the manifest's sha256, flushed and
only then renamed. So a file under a shard's name is whole at every moment, even if a process is killed.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shardkit.dataset.manifest import Shard
from shardkit.errors import CallError, MachineError
from shardkit.reader.cache.copying import READS_AT_A_TIME, VERIFIED_NS, copy_shard
from shardkit.reader.cache.folder import CacheFolder
from shardkit.reader.cache.leases import Lease
from shardkit.storage import COPY_BYTES, Folder, LocalFolder, is_out_of_space, open_folder
from shardkit.storage.kernel_locks import lock_file

ATTEMPTS = 2  # to copy; if a copy is not right even then, the disk is at fault

_OF_ANOTHER_USER = (
    "give each user a cache_dir of their own, or let all of them read and write in the folder and in what is in it"
)
_FULL = "free some room on its disk, or choose a cache_dir on a larger one"
_NO_LOCKS = "its file system has no locks: choose a cache_dir on this machine's own disk"
_REMEDIES = {
    errno.EACCES: _OF_ANOTHER_USER,
    errno.EPERM: _OF_ANOTHER_USER,
    errno.EROFS: "choose a cache_dir that can be written to",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
}


@dataclass(slots=True)
class Held:
    """A shard in the cache that nobody evicts until `close`, or until this process ends, however it ends.

    Attributes:
        path: of the local copy.
    """

    path: str
    _sha256: str
    _lease: Lease | None

    def close(self) -> None:
        """Give it back; it stays in the cache until its room is needed."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.give_back(self._sha256)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


class ShardCache:
    """A folder of copies that processes of one host share. All methods may be called from any thread.

    `hold` is for who is done with a shard at a known time, `fetch` for who is not: it holds until `release` or `close`,
    or until nobody refers to the cache any more.
    """

    def __init__(self, directory: str, limit_bytes: int) -> None:
        """Make the folder where there is none.

        Args:
            directory: local, on a disk with flock (not a shared one: hosts do not know of each other's holds).
            limit_bytes: what all shards in it may take, those in the making included, at least 1. Processes with
                different limits each keep to their own when they add a shard.

        Raises:
            CallError: the folder is not local, or the limit is below 1.
            MachineError: it cannot be made.
        """
        # By its name: to open a bucket is to connect to it.
        if "://" in directory and not directory.startswith("file://"):
            msg = f"{directory}: a cache is a local folder; give one on this machine's own disk"
            raise CallError(msg)
        if limit_bytes < 1:
            msg = f"{directory}: the limit of the cache must be at least 1 byte; found {limit_bytes}"
            raise CallError(msg)
        folder = open_folder(directory)
        with _explained(folder.url):
            folder.create()
        self._folder = CacheFolder(folder.url, limit_bytes)
        self._lease = Lease(self._folder)
        self._readers = ThreadPoolExecutor(READS_AT_A_TIME, thread_name_prefix="shardkit-cache")
        self._kept: dict[str, Held] = {}
        self._lock = threading.Lock()

    @property
    def num_bytes(self) -> int:
        """What the shards in the folder take, those in the making included."""
        return self._folder.num_bytes()

    def check_fits(self, shards: list[Shard]) -> None:
        """Refuse to hold so many shards at a time.

        Raises:
            CallError: the limit is smaller than all of them together.
        """
        needed = sum({shard.sha256: shard.num_bytes for shard in shards}.values())
        if needed > self._folder.limit_bytes:
            msg = (
                f"{self._folder.path}: the cache's limit of {self._folder.limit_bytes} bytes is smaller than the "
                f"{len(shards)} shards that are read at a time; they take {needed} bytes: raise the limit to that"
            )
            raise CallError(msg)

    def hold(self, root: Folder, shard: Shard) -> Held:
        """The local copy of a shard, made now where there is none, and not evicted while it is held.

        Who waits for a shard that another thread or process is copying gets that copy; where that one is killed, the
        next in the queue copies.

        Args:
            root: folder of the dataset.
            shard: of its manifest.

        Raises:
            CallError: the limit is smaller than the shard, or the cache lies inside the dataset's folder.
            DataError: the source has no such shard, or another one than the manifest says.
            MachineError: the source cannot be read; limit or disk are full; the folder cannot be written to.
        """
        self._check(root, shard)
        with _explained(self._folder.path):
            os.makedirs(self._folder.path, exist_ok=True)  # someone may have emptied the disk since
            self._lease.take(shard.sha256)
            held = Held(self._folder.shard(shard.sha256), shard.sha256, self._lease)
            try:
                for _ in range(ATTEMPTS):
                    if self._is_whole(shard):
                        return held
                    self._copy(root, shard)
                if not self._is_whole(shard):
                    msg = f"{held.path}: the disk gives back other bytes than were written; replace it"
                    raise MachineError(msg)
            except BaseException:
                held.close()
                raise
            return held

    def fetch(self, root: Folder, shard: Shard) -> str:
        """The path of a shard's local copy, held until `release` or `close`; raises what `hold` does."""
        with self._lock:
            kept = self._kept.get(shard.sha256)
        if kept is not None and self._is_whole(shard):
            return kept.path
        held = self.hold(root, shard)
        with self._lock:
            # There is one where another thread was faster, or where the whole folder was removed, locks included.
            kept = self._kept.get(shard.sha256)
            self._kept[shard.sha256] = held
        if kept is not None:
            kept.close()
        return held.path

    def release(self, shard: Shard) -> None:
        """Give back what `fetch` holds of a shard; no error where that is nothing."""
        with self._lock:
            held = self._kept.pop(shard.sha256, None)
        if held is not None:
            held.close()

    def renew(self, root: Folder, shard: Shard) -> bool:
        """Read a whole copy, and make it anew if it is not what the manifest says: for who found a bad record in it.

        Damage that changes no time of change (a failing disk) is found by the CRCs of records only.

        Returns:
            Whether it had to be copied again.
        """
        with self.hold(root, shard) as path, _explained(self._folder.path):
            if _sha256(path) == shard.sha256:
                return False
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)  # no longer known to be sound, to other processes neither
            self.hold(root, shard).close()
            return True

    def close(self) -> None:
        """Give back all that `fetch` holds."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for held in kept:
            held.close()

    def _check(self, root: Folder, shard: Shard) -> None:
        path, limit = self._folder.path, self._folder.limit_bytes
        if shard.num_bytes > limit:
            msg = (
                f"{path}: the cache's limit of {limit} bytes is smaller than one shard: {shard.path} has "
                f"{shard.num_bytes}; raise the limit to at least that, better to all shards that are read at a time"
            )
            raise CallError(msg)
        if isinstance(root, LocalFolder):
            source, here = root.resolve(""), os.path.realpath(path)
            if here == source or here.startswith(source.rstrip("/") + "/"):
                msg = f"{path}: the cache lies inside the dataset {root.url}; choose a folder outside it"
                raise CallError(msg)

    def _is_whole(self, shard: Shard) -> bool:
        path = self._folder.shard(shard.sha256)
        try:
            found = os.lstat(path)
            if found.st_size != shard.num_bytes:  # that of a link is its own
                return False
            if found.st_mtime_ns == VERIFIED_NS:
                return True
            if _sha256(path) != shard.sha256:
                return False
            with contextlib.suppress(PermissionError):  # another user's: sound all the same
                os.utime(path, ns=(found.st_atime_ns, VERIFIED_NS))
        except FileNotFoundError:
            return False
        return True

    def _copy(self, root: Folder, shard: Shard) -> None:
        temporary, path = self._folder.temporary(shard.sha256), self._folder.shard(shard.sha256)
        descriptor = lock_file(temporary, fcntl.LOCK_EX, for_writing=True)  # waits for another that copies the same
        try:
            try:
                if self._is_whole(shard):
                    os.remove(temporary)
                    return
                with self._folder.alone():
                    os.ftruncate(descriptor, 0)  # what a killed process left takes no room
                    self._folder.make_room(shard.sha256, shard.num_bytes, shard.path)
                    os.ftruncate(descriptor, shard.num_bytes)
                copy_shard(root, shard, descriptor, temporary, self._readers)
                os.fsync(descriptor)
                with self._folder.alone():  # who counts must not see it under both names, or under neither
                    os.replace(temporary, path)
            except BaseException as error:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(temporary)
                if is_out_of_space(error) and not isinstance(error, MachineError):
                    msg = (
                        f"{self._folder.path}: the disk ran full while {shard.path} was copied ({shard.num_bytes} "
                        f"bytes); free that much, or choose a folder on a larger disk"
                    )
                    raise MachineError(msg) from error
                raise
            # Behind the rename: a killed process would leave a temporary file that its own user cannot open.
            os.fchmod(descriptor, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _explained(directory: str) -> Iterator[None]:
    """Turn an OSError into one sentence that names the file and the remedy."""
    try:
        yield
    except OSError as error:
        if isinstance(error, MachineError):
            raise
        remedy = _REMEDIES.get(error.errno or 0, "choose a folder on another disk of this machine as cache_dir")
        msg = f"{error.filename or directory}: the cache cannot be used: {error.strerror or error}; {remedy}"
        raise MachineError(msg) from error


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(COPY_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
