"""Read the header of a JPEG by its markers, which takes microseconds instead of the hundred of Pillow's open.

    SOI  APP0  APP1(EXIF)  DQT  SOF0  DHT  SOS  entropy-coded data ...  EOI
    |    `---- each: FF, marker, length (2 bytes, counts itself), payload

It reads up to SOS, because Pillow and libjpeg accept EXIF segments up to there. Tests compare it with Pillow's open.
"""

import struct

from shardkit.images.info import BadImage, ImageInfo, check_size, damaged, truncated
from shardkit.images.orientation import exif_orientation, valid_orientation, xmp_orientation
from shardkit.reject_reasons import TOO_MANY_PIXELS

SIGNATURE = b"\xff\xd8\xff"
_EOI = b"\xff\xd9"
_SEGMENT = struct.Struct(">BBH")  # FF, marker, length
_FRAME = struct.Struct(">BHHB")  # precision, height, width, number of components
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0..SOF15 without DHT, JPG and DAC
_ORDINARY = frozenset({0xC0, 0xC1, 0xC2})  # Huffman baseline, extended and progressive: every decoder reads these
_APP1 = 0xE1
_SOS = 0xDA
# Markers without a length (TEM, RST0..7, SOI, EOI), a stuffed byte (00) and a fill byte (FF).
_UNUSUAL = frozenset({0x00, 0x01, *range(0xD0, 0xDA), 0xFF})
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_MAX_SIDE = 65_500  # libjpeg's JPEG_MAX_DIMENSION


def scan_jpeg(data: bytes) -> ImageInfo:
    """Read the header of a JPEG.

    Args:
        data: The whole file, which begins with ``SIGNATURE``.

    Raises:
        BadImage: "truncated" if the header is incomplete or no end marker follows the data (TensorFlow 2.21 refuses a
            JPEG without its final FF D9 even if all pixels are present), "too_many_pixels", and "damaged" if no
            decoder reads it.
    """
    segment = _SEGMENT.unpack_from
    position = 2
    process = 0
    precision = width = height = num_components = 0
    exif = xmp = b""
    try:
        while True:
            prefix, marker, length = segment(data, position)
            if prefix != 0xFF or marker in _UNUSUAL:
                position = _skip_unusual(data, position, prefix, marker)
                continue
            if length < 2 or marker < 0xC0:
                raise damaged("JPEG", f"should have a segment at byte {position}, but has none")
            if marker == _SOS:
                break
            if marker in _FRAMES:
                if process:
                    raise damaged("JPEG", "has two frame headers")
                process = marker
                precision, height, width, num_components = _FRAME.unpack_from(data, position + 4)
            elif marker == _APP1:
                payload = data[position + 4 : position + 2 + length]
                if payload.startswith(b"Exif\0\0"):
                    exif = exif + payload[6:] if exif else payload  # Long blocks continue in the next segment.
                elif payload.startswith(_XMP):
                    xmp = payload
            position += 2 + length
    except struct.error:
        raise truncated("JPEG", len(data)) from None
    _check_frame(process, precision, width, height, num_components)
    if not data.endswith(_EOI) and data.find(_EOI, position + 2 + length) < 0:
        raise truncated("JPEG", len(data))
    orientation = 1
    if exif or xmp:
        found = exif_orientation(exif)
        orientation = valid_orientation(xmp_orientation(xmp) if found is None else found)
    changes: tuple[str, ...] = ()
    if num_components == 4 or process not in _ORDINARY or orientation != 1:
        reasons = (
            ("cmyk", num_components == 4),
            ("jpeg_process", process not in _ORDINARY),
            ("orientation", orientation != 1),
        )
        changes = tuple(code for code, holds in reasons if holds)
    return ImageInfo("JPEG", width, height, orientation, changes)


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


def _check_frame(process: int, precision: int, width: int, height: int, num_components: int) -> None:
    """Check that decoders read an image of this kind.

    Raises:
        BadImage: "damaged" or "too_many_pixels".
    """
    if not process:
        raise damaged("JPEG", "has no frame header")
    check_size(width, height, "JPEG")
    if max(width, height) > _MAX_SIDE:
        raise BadImage(
            TOO_MANY_PIXELS,
            f"The JPEG header claims {width} x {height} pixels, more than libjpeg's {_MAX_SIDE} per side; "
            "shrink or remove the image.",
        )
    if precision != 8 or num_components not in {1, 3, 4}:
        raise damaged(
            "JPEG",
            f"has {num_components} channels of {precision} bits, which neither Pillow nor TensorFlow decodes",
            "convert it to 8 bits a channel, grey, RGB or CMYK",
        )
