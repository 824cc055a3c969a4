"""Copy one shard's bytes from its source into an open file, with several requests at a time, and check their sha256."""

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from shardkit.dataset.index.shards import missing_shard
from shardkit.dataset.manifest import Shard
from shardkit.dataset.manifest.readopting import made_again
from shardkit.errors import DataError, MachineError, StoreError
from shardkit.storage import COPY_BYTES, Folder, write_fully

# A request to an object store takes about 50 ms whatever its size: 16 requests of 8 MiB at a time make that negligible
# up to 10 Gbit/s. Four shards at a time keep all of them busy, in 128 MiB of memory.
CHUNK_BYTES = 8 << 20  # 8 MiB
READS_AT_A_TIME = 16
CHUNKS_OF_A_SHARD = 4
ATTEMPTS = 2  # stores return wrong bytes now and then; twice in a row is a fault

# Modification time that a copy gets before its sha256 is compared. A later write sets another time, so that an
# unchanged copy of any size is recognised by its size and time, without being read again.
VERIFIED_NS = 0


def copy_shard(root: Folder, shard: Shard, descriptor: int, name: str, readers: ThreadPoolExecutor) -> None:
    """Write a shard's bytes into a file from its start, and compare what the file then holds with the manifest.

    The bytes that are hashed are read back from the file: other processes may write into it, and a failing disk may
    return other bytes than were written. The file's modification time is `VERIFIED_NS` afterwards.
    """
    for attempt in range(ATTEMPTS):
        sent, end = hashlib.sha256(), 0
        for chunk in _chunks(root, shard, readers):
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


def _chunks(root: Folder, shard: Shard, readers: ThreadPoolExecutor) -> Iterator[bytes]:
    """Yield the shard's bytes in order, with several requests running."""
    running: deque[Future[bytes]] = deque()
    try:
        for start in range(0, shard.num_bytes, CHUNK_BYTES):
            num_bytes = min(CHUNK_BYTES, shard.num_bytes - start)
            running.append(readers.submit(root.read_range, shard.path, start, num_bytes))
            if len(running) == CHUNKS_OF_A_SHARD:
                yield _result(running.popleft(), root, shard)
        while running:
            yield _result(running.popleft(), root, shard)
    finally:
        for future in running:
            future.cancel()


def _result(chunk: "Future[bytes]", root: Folder, shard: Shard) -> bytes:
    try:
        return chunk.result()
    except (FileNotFoundError, NotADirectoryError):
        raise missing_shard(root, shard.path) from None
    except StoreError:  # it names the shard and the remedy
        raise
    except OSError as error:
        raise MachineError(f"{root.url}/{shard.path}: cannot copy the shard: {error.strerror or error}") from error
