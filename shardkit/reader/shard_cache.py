"""Copies of shards on a local disk, within a limit of bytes, for stores that are slow or that TensorFlow cannot open.

    <sha256>.tfrecord          a complete shard, under the checksum of its manifest: equal shards of two datasets share
                               one file, and versions of one dataset never mix. Its access time is when it was last
                               fetched; any other modification time than COPIED_NS means that it was changed
    <random>.lease             the sha256 of every shard that one input reads, one a line; locked as long as the input
                               exists, and written before the first of them is copied
    .shardkit-tmp-<sha256>     an unfinished copy, locked by its writer; it has the shard's length from the start, so
                               that the room it will need is already counted
    lock                       held while shards are counted, evicted or renamed, and leases written

A copy is renamed once its bytes have the manifest's sha256. So a file under a shard's name is always complete, even
after SIGKILL. The kernel releases all these locks when their process exits. So the files of a killed process are told
from those of a running one without a daemon or a file of process numbers. Other files in the folder are neither counted
nor touched.

An input has one lease: one for each shard would reach the usual limit of 1,024 descriptors.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from shardkit.dataset.index.shards import missing_shard
from shardkit.dataset.manifest import Shard
from shardkit.dataset.manifest.readopting import made_again
from shardkit.errors import CallError, DataError, MachineError, StoreError
from shardkit.storage import TEMPORARY, Folder, LocalFolder, is_out_of_space, open_folder, write_fully
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.kernel_locks import lock_file

_Result = TypeVar("_Result")
_FILE = re.compile(rf"(?P<unfinished>{re.escape(TEMPORARY)})?(?P<sha256>[0-9a-f]{{64}})(?(unfinished)|\.tfrecord)")
_LEASE = re.compile(r"[0-9a-f]{32}\.lease")
_OTHER_USERS_FILE = (
    "give each user their own cache folder, or let all of them read and write in the folder and the files in it"
)
_NO_LOCKS = "its file system has no locks: choose a cache folder on this machine's own disk"
_REMEDIES = {
    errno.EROFS: "choose a cache folder that is writable",
    **dict.fromkeys((errno.EACCES, errno.EPERM), _OTHER_USERS_FILE),
    **dict.fromkeys((errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS), _NO_LOCKS),
}
_DEFAULT_REMEDY = "choose a cache folder on another disk of this machine"

# A request to an object store takes about 50 ms whatever its size: 16 requests of 4 MiB at a time reach 10 Gbit/s.
# `read_many` is ahead by twice as many, in 128 MiB of memory.
SHARDS_AT_A_TIME = 4
CHUNK_BYTES = 4 << 20  # 4 MiB
CHUNKS_AT_A_TIME = 4  # of each shard
ATTEMPTS = 2  # stores return wrong bytes now and then; twice in a row is a fault
# A later write sets another time, so an unchanged copy of any size is recognised without being read again.
COPIED_NS = 0


class HeldPaths(list[str]):
    """Paths of local copies that are not evicted until `release`, or until this list or the process ends.

    The record table has it, and a graph keeps the table (see `python_calls`). So the copies stay as long as the input
    function, any of its datasets or any of their iterators.
    """

    def __init__(self, lease: str, descriptor: int) -> None:
        super().__init__()
        self.release = weakref.finalize(self, _end_lease, lease, descriptor, os.getpid())


def _end_lease(lease: str, descriptor: int, process: int) -> None:
    """Remove a lease without taking a lock: the garbage collector may call this at any moment."""
    if os.getpid() == process:  # a forked child has a copy of the lease, and must not end it
        with contextlib.suppress(OSError):
            os.remove(lease)
    os.close(descriptor)


class ShardCache:
    """A folder of copies that the processes of one host share."""

    def __init__(self, directory: str, limit_bytes: int) -> None:
        """Name the folder; the first `fetch` creates it."""
        # Decided by its name: opening a bucket would connect to it.
        if "://" in directory and not directory.startswith("file://"):
            raise CallError(f"{directory}: a cache is a local folder; give one on this machine's own disk")
        self._path, self._limit = open_folder(directory).url, limit_bytes

    def fetch(self, roots: Sequence[Folder], shards: Sequence[Shard]) -> HeldPaths:
        """Return the paths of local copies of shards; copy the missing ones, several at a time.

        A shard that another thread or process is copying is waited for. If that process is killed, the next one in the
        queue copies.
        """
        self._check_limit(shards)
        for root in set(roots):
            self._check_apart(root)
        with self._named_errors():
            os.makedirs(self._path, exist_ok=True)  # after the checks: a refused call leaves no folder
            held = self._with_room(partial(self._lease, list(dict.fromkeys(shard.sha256 for shard in shards))))
            try:
                with ThreadPoolExecutor(SHARDS_AT_A_TIME) as pool:
                    held.extend(pool.map(self._fetch, roots, shards))
            except BaseException:
                held.release()  # the traceback would keep it
                raise
        return held

    def _check_limit(self, shards: Sequence[Shard]) -> None:
        needed = sum({shard.sha256: shard.num_bytes for shard in shards}.values())
        if needed > self._limit:
            raise CallError(
                f"{self._path}: the cache's limit of {self._limit} bytes is smaller than the {len(shards)} shards that "
                f"are read, which take {needed} bytes; raise the limit to at least that"
            )

    def _check_apart(self, root: Folder) -> None:
        if isinstance(root, LocalFolder):
            source, here = root.resolve(""), os.path.realpath(self._path)
            if here == source or here.startswith(source.rstrip("/") + "/"):
                msg = f"{self._path}: the cache is inside the dataset {root.url}; choose a folder outside it"
                raise CallError(msg)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Turn an OSError of the block into a MachineError that names the file and the remedy."""
        try:
            yield
        except OSError as error:
            if isinstance(error, MachineError):
                raise
            remedy = _REMEDIES.get(error.errno or 0, _DEFAULT_REMEDY)
            msg = f"{error.filename or self._path}: the cache cannot be used: {error.strerror or error}; {remedy}"
            raise MachineError(msg) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = lock_file(f"{self._path}/lock", fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(descriptor)

    def _lease(self, sha256s: Sequence[str]) -> HeldPaths:
        path = f"{self._path}/{secrets.token_hex(16)}.lease"
        with self._locked():  # an eviction at the same time might not see it
            held = HeldPaths(path, lock_file(path, fcntl.LOCK_EX))
            try:
                with open(path, "w") as file:
                    file.writelines(f"{sha256}\n" for sha256 in sha256s)
            except BaseException:
                held.release()
                raise
        return held

    def _fetch(self, root: Folder, shard: Shard) -> str:
        path = f"{self._path}/{shard.sha256}.tfrecord"
        if not _is_whole(path, shard):
            self._copy(root, shard, path)
        with contextlib.suppress(OSError):  # another user's file, or one that was removed from outside
            os.utime(path, ns=(time.time_ns(), COPIED_NS))
        return path

    def _copy(self, root: Folder, shard: Shard, path: str) -> None:
        temporary = f"{self._path}/{TEMPORARY}{shard.sha256}"
        descriptor = lock_file(temporary, fcntl.LOCK_EX, for_writing=True)  # waits for another copy of the same shard
        try:
            try:
                if _is_whole(path, shard):
                    os.remove(temporary)
                    return
                with self._locked():
                    self._make_room(shard)
                    os.ftruncate(descriptor, shard.num_bytes)
                self._download(root, shard, descriptor)
                os.utime(descriptor, ns=(time.time_ns(), COPIED_NS))
                os.fsync(descriptor)
                with self._locked():  # so that a count sees it under exactly one of its names
                    os.replace(temporary, path)
            except BaseException as error:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(temporary)
                if is_out_of_space(error) and not isinstance(error, MachineError):
                    raise MachineError(
                        f"{self._path}: the disk ran full while {shard.path} was copied ({shard.num_bytes} "
                        "bytes); free that much, or choose a folder on a larger disk"
                    ) from error
                raise
            # After the rename: a killed process would leave a temporary file that its own user cannot open.
            os.fchmod(descriptor, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        finally:
            os.close(descriptor)

    def _download(self, root: Folder, shard: Shard, descriptor: int) -> None:
        """Write a shard's bytes into a file from its start, and compare them with the manifest."""
        for _ in range(ATTEMPTS):
            digest, end = hashlib.sha256(), 0
            starts = range(0, shard.num_bytes, CHUNK_BYTES)
            for chunk in read_many(lambda start: _chunk(root, shard, start), starts, CHUNKS_AT_A_TIME):
                self._with_room(partial(write_fully, descriptor, chunk, end))
                digest.update(chunk)
                end += len(chunk)
            if digest.hexdigest() == shard.sha256:
                return
        raise DataError(
            f"{root.url}/{shard.path}: the shard is not the one that the manifest names ({end} bytes with sha256 "
            f"{digest.hexdigest()}, not {shard.num_bytes} with {shard.sha256}); restore it or {made_again(root)}"
        )

    def _with_room(self, write: Callable[[], _Result]) -> _Result:
        """Call a function that writes; while the disk is full, evict a shard and call it again."""
        while True:
            try:
                return write()
            except OSError as error:  # noqa: PERF203 - each attempt needs its own
                if isinstance(error, MachineError) or not is_out_of_space(error):
                    raise
                with self._locked():
                    if not any(map(self._evict, self._count()[1])):
                        raise

    def _make_room(self, shard: Shard) -> None:
        """Evict the least recently used shards until a new one is within the limit. Lock the folder."""
        num_bytes, evictable = self._count()
        num_bytes.pop(shard.sha256, None)
        for sha256 in evictable:
            if num_bytes.total() + shard.num_bytes <= self._limit:
                return
            if self._evict(sha256):
                num_bytes.pop(sha256, None)
        needed = num_bytes.total() + shard.num_bytes
        if needed > self._limit:
            raise MachineError(
                f"{self._path}: the cache is full: its limit is {self._limit} bytes, shards in use take "
                f"{num_bytes.total()}, {shard.path} needs {shard.num_bytes} more; raise the limit to at least {needed} "
                "bytes, or give each job its own folder"
            )

    def _count(self) -> tuple[Counter[str], list[str]]:
        """Return the bytes of each shard, and the shards without a lease, the least recently used first.

        Unfinished copies count too; those of killed processes are removed, and so are their leases.
        """
        num_bytes, in_use, last_use = Counter[str](), set[str](), dict[str, int]()
        for name in os.listdir(self._path):
            path, match = f"{self._path}/{name}", _FILE.fullmatch(name)
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                if _LEASE.fullmatch(name):
                    if _is_abandoned(path):
                        continue
                    with open(path) as file:
                        in_use.update(file.read().split())
                elif match is not None and not (match["unfinished"] and _is_abandoned(path)):
                    found = os.lstat(path)
                    num_bytes[match["sha256"]] += found.st_size  # a damaged shard that is copied again has two files
                    if not match["unfinished"]:
                        last_use[match["sha256"]] = found.st_atime_ns
        return num_bytes, sorted(last_use.keys() - in_use, key=lambda sha256: last_use[sha256])

    def _evict(self, sha256: str) -> bool:
        """Remove a shard that is not in use; return False if that is not permitted."""
        try:
            os.remove(f"{self._path}/{sha256}.tfrecord")
        except (FileNotFoundError, PermissionError):
            return False  # another user's, in a folder where only owners may remove their files
        return True


def _is_whole(path: str, shard: Shard) -> bool:
    """Return whether a file is a complete, unchanged copy."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return found.st_size == shard.num_bytes and found.st_mtime_ns == COPIED_NS  # a symbolic link has its own size


def _is_abandoned(path: str) -> bool:
    """Remove a file whose process has ended, and return whether it has."""
    with contextlib.suppress(BlockingIOError):
        descriptor = lock_file(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            # A process that opened it and is about to lock it finds it removed, and creates another.
            with contextlib.suppress(PermissionError):  # another user's
                os.remove(path)
        finally:
            os.close(descriptor)
        return True
    return False


def _chunk(root: Folder, shard: Shard, start: int) -> bytes:
    try:
        return root.read_range(shard.path, start, min(CHUNK_BYTES, shard.num_bytes - start))
    except (FileNotFoundError, NotADirectoryError):
        raise missing_shard(root, shard.path) from None
    except StoreError:  # it names the shard and the remedy
        raise
    except OSError as error:
        raise MachineError(f"{root.url}/{shard.path}: cannot copy the shard: {error.strerror or error}") from error
