"""Find out whether an image's metadata holds a GPS position: the coordinates of a place, often of somebody's home.

    EXIF:  IFD0, tag 34853 -> GPS IFD, tags 2 and 4: latitude and longitude; 20 and 22: those of the destination
    XMP:   exif:GPSLatitude and exif:GPSLongitude, as text

A GPS IFD with only a version or a time, which many cameras write, is no position.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from itertools import islice

from shardkit.images.info import BadImage
from shardkit.images.jpeg_segments import APP1, EXIF, SIGNATURE, Segment, header_segments
from shardkit.images.orientation import png_text, raw_profile
from shardkit.images.png import SIGNATURE as PNG_SIGNATURE
from shardkit.images.png import TEXT_CHUNKS, png_chunks

_GPS_IFD = 0x8825  # EXIF 2.3, 4.6.3
_POSITIONS = frozenset({0x0002, 0x0004, 0x0014, 0x0016})  # latitude, longitude, and of the destination (4.6.6)
_XMP_POSITIONS = (b"GPSLatitude", b"GPSLongitude")
_XMP_NAMESPACES = b"http://ns.adobe.com/"  # begins packets and their extensions
_ENDIANS = {b"II": "<", b"MM": ">"}
_TIFF_STARTS = (b"II*\0", b"MM\0*")
_EXIF_ITEM = re.compile(rb"II\*\0\x08\0\0\0|MM\0\*\0\0\0\x08")  # with the usual place of IFD0
_MAX_ITEMS, _MAX_ITEM_BYTES = 8, 64 << 10  # 64 KiB: what is read of a file that was made to be slow
_ENTRY_BYTES = 12
_RAW_PROFILE = b"Raw profile type "  # begins the keywords of ImageMagick's copies of EXIF and XMP
_PNG_METADATA = (_RAW_PROFILE, b"XML:com.adobe.xmp\0")
_RIFF_CHUNK = struct.Struct("<4sI")  # type, length of the payload


def has_gps(data: bytes) -> bool:
    """Return whether the metadata of an image holds a GPS position.

    JPEG, PNG, WebP, TIFF, HEIF and AVIF are read; other formats have no usual place for one. Second pictures and videos
    behind the end of a JPEG are not read: where they have a position, the picture has it too.

    Args:
        data: The whole file; for a JPEG its first bytes are enough. It may be damaged.
    """
    if data.startswith(SIGNATURE):
        try:
            return jpeg_has_position(data, list(header_segments(data)))
        except BadImage:
            return False
    if data.startswith(PNG_SIGNATURE):
        return _png_has_position(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp_has_position(data)
    if data.startswith(_TIFF_STARTS):
        return _has_position(data)
    if data[4:8] == b"ftyp":  # HEIF and AVIF: the block is found by its first bytes, without reading the boxes
        starts = (found.start() for found in islice(_EXIF_ITEM.finditer(data), _MAX_ITEMS))
        return any(_has_position(data[start : start + _MAX_ITEM_BYTES]) for start in starts)
    return False


def jpeg_has_position(data: bytes, segments: Iterable[Segment]) -> bool:
    """Return whether the header of a JPEG holds a GPS position.

    Args:
        data: The file, or its first bytes.
        segments: The segments of its header.
    """
    exif = b""
    for marker, start, end in segments:
        if marker == APP1:
            payload = data[start + 4 : end]
            if payload.startswith(EXIF):
                exif += payload[len(EXIF) :]  # Long blocks continue in the next segment.
            elif payload.startswith(_XMP_NAMESPACES) and _xmp_has_position(payload):
                return True
    return _has_position(exif)


def _png_has_position(data: bytes) -> bool:
    for kind, start, end in png_chunks(data):
        if kind == b"eXIf" or kind in TEXT_CHUNKS:
            payload = data[start + 8 : end - 4]
            if kind == b"eXIf":
                found = _has_position(payload)
            elif payload.startswith(_PNG_METADATA):
                text = _png_metadata(kind, payload)
                found = _has_position(text) or _xmp_has_position(text)
            else:  # the keyword may name it, as in exif:GPSLatitude
                found = _xmp_has_position(payload)
            if found:
                return True
    return False


def _png_metadata(kind: bytes, payload: bytes) -> bytes:
    """Return the text of a text chunk, or the metadata that its hexadecimal digits stand for."""
    profile = raw_profile(kind, payload) if payload.startswith(_RAW_PROFILE) else None
    return png_text(kind, payload) if profile is None else profile


def _webp_has_position(data: bytes) -> bool:
    for kind, payload in webp_chunks(data):
        if (kind == b"EXIF" and _has_position(payload)) or (kind == b"XMP " and _xmp_has_position(payload)):
            return True
    return False


def webp_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and payload of the chunks of a WebP, up to where it ends."""
    position = 12  # RIFF, size, WEBP
    while position + 8 <= len(data):
        kind, length = _RIFF_CHUNK.unpack_from(data, position)
        yield kind, data[position + 8 : position + 8 + length]
        position += 8 + length + length % 2


def _xmp_has_position(packet: bytes) -> bool:
    return any(name in packet for name in _XMP_POSITIONS)


def _has_position(block: bytes) -> bool:
    r"""Return whether a TIFF structure, with or without the leading "Exif\0\0", holds a position."""
    while block.startswith(EXIF):
        block = block[len(EXIF) :]
    order = _ENDIANS.get(block[:2])
    if order is None or len(block) < 8:
        return False
    (first,) = struct.unpack_from(order + "L", block, 4)
    # Of several directories the last one counts, as in Pillow; reading all could take hours.
    offset = dict(_entries(block, first, order)).get(_GPS_IFD)
    return offset is not None and any(tag in _POSITIONS for tag, _ in _entries(block, offset, order))


def _entries(block: bytes, offset: int, order: str) -> Iterator[tuple[int, int]]:
    """Yield (tag, value or offset) of a directory's entries, up to where the block ends."""
    if offset + 2 > len(block):
        return
    (num_entries,) = struct.unpack_from(order + "H", block, offset)
    for position in range(offset + 2, min(offset + 2 + _ENTRY_BYTES * num_entries, len(block) - 11), _ENTRY_BYTES):
        yield struct.unpack_from(order + "HxxxxxxL", block, position)
