"""Read the header and the stream of a PNG chunk by chunk.

    signature  IHDR  [PLTE, tRNS, eXIf, acTL ...]  IDAT IDAT ...  [eXIf, tEXt ...]  IEND
               `---- each: length (4 bytes, of the payload), type (4), payload, CRC-32 of type and payload (4)

``scan_png`` reads the heads of chunks only. ``check_png_stream`` reads every byte, and is stricter than Pillow, which
skips the CRC of image data, accepts a missing IEND and stops at the last pixel. TensorFlow 2.21 refuses all three.
"""

import struct
import zlib
from collections.abc import Iterator

from shardkit.images.info import BadImage, ImageInfo, check_size, damaged, truncated
from shardkit.images.orientation import (
    MAX_TEXT,
    ORIENTED_KEYWORDS,
    exif_orientation,
    inflated_text,
    png_text_orientation,
    valid_orientation,
)
from shardkit.reject_reasons import DECOMPRESSION_BOMB

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK = struct.Struct(">I4s")  # length of the payload, type
_HEADER = struct.Struct(">I4sIIBBBBBI")  # length, type, width, height, depth, colour, 3 methods, CRC
_CRC = struct.Struct(">I")
_NUM_FRAMES = struct.Struct(">I")  # first field of acTL
_COLOUR_AT = 25  # offset of the colour type
_PALETTE = 3
_ALPHA = 4  # bit of the colour types with an alpha channel
# Bits a sample that each colour type allows, and its channels (PNG 1.2, 4.1.1).
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
TEXT_CHUNKS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_TEXT_OR_PROFILE = TEXT_CHUNKS | {b"iCCP"}
# x and y of the first pixel and steps of the seven passes of an interlaced image (PNG 1.2, 2.6).
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_MAX_FILTER = 4
_MAX_EXTRA = 64 << 10  # 64 KiB: more bytes inflated after the last row mean a decompression bomb
_MAX_TEXTS = 64 * MAX_TEXT  # of all texts of a file; Pillow's MAX_TEXT_MEMORY
_BLOCK = 1 << 20  # 1 MiB inflated at once, so that memory stays bounded


def scan_png(data: bytes) -> ImageInfo:
    """Read the heads of a PNG's chunks.

    Args:
        data: The whole file, which begins with ``SIGNATURE``.

    Raises:
        BadImage: "truncated" if the file ends before IEND does, "too_many_pixels", "damaged" if IHDR contradicts its
            CRC or the format, or if there is no image data.
    """
    try:
        length, kind, width, height, depth, colour, *methods, crc = _HEADER.unpack_from(data, 8)
    except struct.error:
        raise truncated("PNG", len(data)) from None
    if kind != b"IHDR" or length != 13 or zlib.crc32(data[12:29]) != crc:
        raise damaged("PNG", "begins with a damaged header (IHDR)")
    compression, filtering, interlacing = methods
    if depth not in _DEPTHS.get(colour, ()) or compression or filtering or interlacing > 1:
        raise damaged("PNG", f"claims {depth} bits of colour type {colour}, which is not valid PNG")
    check_size(width, height, "PNG")
    changes = ["bit_depth"] if depth == 16 else []
    exif: int | None = None
    texts: list[tuple[bytes, bytes]] = []
    seen: set[bytes] = set()
    num_frames = 0
    chunk = _CHUNK.unpack_from
    position = 33
    try:
        while True:
            length, kind = chunk(data, position)
            if kind == b"IEND":
                break
            if kind == b"IDAT":
                if num_frames and b"IDAT" not in seen and b"fcTL" not in seen:
                    num_frames += 1  # The default image precedes the animation and is not part of it.
            elif kind == b"eXIf":
                exif = exif_orientation(data[position + 8 : position + 8 + length])
            elif kind == b"acTL" and b"IDAT" not in seen and length >= 4:
                (num_frames,) = _NUM_FRAMES.unpack_from(data, position + 8)
            elif kind in TEXT_CHUNKS and data.startswith(ORIENTED_KEYWORDS, position + 8):
                texts.append((kind, data[position + 8 : position + 8 + length]))
            seen.add(kind)
            position += 12 + length
        _CRC.unpack_from(data, position + 8 + length)
    except struct.error:
        raise truncated("PNG", len(data)) from None
    if b"IDAT" not in seen or (colour == _PALETTE and b"PLTE" not in seen):
        raise damaged("PNG", "holds no image data" if b"IDAT" not in seen else "lacks its palette")
    orientation = valid_orientation(png_text_orientation(texts, has_exif=b"eXIf" in seen) if exif is None else exif)
    if num_frames > 1:
        changes.append("animated")
    if orientation != 1:
        changes.append("orientation")
    return ImageInfo("PNG", width, height, orientation, tuple(sorted(changes)))


