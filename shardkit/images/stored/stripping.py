"""Remove metadata from a JPEG or PNG without decoding it: the pixels stay the same.

What decides the colours stays: JFIF's and Adobe's segments and ICC profiles in a JPEG, and the chunks of gamma,
primaries, profile and transparency in a PNG. All else goes, also bytes behind the end of the image, where phones keep
second pictures and videos. What stays is listed, not what goes, so that unknown metadata goes too.
"""

import re
import struct

from shardkit.images.info import truncated
from shardkit.images.jpeg_segments import APP2, APP14, SOS, header_segments

_APP0 = 0xE0
_OPTIONAL = frozenset({*range(0xE0, 0xF0), 0xFE})  # APP0..15 and COM
_JFIF = b"JFIF\0"
_JFIF_BYTES = 14  # without the thumbnail: "JFIF", version, units, densities, size of the thumbnail
_ICC = b"ICC_PROFILE\0"
_ADOBE = b"Adobe"
_EOI = 0xD9
# The end of entropy-coded data: a marker that is neither a stuffed byte (FF 00) nor a restart marker.
_MARKER = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")
_SEGMENT = struct.Struct(">BBH")  # FF, marker, length

_PNG_CHUNK = struct.Struct(">I4s")  # length of the payload, type
_PNG_SIGNATURE_BYTES = 8
# PNG 3, 11.2 and 11.3: what decides the pixels and their colours.
_PNG_KEPT = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"cHRM", b"gAMA", b"hIST", b"iCCP", b"pHYs"),
        *(b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI"),
    }
)


def strip_jpeg(data: bytes) -> bytes:
    """Return a JPEG without metadata other than its colour profile; its own bytes if it has none.

    Args:
        data: The whole file, which ``inspect`` has accepted.

    Raises:
        BadImage: "truncated" if the end of the image is missing; never after ``check``.
    """
    kept = [data[:2]]
    position = len(data)
    for marker, start, end in header_segments(data):
        kept.append(_kept(marker, data[start:end]))
        position = end
    while True:  # after each scan: further segments, and then the next scan or the end
        found = _MARKER.search(data, position)
        if found is None:
            raise truncated("JPEG", len(data))
        at, marker = found.end() - 2, data[found.end() - 1]
        kept.append(data[position:at])
        if marker == _EOI:
            return b"".join([*kept, data[at : at + 2]])
        position = _segment_end(data, at)
        kept.append(_kept(marker, data[at:position]))
        while marker != SOS and (found := _MARKER.match(data, position)) and data[found.end() - 1] != _EOI:
            at, marker = found.end() - 2, data[found.end() - 1]
            position = _segment_end(data, at)
            kept.append(_kept(marker, data[at:position]))


def _segment_end(data: bytes, start: int) -> int:
    try:
        return start + 2 + int(_SEGMENT.unpack_from(data, start)[2])
    except struct.error:
        raise truncated("JPEG", len(data)) from None


def _kept(marker: int, segment: bytes) -> bytes:
    """Return what is kept of a segment."""
    if marker not in _OPTIONAL:
        return segment
    payload = segment[4:]
    if marker == _APP0 and payload.startswith(_JFIF) and len(payload) >= _JFIF_BYTES:
        # Its last two bytes are the sides of a thumbnail, whose pixels follow.
        plain = payload[: _JFIF_BYTES - 2] + b"\0\0"
        return segment if payload == plain else _SEGMENT.pack(0xFF, marker, len(plain) + 2) + plain
    is_colour = (marker == APP2 and payload.startswith(_ICC)) or (marker == APP14 and payload.startswith(_ADOBE))
    return segment if is_colour else b""


def strip_png(data: bytes) -> bytes:
    """Return a PNG without metadata other than its colours; its own bytes if it has none.

    Args:
        data: The whole file, which ``inspect`` has accepted.
    """
    kept = [data[:_PNG_SIGNATURE_BYTES]]
    position, kind = _PNG_SIGNATURE_BYTES, b""
    while kind != b"IEND":
        length, kind = _PNG_CHUNK.unpack_from(data, position)
        end = position + 12 + length  # with the CRC
        if kind in _PNG_KEPT:
            kept.append(data[position:end])
        position = end
    return b"".join(kept)
