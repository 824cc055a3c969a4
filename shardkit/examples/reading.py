"""Read single records of a dataset, and check both of their CRCs."""

from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.tfrecord import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, frame_problem
from shardkit.errors import CONVERT_AGAIN, DataError, RecordError
from shardkit.examples.example import Example, Schema
from shardkit.storage import OpenFiles, unreadable


def read_data(files: OpenFiles, dataset: str, path: str, offset: int, length: int) -> bytes:
    """Return the data of a record.

    Args:
        files: Files of the dataset's folder.
        dataset: URL of the folder, for errors.
        path: Path of the shard.
        offset: Offset of the record's frame in the shard, in bytes.
        length: Length of the record's data in bytes.

    Raises:
        RecordError: The record is damaged; the message does not name it.
        DataError: The shard is missing.
        MachineError: The shard cannot be read.
    """
    try:
        framed = files.read_range(path, offset, length + OVERHEAD_BYTES)
    except FileNotFoundError:
        msg = f"{dataset}/{path}: the shard is missing; restore it or {CONVERT_AGAIN}"
        raise DataError(msg) from None
    except OSError as error:
        raise unreadable(f"{dataset}/{path}", error) from error
    if problem := frame_problem(framed, length):
        msg = f"{problem}; restore the shard or {CONVERT_AGAIN}"
        raise RecordError(msg)
    return framed[HEADER_BYTES:-FOOTER_BYTES]


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
    try:
        data = read_data(OpenFiles(root), root.url, shard.path, offset, length)
    except RecordError as error:
        raise RecordError(f"{root.url}/{shard.path}, record {record} ({key}): {error}") from None
    return Example(data, Schema.of(manifest), shard.path, record, offset, key)
