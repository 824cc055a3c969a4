"""Remove metadata from a JPEG or PNG without decoding it: the pixels stay the same.

What decides the colours stays: JFIF's and Adobe's segments and ICC profiles in a JPEG, and the chunks of gamma,
primaries, profile and transparency in a PNG. All else goes, also bytes behind the end of the image, where phones keep
second pictures and videos. What stays is listed, not what goes, so that unknown metadata goes too.
"""

import re
import struct

from shardkit.images.jpeg_segments import APP2, APP14, DQT, SOS, header_segments
from shardkit.images.png import SIGNATURE, png_chunks

_APP0 = 0xE0
_OPTIONAL = frozenset({*range(0xE0, 0xF0), 0xFE})  # APP0..15 and COM
_JFIF = b"JFIF\0"
_JFIF_BYTES = 14  # without the thumbnail: "JFIF", version, units, densities, size of the thumbnail
_ICC = b"ICC_PROFILE\0"
_ADOBE = b"Adobe"
_EOI = 0xD9
_BETWEEN_SCANS = frozenset({0xC4, 0xCC, DQT, 0xDC, 0xDD, SOS}) | _OPTIONAL  # with DHT, DAC, DNL and DRI
# The end of entropy-coded data: a marker that is neither a stuffed byte (FF 00) nor a restart marker.
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_SEGMENT = struct.Struct(">BBH")  # FF, marker, length

# PNG 3, 11.2 and 11.3: what decides the pixels and their colours.
_PNG_KEPT = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"cHRM", b"gAMA", b"hIST", b"iCCP", b"pHYs"),
        *(b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI"),
    }
)


def strip_jpeg(data: bytes) -> bytes | None:
    """Return a JPEG without metadata other than its colour profile; its own bytes if it has none.

    Args:
        data: The whole file, which ``inspect`` has accepted.

    Returns:
        The file; None if it is damaged after the header of its first scan, so that segments cannot be told from data.
    """
    kept = [data[:2]]
    position = len(data)
    for marker, start, end in header_segments(data):
        kept.append(_kept(marker, data[start:end]))
        position = end
    while found := _MARKER.search(data, position):  # the data of each scan, and further segments, up to the end
        start, marker = found.start(), data[found.end() - 1]
        kept.append(data[position:start])
        if marker == _EOI:
            return b"".join([*kept, data[start : start + 2]])
        if marker not in _BETWEEN_SCANS or start + _SEGMENT.size > len(data):
            return None
        position = start + 2 + _SEGMENT.unpack_from(data, start)[2]
        if marker != SOS and not _MARKER.match(data, position):
            return None
        kept.append(_kept(marker, data[start:position]))
    return None


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
    kept = [SIGNATURE]
    for kind, start, end in png_chunks(data):
        if kind in _PNG_KEPT:
            kept.append(data[start:end])
        if kind == b"IEND":
            break
    return b"".join(kept)
