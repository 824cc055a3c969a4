"""Decide where TensorFlow reads the shards: where they are stored, or as copies in a cache."""

import logging
import os
from dataclasses import replace

from shardkit.errors import CallError
from shardkit.reader.arguments.values import Cache
from shardkit.reader.cache.shard_cache import ShardCache
from shardkit.reader.table.records import RecordTable

READ_AHEAD = "GCS_READAHEAD_BUFFER_SIZE_BYTES"
_LOG = logging.getLogger(__name__)


def with_local_copies(table: RecordTable, cache: Cache) -> RecordTable:
    """Return the table with the paths of local copies of its shards; see `ShardCache.fetch`."""
    paths = ShardCache(os.fspath(cache.folder), cache.max_bytes).fetch(table.roots, table.shards)
    return replace(table, paths=paths)


def check_remote_reading(table: RecordTable, *, in_blocks: bool) -> None:
    """Check that TensorFlow can read the shards where they are stored; warn if that will be slow.

    Args:
        table: The split's record table.
        in_blocks: Whether one request reads many records.

    Raises:
        CallError: TensorFlow cannot read them.
    """
    for url in dict.fromkeys(root.url for root in table.roots):
        scheme = url.partition("://")[0] if "://" in url else "file"
        if scheme == "s3":
            raise CallError(f"{url}: TensorFlow does not read s3://; give cache=, a local folder to copy the shards to")
        if scheme != "file" and not in_blocks:
            _LOG.warning(
                "%s: reading records one by one from an object store is slow; cache= copies the shards to a local "
                "disk, order='block' reads many with each request",
                url,
            )
        if scheme == "gs" and READ_AHEAD not in os.environ:
            # TensorFlow reads this variable when it is imported: it is too late to set it here.
            _LOG.warning(
                "%s: TensorFlow reads 64 MiB ahead at every seek in gs://, most of it for nothing; set %s=0 (with "
                "order='full': somewhat more than a record's bytes) before Python starts, or give cache=",
                url,
                READ_AHEAD,
            )
