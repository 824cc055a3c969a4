"""TFRecord frames: a length, its masked CRC32C, the bytes, their masked CRC32C.

    uint64 length | uint32 masked_crc32c(length) | length bytes | uint32 masked_crc32c(bytes)      all little-endian

Source: tensorflow/core/lib/io/record_writer.h. Tests compare this with TensorFlow's own reader and writer.
"""

import functools
import struct
from collections.abc import Iterator
from typing import Protocol

import google_crc32c

from shardkit.errors import RecordError
from shardkit.storage import Folder
from shardkit.storage.open_files import OpenFiles

HEADER_BYTES = 12
FOOTER_BYTES = 4
OVERHEAD_BYTES = HEADER_BYTES + FOOTER_BYTES
MAX_RECORD_BYTES = 1 << 31  # 2 GiB, protobuf's limit for a message

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_HEADER = struct.Struct("<QI")


def masked_crc32c(data: bytes) -> int:
    """Return the CRC32C, rotated and offset as in LevelDB, so that a CRC of data that contains CRCs is still useful."""
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return header, data and footer of one record, separately so that a large image is not copied again."""
    return header(len(data)), data, _CRC.pack(masked_crc32c(data))


@functools.lru_cache(maxsize=1 << 12)  # lengths of small records repeat; another CRC takes longer
def header(length: int) -> bytes:
    """Return the header of a record with so many bytes of data."""
    packed = _LENGTH.pack(length)
    return packed + _CRC.pack(masked_crc32c(packed))


def unframe(framed: bytes, length: int, start: int = 0) -> bytes:
    """Return the data of a record after checking both of its CRCs.

    Args:
        framed: Bytes that contain the record's frame.
        length: Length of the data in bytes.
        start: Position of the frame in `framed`.

    Raises:
        RecordError: The frame is damaged or has another length; the message does not name the record.
    """
    end = start + HEADER_BYTES + length
    data = framed[start + HEADER_BYTES : end]
    # With the right header, the frame has this length and its CRC.
    if (
        framed.startswith(header(length), start)
        and len(framed) >= end + FOOTER_BYTES
        and masked_crc32c(data) == _CRC.unpack_from(framed, end)[0]
    ):
        return data
    raise RecordError(_frame_problem(framed[start : end + FOOTER_BYTES], length))


def frame_problem(framed: bytes, length: int) -> str | None:
    """Return why these bytes are not the frame of `length` bytes of data; None if they are."""
    try:
        unframe(framed, length)
    except RecordError as error:
        return str(error)
    return None


def _frame_problem(framed: bytes, length: int) -> str:
    if not framed:
        return "the file ends before it"
    if len(framed) < HEADER_BYTES:
        return "the file ends inside the record's header"
    if len(framed) < length + OVERHEAD_BYTES:
        return f"the file ends inside the record; its header announces {length} bytes"
    announced, length_crc = _HEADER.unpack_from(framed)
    if masked_crc32c(framed[:8]) != length_crc:
        return "the CRC of the record's length does not match; the file is damaged here"
    if announced != length:
        return f"the record announces {announced} bytes, not {length}"
    return "the CRC of the record's data does not match; the record is damaged"


class Readable(Protocol):
    """A file that can be read forward."""

    def read(self, size: int, /) -> bytes:
        """Return the next size bytes, fewer at the end."""
        ...


def read_records(file: Readable, *, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset of the frame, data) for every record, in file order, checking both CRCs.

    Args:
        file: The file, positioned at the start of a frame.
        name: Name of the file for errors.

    Raises:
        RecordError: A frame is truncated or a CRC does not match; the message names the record's number and offset.
    """
    offset = 0
    number = 0
    while header := file.read(HEADER_BYTES):
        where = f"{name}: record {number} at byte {offset}"
        if len(header) < HEADER_BYTES:
            raise RecordError(f"{where}: the file ends inside the record's header")
        length, length_crc = _HEADER.unpack(header)
        # Checked before reading, because a damaged length may ask for terabytes.
        if masked_crc32c(header[:8]) != length_crc or length > MAX_RECORD_BYTES:
            msg = f"{where}: the record's length of {length} is damaged; the rest of the file cannot be read"
            raise RecordError(msg)
        framed = header + file.read(length + FOOTER_BYTES)
        if problem := frame_problem(framed, length):
            raise RecordError(f"{where}: {problem}")
        yield offset, framed[HEADER_BYTES:-FOOTER_BYTES]
        offset += length + OVERHEAD_BYTES
        number += 1


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
        raise RecordError(f"{path}: record at byte {offset}: {error}") from None
