"""Read single records of a dataset, and check both of their CRCs."""

from collections.abc import Iterator
from contextlib import contextmanager

from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.readopting import made_again
from shardkit.dataset.tfrecord import OVERHEAD_BYTES, unframe
from shardkit.errors import DataError, RecordError
from shardkit.records.example import Example, Schema
from shardkit.storage import open_folder, unreadable


@contextmanager
def named_errors(dataset: str, path: str) -> Iterator[None]:
    """Name the shard in errors of reading it."""
    try:
        yield
    except FileNotFoundError:
        msg = f"{dataset}/{path}: the shard is missing; restore it or {made_again(open_folder(dataset))}"
        raise DataError(msg) from None
    except OSError as error:
        raise unreadable(f"{dataset}/{path}", error) from error


def read_example(manifest: Manifest, shard: Shard, record: int, offset: int, length: int, key: str) -> Example:
    """Read one record of a shard.

    Args:
        manifest: The dataset's manifest, read from its folder.
        shard: The shard.
        record: Number of the record in the shard.
        offset: Offset of the record's frame in the shard, in bytes.
        length: Length of the record's data in bytes.
        key: Key of the example, for errors.

    Raises:
        RecordError: The record is damaged.
        DataError: The shard is missing.
        MachineError: The shard cannot be read.
    """
    root = manifest.root
    with named_errors(root.url, shard.path):
        framed = root.read_range(shard.path, offset, length + OVERHEAD_BYTES)
    try:
        data = unframe(framed, length)
    except RecordError as error:
        where = f"{root.url}/{shard.path}, record {record} ({key})"
        raise RecordError(f"{where}: {error}; restore the shard or {made_again(root)}") from None
    return Example(data, Schema.of(manifest), shard.path, record, offset, key)
