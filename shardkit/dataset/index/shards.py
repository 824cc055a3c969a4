"""Read the indexes of shards, and compare them with the manifest."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from shardkit.dataset.index.file import parse_index
from shardkit.dataset.manifest import Shard
from shardkit.dataset.manifest.readopting import made_again
from shardkit.errors import DataError
from shardkit.hashing import sha256_hex
from shardkit.naming import INDEXES
from shardkit.storage import Folder, LocalFolder, open_folder, unreadable
from shardkit.storage.concurrent_reads import read_many

# Indexes are small files, in object stores that are slow to answer. These threads only read and hash: if they also
# parsed, they would spend two thirds of the time of a large split waiting for the interpreter's lock.
READING_THREADS = 16
LOCAL_READING_THREADS = 4
# The largest index that is read: the names of a million classes, and a long key and group for each row.
_INDEX_BYTES, _ROW_BYTES = 64 << 20, 16 << 10


def read_indexes(root: Folder, shards: list[Shard]) -> Iterator[bytes]:
    """Yield the bytes of the index of each shard, in order, and check the size of each shard.

    Args:
        root: The dataset's folder.
        shards: Shards of the manifest.

    Raises:
        DataError: A shard is missing or has another size, or an index is missing or is not the manifest's.
        MachineError: A shard or an index cannot be read.
    """

    def read(shard: Shard) -> bytes:
        _check_size(root, shard)
        return _read(root, shard)

    num_threads = LOCAL_READING_THREADS if isinstance(root, LocalFolder) else READING_THREADS
    yield from read_many(read, shards, num_threads)


def _made_again(root: Folder, shard: Shard) -> str:
    above, indexes, _ = shard.index.path.rpartition(f"{INDEXES}/")
    # A source may have a folder above the dataset's, if the records of others are not in that.
    return made_again(open_folder(f"{root.url}/{above}".rstrip("/")) if indexes and above else root)


def missing_shard(root: Folder, path: str) -> DataError:
    """Return the error for a shard that is not there."""
    return DataError(f"{root.url}/{path}: the shard is missing; restore it or {made_again(root)}")


@contextmanager
def shard_errors(root: Folder, path: str) -> Iterator[None]:
    """Name the shard in errors of reading it.

    Raises:
        DataError: The shard is missing.
        MachineError: It cannot be read.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise missing_shard(root, path) from None
    except OSError as error:
        raise unreadable(f"{root.url}/{path}", error) from error


def _check_size(root: Folder, shard: Shard) -> None:
    where = f"{root.url}/{shard.path}"
    with shard_errors(root, shard.path):
        found = root.stat(shard.path)
    if found is None:
        raise DataError(f"{where}: the shard is missing; restore it or {_made_again(root, shard)}")
    if found.num_bytes != shard.num_bytes:
        sizes = f"{found.num_bytes} bytes, the manifest says {shard.num_bytes}"
        raise DataError(f"{where}: the shard has {sizes}; restore it or {_made_again(root, shard)}")


def read_columns(root: Folder, shard: Shard, columns: list[str] | None = None) -> pa.Table:
    """Read columns of a shard's index, None for all, and compare it with the manifest.

    Raises:
        DataError: The index is missing, damaged, or that of another shard.
        MachineError: The index cannot be read.
    """
    return parse_columns(root, shard, _read(root, shard), columns)


def _read(root: Folder, shard: Shard) -> bytes:
    where = f"{root.url}/{shard.index.path}"
    try:
        raw = root.read_at_most(shard.index.path, _INDEX_BYTES + _ROW_BYTES * shard.num_examples)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{where}: the index is missing; restore it or {_made_again(root, shard)}") from None
    except OSError as error:
        raise unreadable(where, error) from error
    if sha256_hex(raw) != shard.index.sha256:
        # Parquet detects hardly any damage, and training would silently use wrong labels.
        raise DataError(
            f"{where}: the index is not the one that the manifest names: it is damaged, or belongs to another shard or "
            f"conversion; restore it or {_made_again(root, shard)}"
        )
    return raw


def parse_columns(root: Folder, shard: Shard, raw: bytes, columns: list[str] | None) -> pa.Table:
    """Parse columns of a shard's index, None for all, and compare it with the manifest.

    Raises:
        DataError: The index belongs to another shard or conversion, or is damaged.
    """
    where = f"{root.url}/{shard.index.path}"
    table, summary = parse_index(raw, where=where, columns=columns, labels=shard.labels)
    said = (summary.sha256, summary.num_examples, summary.num_bytes)
    if said != (shard.sha256, shard.num_examples, shard.num_bytes):
        again = _made_again(root, shard)
        raise DataError(f"{where}: this is the index of another shard or another conversion; restore it or {again}")
    return table
