"""Read the records of a TFRecord file one by one, and go on after a damaged one where that is possible.

`tfrecord.read_records` stops at the first damage, as a dataset of shardkit is either whole or wrong. A file of others
is a source: its damaged records are rejected with their number, and the rest is read.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from shardkit.dataset.foreign.compression import DamagedStream, is_header
from shardkit.dataset.tfrecord import FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, Readable, unframe
from shardkit.errors import RecordError


class Frame(NamedTuple):
    """One record of a file."""

    number: int  # its number in the file, from 0
    offset: int  # start of its data in the file, or in the inflated stream
    data: bytes  # the data; b"" if there is a problem
    problem: str | None = None  # why the record cannot be read; None if it can
    is_end: bool = False  # whether the rest of the file cannot be read either


def frames(file: Readable) -> Iterator[Frame]:
    """Yield the records of a file, from `inflating` if it is compressed, checking both CRCs.

    After wrong data the next record is read. After a wrong length, or a file that ends inside a record, nothing can be
    found any more: one last frame says so.
    """
    number = start = 0
    try:
        while header := _read(file, HEADER_BYTES):
            offset = start + HEADER_BYTES
            if len(header) < HEADER_BYTES:
                yield _end(number, offset, "the file ends inside the record's header")
                return
            if not is_header(header):  # before reading: a damaged length may ask for terabytes
                yield _end(number, offset, f"the record's length at byte {start} is damaged")
                return
            length: int = struct.unpack_from("<Q", header)[0]
            framed = header + _read(file, length + FOOTER_BYTES)
            data, problem = b"", None
            try:
                data = unframe(framed, length)
            except RecordError as error:
                problem = str(error)
            if len(framed) < length + OVERHEAD_BYTES:
                yield _end(number, offset, problem or "the file ends inside the record")
                return
            yield Frame(number, offset, data, problem)
            start += length + OVERHEAD_BYTES
            number += 1
    except DamagedStream as error:
        yield _end(number, start, str(error))


def _end(number: int, offset: int, problem: str) -> Frame:
    return Frame(number, offset, b"", f"{problem}; nothing after it can be read", is_end=True)


def _read(file: Readable, size: int) -> bytes:
    """Return the next `size` bytes; fewer at the end only: remote files may return fewer at any time."""
    data = file.read(size)
    if not data or len(data) == size:
        return data
    parts = [data]
    missing = size - len(data)
    while missing and (more := file.read(missing)):
        parts.append(more)
        missing -= len(more)
    return b"".join(parts)
