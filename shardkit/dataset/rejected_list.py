"""Read the list of everything that a conversion left out."""

import pyarrow as pa

from shardkit.dataset.manifest import File, Manifest
from shardkit.dataset.unpacking import unpacked_problem
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.naming import REJECTED
from shardkit.options.words import convert_again
from shardkit.parquet import ParquetReader

_COLUMNS = {"key": pa.string(), "reason": pa.string(), "message": pa.string(), "source_bytes": pa.int64()}


def read_rejected(manifest: Manifest) -> pa.Table:
    """Return the rejected files and annotations: key, reason, message and source_bytes of each.

    Raises:
        DataError: The list is missing or no longer what was written.
    """
    if manifest.is_adopted:  # records are adopted all or not at all
        return pa.table({"key": [], "reason": [], "message": [], "source_bytes": []})
    lists = [file for file in manifest.files if file.path.rpartition("/")[2] == REJECTED]
    if not lists:
        msg = f"{manifest.root.url}: the manifest names no list of rejected files, {REJECTED}; {convert_again()}"
        raise DataError(msg)
    table = pa.concat_tables(
        [_with_columns(read_list(manifest, file), f"{manifest.root.url}/{file.path}") for file in lists]
    )
    return table if len(lists) == 1 else table.sort_by("key")


def read_list(manifest: Manifest, file: File) -> pa.Table:
    """Read a list next to the shards.

    Raises:
        DataError: It is missing or no longer what was written.
    """
    where, wanted = f"{manifest.root.url}/{file.path}", file.sha256
    try:
        found = manifest.root.stat(file.path)
        raw = manifest.root.read(file.path) if found is None or found.num_bytes == file.num_bytes else b""
    except FileNotFoundError:
        raise DataError(f"{where}: the list is missing; restore it or {convert_again()}") from None
    if sha256_hex(raw) != wanted:
        raise DataError(f"{where}: the list is not the one that the manifest names; restore it or {convert_again()}")
    try:
        parquet = ParquetReader(pa.BufferReader(raw))
        if problem := unpacked_problem(parquet.metadata, len(raw)):
            raise DataError(f"{where}: the list would take too much memory: {problem}; restore it or {convert_again()}")
        return parquet.read()
    except (pa.ArrowException, OSError) as error:
        msg = f"{where}: the list cannot be read ({str(error).splitlines()[0]}); restore it or {convert_again()}"
        raise DataError(msg) from None


def _with_columns(table: pa.Table, where: str) -> pa.Table:
    for name, kind in _COLUMNS.items():
        if name not in table.column_names or table[name].type != kind or table[name].null_count:
            raise DataError(f"{where}: the list lacks values of its column {name!r}; restore it or {convert_again()}")
    return table.select([*_COLUMNS])
