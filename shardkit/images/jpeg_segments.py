"""Walk the segments of a JPEG's header.

    SOI  APP0  APP1(EXIF)  DQT  SOF0  DHT  SOS  entropy-coded data ...  EOI
    |    `---- each: FF, marker, length (2 bytes, counts itself), payload

The walk ends at SOS, because Pillow and libjpeg accept EXIF segments up to there.
"""

import struct
from collections.abc import Iterator

from shardkit.images.info import damaged, truncated

SIGNATURE = b"\xff\xd8\xff"
APP1, APP2, APP14, COMMENT = 0xE1, 0xE2, 0xEE, 0xFE
DHT, DQT = 0xC4, 0xDB
SOS = 0xDA
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG and DAC
METADATA = frozenset({*range(0xE0, 0xF0), COMMENT})  # APP0..APP15, comments
EXIF = b"Exif\0\0"
XMP = b"http://ns.adobe.com/xap/1.0/\0"
_SEGMENT = struct.Struct(">BBH")  # FF, marker, length
# Markers without a length (TEM, RST0..7, SOI, EOI), a stuffed byte (00) and a fill byte (FF).
_UNUSUAL = frozenset({0x00, 0x01, *range(0xD0, 0xDA), 0xFF})


# The marker's second byte; the position of its FF in the file; the position after the payload, which begins 4 bytes on.
# A plain tuple, because a named one takes as long as reading the segment.
Segment = tuple[int, int, int]


def header_segments(data: bytes) -> Iterator[Segment]:
    """Yield the segments of a JPEG up to SOS, which is the last.

    Args:
        data: The file, or its first bytes; it begins with ``SIGNATURE``.

    Raises:
        BadImage: "truncated" if the bytes end before SOS, "damaged" if there is something else than a segment.
    """
    segment = _SEGMENT.unpack_from
    position = 2
    try:
        while True:
            prefix, marker, length = segment(data, position)
            if prefix != 0xFF or marker in _UNUSUAL:
                position = _skip_unusual(data, position, prefix, marker)
                continue
            if length < 2 or marker < 0xC0:
                raise damaged("JPEG", f"should have a segment at byte {position}, but has none")
            end = position + 2 + length
            yield marker, position, end
            if marker == SOS:
                return
            position = end
    except struct.error:
        raise truncated("JPEG", len(data)) from None


def _skip_unusual(data: bytes, position: int, prefix: int, marker: int) -> int:
    """Return the position after fill bytes, junk or a marker without a length, as in libjpeg and Pillow.

    Raises:
        BadImage: "damaged" at a second SOI or an EOI before any scan; "truncated" if only junk follows.
    """
    if prefix != 0xFF:
        following = data.find(b"\xff", position)
        if following < 0:
            raise truncated("JPEG", len(data))
        return following
    if marker == 0xFF:
        return position + 1
    if marker in {0xD8, 0xD9}:
        raise damaged("JPEG", "has a second start or an end before its image data")
    return position + 2
