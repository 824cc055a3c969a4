"""One shard's bytes from its source into an open file, as fast as the link gives them, held against its sha256."""

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from shardkit.dataset.manifest import Shard
from shardkit.errors import DataError, MachineError
from shardkit.storage import COPY_BYTES, Folder

# A request to an object store takes some 50 ms whatever it asks for: at 8 MiB each, 16 at a time leave that behind
# 10 Gbit/s. Four shards at a time keep all of them busy, in 128 MiB of memory.
CHUNK_BYTES = 8 << 20  # 8 MiB
READS_AT_A_TIME = 16
CHUNKS_OF_A_SHARD = 4
ATTEMPTS = 2  # stores answer wrongly now and then; twice is no accident


# The time of change that a copy gets before its sha256 is compared. Whatever writes into the file afterwards sets
# another, so that a sound copy of any size is known by its size and time, without reading it again.
VERIFIED_NS = 0


def copy_shard(root: Folder, shard: Shard, descriptor: int, name: str, readers: ThreadPoolExecutor) -> None:
    """Write a shard's bytes into a file from its start, and compare what the file then holds with the manifest.

    Others may write into the file meanwhile, or the disk keep other bytes than it was given: so what is hashed is what
    the file gives back, not what was sent. Its time of change is `VERIFIED_NS` afterwards.

    Args:
        root: The dataset's folder.
        shard: The shard, of its manifest.
        descriptor: The file, open for reading and writing, as long as the shard.
        name: The file's path, for errors.
        readers: Threads that wait for the source, shared by all shards that are copied at a time.

    Raises:
        DataError: There is no such shard, or it is another than the manifest says.
        MachineError: The source cannot be read, or the file does not keep what is written.
        OSError: The file cannot be written.
    """
    for attempt in range(ATTEMPTS):
        sent, end = hashlib.sha256(), 0
        for chunk in _chunks(root, shard, readers):
            if attempt:  # only now is it of interest whether source or disk is at fault
                sent.update(chunk)
            _write(descriptor, chunk, end)
            end += len(chunk)
        os.utime(descriptor, ns=(VERIFIED_NS, VERIFIED_NS))
        if end == shard.num_bytes and _sha256(descriptor) == shard.sha256:
            return
    if sent.hexdigest() == shard.sha256:
        msg = (
            f"{name}: the file does not keep what is written into it: others change it, or the disk is failing; choose "
            f"another cache_dir"
        )
        raise MachineError(msg)
    msg = (
        f"{root.url}/{shard.path}: the shard is not the one that the manifest names ({end} bytes with sha256 "
        f"{sent.hexdigest()}, not {shard.num_bytes} with {shard.sha256}); restore it or convert again"
    )
    raise DataError(msg)


def _sha256(descriptor: int) -> str:
    digest, end = hashlib.sha256(), 0
    while chunk := os.pread(descriptor, COPY_BYTES, end):
        digest.update(chunk)
        end += len(chunk)
    return digest.hexdigest()


def _chunks(root: Folder, shard: Shard, readers: ThreadPoolExecutor) -> Iterator[bytes]:
    """The shard's bytes in order, several requests under way."""
    where = f"{root.url}/{shard.path}"
    under_way: deque[Future[bytes]] = deque()
    try:
        for start in range(0, shard.num_bytes, CHUNK_BYTES):
            num_bytes = min(CHUNK_BYTES, shard.num_bytes - start)
            under_way.append(readers.submit(root.read_range, shard.path, start, num_bytes))
            if len(under_way) == CHUNKS_OF_A_SHARD:
                yield _result(under_way.popleft(), where)
        while under_way:
            yield _result(under_way.popleft(), where)
    finally:
        for future in under_way:
            future.cancel()


def _result(chunk: "Future[bytes]", where: str) -> bytes:
    try:
        return chunk.result()
    except (FileNotFoundError, NotADirectoryError):
        msg = f"{where}: the shard is missing; restore it or convert again"
        raise DataError(msg) from None
    except OSError as error:
        msg = f"{where}: cannot copy the shard: {error.strerror or error}"
        raise MachineError(msg) from error


def _write(descriptor: int, chunk: bytes, start: int) -> None:
    rest = memoryview(chunk)
    while rest:
        written = os.pwrite(descriptor, rest, start)
        rest, start = rest[written:], start + written