def check_png_stream(data: bytes) -> None:
    """Read every byte of a PNG up to IEND: CRCs, order of chunks, zlib stream, filters, number of rows.

    Args:
        data: The whole file, which ``scan_png`` has accepted.

    Raises:
        BadImage: "damaged", "decompression_bomb", or "truncated" if the stream ends before the last row.
    """
    view = memoryview(data)
    passes = _pass_layout(data)
    num_expected = passes[-1][1]
    inflate = zlib.decompressobj()
    num_inflated = 0
    previous = b"IHDR"
    seen = {b"IHDR"}
    position = 33
    while previous != b"IEND":
        length, kind = _CHUNK.unpack_from(data, position)
        payload = view[position + 8 : position + 8 + length]
        (crc,) = _CRC.unpack_from(data, position + 8 + length)
        if zlib.crc32(view[position + 4 : position + 8 + length]) != crc:
            raise damaged("PNG", f"has a chunk {kind!r} at byte {position} that contradicts its CRC")
        _check_order(kind, previous, seen)
        if kind == b"IDAT":
            for block in _inflated(inflate, payload):
                _check_filters(block, num_inflated, passes)
                num_inflated += len(block)
                if num_inflated > num_expected + _MAX_EXTRA:
                    found = f"The PNG inflates to more than the {num_expected} bytes of its pixels"
                    raise BadImage(DECOMPRESSION_BOMB, f"{found}, which is an attack on decoders; remove it.")
        seen.add(kind)
        previous = kind
        position += 12 + length
    if num_inflated < num_expected or not inflate.eof:
        raise truncated("PNG", len(data))


def has_alpha(data: bytes) -> bool:
    """Return whether a PNG has an alpha channel, or a transparent colour."""
    return bool(data[_COLOUR_AT] & _ALPHA) or any(kind == b"tRNS" for kind, _, _ in png_chunks(data))


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield type, start and end of the chunks of a PNG, up to where it ends; the end includes the CRC."""
    position = len(SIGNATURE)
    while position + _CHUNK.size <= len(data):
        length, kind = _CHUNK.unpack_from(data, position)
        yield kind, position, position + 12 + length
        position += 12 + length


def without_large_texts(data: bytes) -> bytes:
    """Return a PNG without the texts and the colour profile that Pillow refuses; its own bytes if it has none.

    Pillow refuses the whole picture if a text inflates beyond 1 MiB, or all of them beyond 64 MiB. Other decoders skip
    them, as the pixels do not depend on them.

    Args:
        data: The whole file.
    """
    kept, start, num_bytes = list[bytes](), 0, 0
    for kind, position, end in png_chunks(data):
        if kind == b"IEND":
            break
        if kind in _TEXT_OR_PROFILE:
            is_larger = True
            if num_bytes <= _MAX_TEXTS:  # the rest is not even inflated
                text, is_larger = inflated_text(kind, data[position + 8 : end - 4])
                num_bytes += len(text)
            if is_larger or num_bytes > _MAX_TEXTS:
                kept.append(data[start:position])
                start = end
    return b"".join([*kept, data[start:]]) if kept else data


def _check_order(kind: bytes, previous: bytes, seen: set[bytes]) -> None:
    """Refuse the chunks that libpng refuses: unknown critical ones, repeated ones, image data in several runs."""
    critical = not kind[0] & 0x20
    repeated = kind in seen and critical and not (kind == b"IDAT" and previous == b"IDAT")
    unknown = critical and kind not in {b"PLTE", b"IDAT", b"IEND"}
    if not kind.isalpha() or unknown or repeated or (kind == b"PLTE" and b"IDAT" in seen):
        raise damaged("PNG", f"has a chunk {kind!r} in a place where the format forbids it")


def _inflated(inflate: "zlib._Decompress", payload: memoryview) -> Iterator[bytes]:
    """Inflate one chunk in bounded blocks."""
    rest: bytes | memoryview = payload
    try:
        while len(rest) and not inflate.eof:
            yield inflate.decompress(rest, _BLOCK)
            rest = inflate.unconsumed_tail
    except zlib.error as error:
        raise damaged("PNG", f"holds image data that cannot be inflated ({error})") from None


def _pass_layout(data: bytes) -> list[tuple[int, int, int]]:
    """Return (start, stop, bytes per row with its filter byte) of each pass in the inflated data; half-open."""
    _, _, width, height, depth, colour, _, _, interlacing, _ = _HEADER.unpack_from(data, 8)
    bits = depth * _CHANNELS[colour]
    layout: list[tuple[int, int, int]] = []
    start = 0
    for left, top, across, down in _ADAM7 if interlacing else ((0, 0, 1, 1),):
        num_columns, num_rows = -(-(width - left) // across), -(-(height - top) // down)
        if num_columns > 0 and num_rows > 0:
            stride = 1 + (num_columns * bits + 7) // 8
            layout.append((start, start + stride * num_rows, stride))
            start += stride * num_rows
    return layout


def _check_filters(block: bytes, offset: int, passes: list[tuple[int, int, int]]) -> None:
    """Refuse rows with an unknown filter byte; ``offset`` is the position of ``block`` in the inflated data."""
    for start, stop, stride in passes:
        first = max(start, offset)
        first += (start - first) % stride
        filters = block[first - offset : max(0, stop - offset) : stride] if first < stop else b""
        if filters and max(filters) > _MAX_FILTER:
            raise damaged("PNG", f"has a row with the unknown filter {max(filters)}")
