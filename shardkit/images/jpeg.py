"""Read the header of a JPEG by its markers, and decode its data with libjpeg's warnings as errors.

The scan takes microseconds instead of the hundred of Pillow's open; tests compare the two. libjpeg fills what damage
leaves of a picture with grey, and warns. Pillow and TensorFlow drop the warning; simplejpeg raises it.
"""

import re
import struct
from typing import TYPE_CHECKING

from shardkit.images.info import BadImage, ImageInfo, check_size, damaged, truncated
from shardkit.images.jpeg_segments import APP1, DHT, EXIF, FRAMES, METADATA, XMP, header_segments
from shardkit.images.orientation import exif_orientation, valid_orientation, xmp_orientation
from shardkit.reject_reasons import TOO_MANY_PIXELS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_EOI = b"\xff\xd9"
_FRAME = struct.Struct(">BHHB")  # precision, height, width, number of components
_SEQUENTIAL = frozenset({0xC0, 0xC1})
_ORDINARY = _SEQUENTIAL | {0xC2}  # Huffman baseline, extended and progressive: every decoder reads these
_MAX_SIDE = 65_500  # libjpeg's JPEG_MAX_DIMENSION
# Messages of libjpeg's jerror.h. These lose no pixels if they are about the header or padding.
_MAY_BE_HARMLESS = re.compile(r"extraneous bytes before|unknown JFIF revision|Unknown Adobe color|bad ICC marker")
_PADDING = re.compile(r"(\d+) extraneous bytes before marker 0xd9")
_MAX_PADDING = 16  # bytes of one value before the end marker, as some cameras and encoders write
_HOLE = bytes(64)
_ENDS_EARLY = "Premature end of JPEG file"
# Kinds of JPEG that libjpeg's TurboJPEG interface does not decode at a reduced scale.
_UNSCALABLE = re.compile(r"subsampling level|scaling with lossless")


def scan_jpeg(data: bytes) -> ImageInfo:
    """Read the header of a JPEG.

    Args:
        data: The whole file, which begins with ``SIGNATURE``.

    Raises:
        BadImage: "truncated" if the header is incomplete or no end marker follows the data (TensorFlow 2.21 refuses a
            JPEG without its final FF D9 even if all pixels are present), "too_many_pixels", and "damaged" if no
            decoder reads it.
    """
    process = 0
    precision = width = height = num_components = end = 0
    exif = xmp = b""
    try:
        for marker, start, end in header_segments(data):
            if marker in FRAMES:
                if process:
                    raise damaged("JPEG", "has two frame headers")
                process = marker
                precision, height, width, num_components = _FRAME.unpack_from(data, start + 4)
            elif marker == APP1:
                payload = data[start + 4 : end]
                if payload.startswith(EXIF):
                    exif = exif + payload[len(EXIF) :] if exif else payload  # Long blocks continue in the next segment.
                elif payload.startswith(XMP):
                    xmp = payload
    except struct.error:
        raise truncated("JPEG", len(data)) from None
    _check_frame(process, precision, width, height, num_components)
    if not data.endswith(_EOI) and data.find(_EOI, end) < 0:
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


def decode_reduced(data: bytes, info: ImageInfo) -> "npt.NDArray[np.uint8] | None":
    """Entropy-decode all data and return the pixels at an eighth of the size, uint8[height, width, channels].

    There is one channel, grey, or the four of a CMYK JPEG, as stored. A JPEG has no checksum: damage that leaves as
    many blocks in the data as the picture has gives no warning. Zeros of a lost sector often do, so they are searched.

    Args:
        data: The whole file.
        info: The result of `scan_jpeg`.

    Returns:
        None if this kind of JPEG cannot be decoded at that scale.

    Raises:
        BadImage: "truncated" or "damaged", with libjpeg's message.
    """
    import simplejpeg

    colours = "CMYK" if "cmyk" in info.changes else "GRAY"
    try:
        pixels: npt.NDArray[np.uint8] = simplejpeg.decode_jpeg(data, colours, min_height=1, min_width=1)
    except ValueError as error:
        found = str(error)
    else:
        if _HOLE in data and _has_hole(data):
            raise damaged("JPEG", "has zero bytes in place of image data")
        return pixels
    if _UNSCALABLE.search(found):
        return None
    if "memory" in found:
        raise MemoryError(found)
    if _MAY_BE_HARMLESS.search(found) and (bare := _bare(data, found)) != data:
        # libjpeg reports its first warning only, so what is harmless is removed to see the next one.
        return decode_reduced(bare, info)
    if found.startswith(_ENDS_EARLY):
        raise truncated("JPEG", len(data))
    raise damaged(
        "JPEG",
        f'lost image data (libjpeg: "{found}")',
        "copy it again from its origin; if it looks whole, save it anew",
    )


def _bare(data: bytes, found: str) -> bytes:
    """Return a JPEG without what libjpeg warns of though it decodes: junk and metadata in the header, padding."""
    segments = [(start, end) for marker, start, end in header_segments(data) if marker not in METADATA]
    scans = data[segments[-1][1] :]
    if padding := _PADDING.search(found):
        num_bytes, end = int(padding[1]), scans.find(_EOI)
        if num_bytes <= _MAX_PADDING and len(set(scans[end - num_bytes : end])) == 1:
            scans = scans[: end - num_bytes] + scans[end:]
    return data[:2] + b"".join(data[start:end] for start, end in segments) + scans


def _has_hole(data: bytes) -> bool:
    """Return whether the data of a scan have a run of zeros that no encoder writes.

    Zeros are the shortest code again and again. Of flat blocks that is "end of block" (symbol 0), if every AC table has
    it as the first symbol (T.81, B.2.4.2). Progressive scans also have bits without a code.
    """
    first_symbols, process, end = set[int](), 0, 0
    for marker, start, end in header_segments(data):
        position = start + 4
        while marker == DHT and position + 17 < end:
            if data[position] >> 4:
                first_symbols.add(data[position + 17])
            position += 17 + sum(data[position + 1 : position + 17])
        process = marker if marker in FRAMES else process
    return process in _SEQUENTIAL and first_symbols != {0} and data.find(_HOLE, end, data.find(_EOI, end)) >= 0
