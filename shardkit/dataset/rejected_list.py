"""Read the list of everything that a conversion left out."""

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.dataset.manifest import File, Manifest
from shardkit.errors import CONVERT_AGAIN, DataError
from shardkit.hashing import sha256_hex
from shardkit.naming import REJECTED


def read_rejected(manifest: Manifest) -> pa.Table:
    """Return the rejected files and annotations: key, reason, message and source_bytes of each.

    Raises:
        DataError: The list is missing or no longer what was written.
    """
    if manifest.is_adopted:  # records are adopted all or not at all
        return pa.table({"key": [], "reason": [], "message": [], "source_bytes": []})
    lists = [file for file in manifest.files if file.path.rpartition("/")[2] == REJECTED]
    table = pa.concat_tables([read_list(manifest, file) for file in lists])
    return table if len(lists) == 1 else table.sort_by("key")


def read_list(manifest: Manifest, file: File) -> pa.Table:
    """Read a list next to the shards.

    Raises:
        DataError: It is missing or no longer what was written.
    """
    where, wanted = f"{manifest.root.url}/{file.path}", file.sha256
    try:
        raw = manifest.root.read(file.path)
    except FileNotFoundError:
        msg = f"{where}: the list is missing; restore it or {CONVERT_AGAIN}"
        raise DataError(msg) from None
    if sha256_hex(raw) != wanted:
        msg = f"{where}: the list is not the one that the manifest names; restore it or {CONVERT_AGAIN}"
        raise DataError(msg)
    return pq.read_table(pa.BufferReader(raw))
