"""Copies of shards on a local disk, within a limit of bytes, for stores that are slow or that TensorFlow cannot open.

A copy is written under a temporary name. What the file then holds is compared with the manifest's sha256 and flushed,
and only then the file is renamed. So a file under a shard's name is always complete, even after SIGKILL.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from shardkit.dataset.index.shards import missing_shard
from shardkit.dataset.manifest import Shard
from shardkit.dataset.manifest.readopting import made_again
from shardkit.errors import CallError, DataError, MachineError, StoreError
from shardkit.reader.cache.folder import CacheFolder, Lease
from shardkit.storage import COPY_BYTES, Folder, LocalFolder, is_out_of_space, open_folder, write_fully
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.kernel_locks import lock_file

SHARDS_AT_A_TIME = 4  # each is copied with several requests at a time
_OTHER_USERS_FILE = (
    "give each user their own cache folder, or let all of them read and write in the folder and the files in it"
)
_FULL = "free some room on its disk, or choose a cache folder on a larger one"
_NO_LOCKS = "its file system has no locks: choose a cache folder on this machine's own disk"
_REMEDIES = {
    errno.EACCES: _OTHER_USERS_FILE,
    errno.EPERM: _OTHER_USERS_FILE,
    errno.EROFS: "choose a cache folder that is writable",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
}
_DEFAULT_REMEDY = "choose a cache folder on another disk of this machine"


class HeldPaths(list[str]):
    """Paths of local copies that are not evicted as long as this list exists.

    The record table has it, and a graph keeps the table (see `python_calls`). So the copies stay as long as the input
    function, any of its datasets or any of their iterators.
    """

    def __init__(self, paths: Iterable[str], lease: Lease) -> None:
        super().__init__(paths)
        self.lease = lease


class ShardCache:
    """A folder of copies that the processes of one host share."""

    def __init__(self, directory: str, limit_bytes: int) -> None:
        """Name the folder; the first `fetch` creates it."""
        # Decided by its name: opening a bucket would connect to it.
        if "://" in directory and not directory.startswith("file://"):
            raise CallError(f"{directory}: a cache is a local folder; give one on this machine's own disk")
        self._folder = CacheFolder(open_folder(directory).url, limit_bytes)

    def fetch(self, roots: Sequence[Folder], shards: Sequence[Shard]) -> HeldPaths:
        """Return the paths of local copies of shards; copy the missing ones, several at a time.

        A shard that another thread or process is copying is waited for. If that process is killed, the next one in the
        queue copies.
        """
        self._check_limit(shards)
        for root in set(roots):
            self._check_apart(root)
        with cache_errors(self._folder.path):
            os.makedirs(self._folder.path, exist_ok=True)  # after the checks: a refused call leaves no folder
            lease = self._folder.lease(list(dict.fromkeys(shard.sha256 for shard in shards)))
            try:
                with ThreadPoolExecutor(SHARDS_AT_A_TIME) as pool:
                    return HeldPaths(pool.map(self._fetch, roots, shards), lease)
            except BaseException:
                lease.release()  # the traceback would keep it
                raise

    def _check_limit(self, shards: Sequence[Shard]) -> None:
        path, limit = self._folder.path, self._folder.limit_bytes
        needed = sum({shard.sha256: shard.num_bytes for shard in shards}.values())
        if needed > limit:
            raise CallError(
                f"{path}: the cache's limit of {limit} bytes is smaller than the {len(shards)} shards that are read, "
                f"which take {needed} bytes; raise the limit to at least that"
            )

    def _check_apart(self, root: Folder) -> None:
        if isinstance(root, LocalFolder):
            source, here = root.resolve(""), os.path.realpath(self._folder.path)
            if here == source or here.startswith(source.rstrip("/") + "/"):
                msg = f"{self._folder.path}: the cache is inside the dataset {root.url}; choose a folder outside it"
                raise CallError(msg)

    def _fetch(self, root: Folder, shard: Shard) -> str:
        if not self._is_whole(shard):
            self._copy(root, shard)
        return self._folder.shard_path(shard.sha256)

    def _is_whole(self, shard: Shard) -> bool:
        """Return whether a complete, unchanged copy is in the folder.

        A copy whose modification time is not `VERIFIED_NS` is hashed: it was changed, or only restored from a backup.
        """
        path = self._folder.shard_path(shard.sha256)
        try:
            found = os.lstat(path)
            if found.st_size != shard.num_bytes:  # a symbolic link has its own size
                return False
            if found.st_mtime_ns == VERIFIED_NS:
                return True
            with open(path, "rb", buffering=0) as file:
                if _sha256(file.fileno()) != shard.sha256:
                    return False
            with contextlib.suppress(PermissionError):  # another user's file is whole nevertheless
                os.utime(path, ns=(found.st_atime_ns, VERIFIED_NS))
        except FileNotFoundError:
            return False
        return True

    def _copy(self, root: Folder, shard: Shard) -> None:
        temporary, path = self._folder.temporary_path(shard.sha256), self._folder.shard_path(shard.sha256)
        descriptor = lock_file(temporary, fcntl.LOCK_EX, for_writing=True)  # waits for another copy of the same shard
        try:
            try:
                if self._is_whole(shard):
                    os.remove(temporary)
                    return
                with self._folder.locked():
                    os.ftruncate(descriptor, 0)  # what a killed process left takes no room
                    self._folder.make_room(shard.sha256, shard.num_bytes, shard.path)
                    os.ftruncate(descriptor, shard.num_bytes)
                copy_shard(root, shard, descriptor, temporary)
                os.fsync(descriptor)
                with self._folder.locked():  # so that a count sees it under exactly one of its names
                    os.replace(temporary, path)
            except BaseException as error:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(temporary)
                if is_out_of_space(error) and not isinstance(error, MachineError):
                    raise MachineError(
                        f"{self._folder.path}: the disk ran full while {shard.path} was copied ({shard.num_bytes} "
                        f"bytes); free that much, or choose a folder on a larger disk"
                    ) from error
                raise
            # After the rename: a killed process would leave a temporary file that its own user cannot open.
            os.fchmod(descriptor, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def cache_errors(directory: str) -> Iterator[None]:
    """Turn an OSError of the block into a MachineError that names the file and the remedy."""
    try:
        yield
    except OSError as error:
        if isinstance(error, MachineError):
            raise
        remedy = _REMEDIES.get(error.errno or 0, _DEFAULT_REMEDY)
        msg = f"{error.filename or directory}: the cache cannot be used: {error.strerror or error}; {remedy}"
        raise MachineError(msg) from error


# A request to an object store takes about 50 ms whatever its size: 16 requests of 4 MiB at a time reach 10 Gbit/s.
# `read_many` is ahead by twice as many, in 128 MiB of memory.
CHUNK_BYTES = 4 << 20  # 4 MiB
CHUNKS_AT_A_TIME = 4  # of each shard
ATTEMPTS = 2  # stores return wrong bytes now and then; twice in a row is a fault

# Modification time that a copy gets before its sha256 is compared. A later write sets another time, so that an
# unchanged copy of any size is recognised by its size and time, without being read again.
VERIFIED_NS = 0


def copy_shard(root: Folder, shard: Shard, descriptor: int, name: str) -> None:
    """Write a shard's bytes into a file from its start, and compare what the file then holds with the manifest.

    The bytes that are hashed are read back from the file: other processes may write into it, and a failing disk may
    return other bytes than were written. The file's modification time is `VERIFIED_NS` afterwards.
    """
    for attempt in range(ATTEMPTS):
        sent, end = hashlib.sha256(), 0
        starts = range(0, shard.num_bytes, CHUNK_BYTES)
        for chunk in read_many(lambda start: _chunk(root, shard, start), starts, CHUNKS_AT_A_TIME):
            if attempt:  # only after a failure it matters whether the source or the disk is at fault
                sent.update(chunk)
            write_fully(descriptor, chunk, end)
            end += len(chunk)
        os.utime(descriptor, ns=(VERIFIED_NS, VERIFIED_NS))
        if end == shard.num_bytes and _sha256(descriptor) == shard.sha256:
            return
    if sent.hexdigest() == shard.sha256:
        raise MachineError(
            f"{name}: the file does not keep what is written into it: others change it, or the disk is failing; choose "
            f"another cache folder"
        )
    raise DataError(
        f"{root.url}/{shard.path}: the shard is not the one that the manifest names ({end} bytes with sha256 "
        f"{sent.hexdigest()}, not {shard.num_bytes} with {shard.sha256}); restore it or {made_again(root)}"
    )


def _sha256(descriptor: int) -> str:
    digest, end = hashlib.sha256(), 0
    while chunk := os.pread(descriptor, COPY_BYTES, end):
        digest.update(chunk)
        end += len(chunk)
    return digest.hexdigest()


def _chunk(root: Folder, shard: Shard, start: int) -> bytes:
    try:
        return root.read_range(shard.path, start, min(CHUNK_BYTES, shard.num_bytes - start))
    except (FileNotFoundError, NotADirectoryError):
        raise missing_shard(root, shard.path) from None
    except StoreError:  # it names the shard and the remedy
        raise
    except OSError as error:
        raise MachineError(f"{root.url}/{shard.path}: cannot copy the shard: {error.strerror or error}") from error
