"""One shard's bytes from its source into an open file, as fast as the link gives them, held against its sha256."""

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from shardkit.errors import DataError, MachineError
from shardkit.manifest import Shard
from shardkit.storage import Folder

# A request to an object store takes some 50 ms whatever it asks for: at 8 MiB each, 16 at a time leave that behind
# 10 Gbit/s. Four shards at a time keep all of them busy, in 128 MiB of memory.
CHUNK_BYTES = 8 << 20  # 8 MiB
READS_AT_A_TIME = 16
CHUNKS_OF_A_SHARD = 4
ATTEMPTS = 2  # stores answer wrongly now and then; twice is no accident


def copy_shard(root: Folder, shard: Shard, descriptor: int, readers: ThreadPoolExecutor) -> None:
    """Write a shard's bytes into a file from its start.

    Args:
        root: folder of the dataset.
        shard: of its manifest.
        descriptor: of the file, open for writing.
        readers: threads that wait for the source, shared by all shards that are copied at a time.

    Raises:
        DataError: there is no such shard, or it is another than the manifest says.
        MachineError: the source cannot be read.
        OSError: the file cannot be written.
    """
    for _ in range(ATTEMPTS):
        digest, end = hashlib.sha256(), 0
        for chunk in _chunks(root, shard, readers):
            digest.update(chunk)
            _write(descriptor, chunk, end)
            end += len(chunk)
        if end == shard.num_bytes and digest.hexdigest() == shard.sha256:
            return
    msg = (
        f"{root.url}/{shard.path}: the shard is not the one that the manifest names ({end} bytes with sha256 "
        f"{digest.hexdigest()}, not {shard.num_bytes} with {shard.sha256}); restore it or convert again"
    )
    raise DataError(msg)


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
