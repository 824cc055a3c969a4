"""Where TensorFlow finds the shards: where they lie, or copied into a cache before they are read."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shardkit.errors import CallError
from shardkit.reader.cache.shards import ShardCache
from shardkit.reader.table.records import RecordTable

# Each copies with several requests under way already.
SHARDS_AT_A_TIME = 4
READ_AHEAD = "GCS_READAHEAD_BUFFER_SIZE_BYTES"
_LOG = logging.getLogger(__name__)


class HeldPaths(list[str]):
    """Paths of copies that are not evicted as long as this list is there.

    The record table has it, and a graph keeps the table (see `python_calls`): so the copies stay as long as the input
    function, one of its datasets or one of their iterators, whichever is the last.
    """

    cache: ShardCache


def reachable(table: RecordTable, cache_dir: str | None, cache_bytes: int, *, in_blocks: bool) -> ShardCache | None:
    """The cache, if one is wanted.

    Args:
        table: of the split.
        cache_dir: its folder, or None.
        cache_bytes: the most that it may hold.
        in_blocks: records are read many at a time.

    Raises:
        CallError: TensorFlow cannot read the shards where they lie, and there is no cache.
    """
    if cache_dir is not None:
        return ShardCache(cache_dir, cache_bytes)
    for url in dict.fromkeys(root.url for root in table.roots):
        scheme = url.partition("://")[0] if "://" in url else "file"
        if scheme == "s3":
            msg = f"{url}: TensorFlow does not read s3://; give cache=, a local folder to copy the shards to"
            raise CallError(msg)
        if scheme != "file" and not in_blocks:
            _LOG.warning(
                "%s: records are slow to read from an object store one by one; cache= copies the shards to a disk, "
                "order='block' reads many with each request",
                url,
            )
        if scheme == "gs" and READ_AHEAD not in os.environ:
            # It reads this variable as it is imported: too late to set it here.
            _LOG.warning(
                "%s: TensorFlow reads 64 MiB ahead wherever it seeks in gs://, most of it in vain; set %s=0 (for "
                "order='full': somewhat more than a record's bytes) before Python starts, or give cache=",
                url,
                READ_AHEAD,
            )
    return None


def copied(table: RecordTable, cache: ShardCache) -> RecordTable:
    """The table with the paths of local copies of all its shards, which are made now, several at a time.

    Raises:
        CallError: the cache is smaller than the shards.
        MachineError: the disk is full, or a shard cannot be copied.
    """
    cache.check_fits(table.shards)
    with ThreadPoolExecutor(SHARDS_AT_A_TIME) as pool:
        paths = HeldPaths(pool.map(cache.fetch, table.roots, table.shards))
    paths.cache = cache
    return replace(table, paths=paths)
