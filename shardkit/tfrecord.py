"""TFRecord frames: a length, its masked CRC32C, the bytes, their masked CRC32C.

    uint64 length | uint32 masked_crc32c(length) | length bytes | uint32 masked_crc32c(bytes)      all little-endian

Source: tensorflow/core/lib/io/record_writer.h. Held against TensorFlow's own reader and writer in tests.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c

from shardkit.errors import RecordError

HEADER_BYTES = 12
FOOTER_BYTES = 4
OVERHEAD_BYTES = HEADER_BYTES + FOOTER_BYTES
# A damaged length must not make the reader ask for terabytes; protobuf itself caps a message at 2 GiB.
MAX_RECORD_BYTES = 1 << 31  # 2 GiB

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_HEADER = struct.Struct("<QI")


def masked_crc32c(data: bytes) -> int:
    """CRC32C, rotated and offset so that a CRC stored beside CRC'd data does no harm (LevelDB's masking)."""
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Header, data and footer of one record; kept apart so that a large image is not copied once more."""
    length = _LENGTH.pack(len(data))
    return length + _CRC.pack(masked_crc32c(length)), data, _CRC.pack(masked_crc32c(data))


def read_records(file: BinaryIO, *, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset of the frame, data) for every record, in file order, checking both CRCs.

    Args:
        file: positioned at the start of a frame, read forward only.
        name: what errors call the file.

    Raises:
        RecordError: a frame is cut short, or a CRC does not match; it names the record's number and offset.
    """
    offset = 0
    number = 0
    while header := file.read(HEADER_BYTES):
        where = f"{name}: record {number} at byte {offset}"
        if len(header) < HEADER_BYTES:
            msg = f"{where}: the file ends inside the record's header"
            raise RecordError(msg)
        length, length_crc = _HEADER.unpack(header)
        if masked_crc32c(header[:8]) != length_crc:
            msg = f"{where}: the CRC of the record's length does not match; the file is damaged here"
            raise RecordError(msg)
        if length > MAX_RECORD_BYTES:
            msg = f"{where}: the record claims {length} bytes, more than the {MAX_RECORD_BYTES} a record may have"
            raise RecordError(msg)
        data = file.read(length)
        footer = file.read(FOOTER_BYTES)
        if len(data) < length or len(footer) < FOOTER_BYTES:
            msg = f"{where}: the file ends inside the record; {length} bytes were announced"
            raise RecordError(msg)
        if masked_crc32c(data) != _CRC.unpack(footer)[0]:
            msg = f"{where}: the CRC of the record's data does not match; the record is damaged"
            raise RecordError(msg)
        yield offset, data
        offset += length + OVERHEAD_BYTES
        number += 1
