"""Read single records of a TFRecord file by their place in the index of its shard."""

from shardkit.dataset.tfrecord import OVERHEAD_BYTES, unframe
from shardkit.errors import RecordError
from shardkit.storage import Folder
from shardkit.storage.open_files import OpenFiles


def read_record(folder: Folder | OpenFiles, path: str, offset: int, num_bytes: int) -> bytes:
    """Return the data of a record after checking both of its CRCs.

    Args:
        folder: The folder that the path starts at.
        path: Path of the TFRecord file.
        offset: Offset of the record's frame in the file, in bytes.
        num_bytes: Length of the record's data, without the frame.

    Raises:
        RecordError: The record is damaged, or no such record begins there.
        OSError: The file cannot be read.
    """
    return record_data(folder.read_range(path, offset, num_bytes + OVERHEAD_BYTES), path, offset, num_bytes)


def record_data(framed: bytes, path: str, offset: int, num_bytes: int) -> bytes:
    """Return the data of a record, given its frame; see `read_record`."""
    try:
        return unframe(framed, num_bytes)
    except RecordError as error:
        msg = f"{path}: record at byte {offset}: {error}"
        raise RecordError(msg) from None
