"""Tell GZIP and ZLIB from plain TFRecord files by their first bytes, and read all three the same way.

A plain file starts with a record's length and the CRC of this length, which decides: a GZIP member starts with 1F 8B,
which is also the length of a possible record. File names decide nothing: TFRecorder writes `.tfrecord.gz`, and
TensorFlow's own writer compresses under any name.
"""

import gzip
import struct
import zlib
from typing import Any, BinaryIO, Literal

from shardkit.dataset.tfrecord import HEADER_BYTES, MAX_RECORD_BYTES, Readable, masked_crc32c

Compression = Literal["", "GZIP", "ZLIB"]
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 1 << 20  # 1 MiB
_CRC = struct.Struct("<I")


def is_header(head: bytes) -> bool:
    """Return whether bytes start with the header of a TFRecord frame: a length and its masked CRC."""
    if len(head) < HEADER_BYTES:
        return False
    announced: int = struct.unpack_from("<Q", head)[0]
    return announced <= MAX_RECORD_BYTES and masked_crc32c(head[:8]) == _CRC.unpack_from(head, 8)[0]


def compression_of(head: bytes) -> Compression | None:
    """Return how a TFRecord file is compressed, by its first 64 kB; None if it is not one."""
    if is_header(head):
        return ""
    if head[:2] == _GZIP_MAGIC:
        return "GZIP" if is_header(_inflated(head, 16 + zlib.MAX_WBITS)) else None
    # A ZLIB stream starts with a method and flags that are together divisible by 31 (RFC 1950, 2.2).
    if len(head) > 2 and head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0:
        return "ZLIB" if is_header(_inflated(head, zlib.MAX_WBITS)) else None
    return None


def empty_compression(content: bytes) -> Compression | None:
    """Return how a whole file without records is compressed; None if it is not empty."""
    if not content:
        return ""
    windows: dict[Compression, int] = {"GZIP": 16 + zlib.MAX_WBITS, "ZLIB": zlib.MAX_WBITS}
    for kind, window in windows.items():
        inflater = zlib.decompressobj(window)
        try:
            if not inflater.decompress(content, 1) and inflater.eof:
                return kind
        except zlib.error:
            continue
    return None


def _inflated(head: bytes, window: int) -> bytes:
    try:
        return zlib.decompressobj(window).decompress(head, HEADER_BYTES)
    except zlib.error:
        return b""


class DamagedStream(Exception):  # noqa: N818 -- it describes the data
    """A compressed stream that ends early or is damaged; ``str()`` is a clause about the file."""


def inflating(file: BinaryIO, compression: Compression) -> Readable:
    """Return a file, or a reader that inflates it and raises DamagedStream."""
    if not compression:
        return file
    return _Inflating(gzip.GzipFile(fileobj=file) if compression == "GZIP" else _ZlibFile(file))


class _Inflating:
    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        """See Readable."""
        try:
            data: bytes = self._file.read(size)
        except EOFError:
            msg = "the compressed file ends early"
            raise DamagedStream(msg) from None
        except (zlib.error, gzip.BadGzipFile) as error:
            msg = f"the compressed file is damaged: {error}"
            raise DamagedStream(msg) from None
        return data


class _ZlibFile:
    """The part of a file object that gzip.GzipFile has and zlib lacks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._inflater, self._ready = file, zlib.decompressobj(), bytearray()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and not self._inflater.eof:
            block = self._inflater.unconsumed_tail or self._file.read(_BLOCK_BYTES)
            if not block:
                raise EOFError
            self._ready += self._inflater.decompress(block, _BLOCK_BYTES)
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data
