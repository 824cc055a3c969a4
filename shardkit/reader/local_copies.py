"""Where TensorFlow finds the shards: where they lie, or copied into a cache before they are read."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shardkit.errors import CallError
from shardkit.reader.caching import ShardCache
from shardkit.reader.table import RecordTable

# Each copies with several requests under way already.
SHARDS_AT_A_TIME = 4
_LOG = logging.getLogger(__name__)


def reachable(table: RecordTable, cache_dir: str | None, cache_bytes: int) -> ShardCache | None:
    """The cache, if one is wanted.

    Raises:
        CallError: TensorFlow cannot read the shards where they lie, and there is no cache.
    """
    if cache_dir is not None:
        return ShardCache(cache_dir, cache_bytes)
    scheme = table.root.url.partition("://")[0] if "://" in table.root.url else "file"
    if scheme == "s3":
        msg = f"{table.root.url}: TensorFlow does not read s3://; give cache_dir, a local folder to copy the shards to"
        raise CallError(msg)
    if scheme != "file":
        _LOG.warning(
            "%s: records in random order are slow to read from an object store; cache_dir copies the shards to a disk",
            table.root.url,
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
        paths = list(pool.map(lambda shard: cache.fetch(table.root, shard), table.shards))
    return replace(table, paths=paths)
