"""Find damage inside a TIFF that libtiff does not report: checksums of deflate, and libjpeg's warnings.

libtiff stops to inflate a strip at its last pixel, before the checksum, and drops what libjpeg warns of. Other
compressions have neither.
"""

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shardkit.images.info import damaged

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

# Tags of TIFF 6.0 and Technote 2. Strips and tiles have the same form.
_COMPRESSION, _JPEG_TABLES = 259, 347
_OFFSETS, _SIZES = (273, 324), (279, 325)
_DEFLATE = frozenset({8, 32946})
_JPEG = 7
_BLOCK_BYTES = 1 << 20  # 1 MiB
_LOST = ("Corrupt JPEG data", "Premature end")  # beginnings of libjpeg's warnings


def check_strips(data: bytes, image: "ImageFile") -> None:
    """Check the strips or tiles of the first page.

    Args:
        data: The whole file.
        image: The image, opened.

    Raises:
        BadImage: "damaged".
    """
    tags: Any = getattr(image, "tag_v2", {})
    compression = tags.get(_COMPRESSION)
    if compression in _DEFLATE:
        # What a strip inflates to beyond all pixels is read by no decoder.
        most = 16 * image.width * image.height
        if not all(_is_whole(strip, most) for strip in _strips(data, tags)):
            raise damaged("TIFF", "has a strip that contradicts its checksum")
    elif compression == _JPEG:
        for strip in _strips(data, tags):
            _check_jpeg(bytes(tags.get(_JPEG_TABLES, b"")), strip)


def _strips(data: bytes, tags: Any) -> Iterator[bytes]:
    offsets, sizes = (next((tags[tag] for tag in either if tag in tags), ()) for either in (_OFFSETS, _SIZES))
    for offset, size in zip(offsets, sizes, strict=False):
        yield data[offset : offset + size]


def _is_whole(strip: bytes, most: int) -> bool:
    """Return whether a zlib stream ends with its checksum."""
    inflate, rest, num_bytes = zlib.decompressobj(), strip, 0
    try:
        while not inflate.eof and num_bytes <= most:
            block = inflate.decompress(rest, _BLOCK_BYTES)
            rest = inflate.unconsumed_tail
            num_bytes += len(block)
            if not block and not rest:
                return inflate.eof
    except zlib.error:
        return False
    return True


def _check_jpeg(tables: bytes, strip: bytes) -> None:
    """Decode a strip, whose tables all strips share."""
    import simplejpeg

    stream = tables[:-2] + strip[2:] if tables else strip  # without the end mark of one and the start of the other
    try:
        simplejpeg.decode_jpeg(stream, "GRAY", min_height=1, min_width=1)
    except ValueError as error:
        if str(error).startswith(_LOST):
            raise damaged("TIFF", f'lost image data (libjpeg: "{error}")') from None
