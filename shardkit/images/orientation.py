"""Read the image orientation from an EXIF block or an XMP packet.

Pillow is not used, because it parses the whole directory (a hundred microseconds) and warns or raises on damaged ones,
and very many photographs have EXIF. Tests compare this with Pillow's ``getexif``.
"""

import re
import struct
import zlib

_TAG = 0x0112  # Orientation, EXIF 2.3, 4.6.4 A
# Pillow's own pattern (Image.getexif); XMP's tiff:Orientation counts only where EXIF has none.
_XMP = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')
_ENDIANS = {b"II": "<", b"MM": ">"}
_HEADS = {order: struct.Struct(order + "2sHL") for order in "<>"}
_COUNTS = {order: struct.Struct(order + "H") for order in "<>"}
_ENTRIES = {order: struct.Struct(order + "HHL4s") for order in "<>"}  # tag, type, count, value or offset
# Accepted types: SHORT, as in the standard, and LONG, which some writers use (TIFF 6.0, section 2).
_VALUES = {order: {3: struct.Struct(order + "H"), 4: struct.Struct(order + "L")} for order in "<>"}
# Keywords of PNG text chunks with an orientation: ImageMagick's EXIF in hexadecimal, and XMP.
ORIENTED_KEYWORDS = (b"Raw profile type exif\0", b"XML:com.adobe.xmp\0")
MAX_TEXT = 1 << 20  # 1 MiB: inflated text beyond it is not read; Pillow's MAX_TEXT_CHUNK


def exif_orientation(block: bytes) -> int | None:
    r"""Read the orientation from IFD0 of an EXIF block.

    Args:
        block: A TIFF structure, with or without the leading "Exif\0\0"; it may be damaged.

    Returns:
        The stored value, possibly outside 1..8; 0 if its type is not a number; None if it is absent.
    """
    while block.startswith(b"Exif\0\0"):
        block = block[6:]
    order = _ENDIANS.get(block[:2])
    if order is None:
        return None
    value: int | None = None
    try:
        offset = _HEADS[order].unpack_from(block)[2]
        (num_entries,) = _COUNTS[order].unpack_from(block, offset)
        entry = _ENTRIES[order].unpack_from
        for position in range(offset + 2, offset + 2 + 12 * num_entries, 12):
            tag, kind, _, field = entry(block, position)
            if tag == _TAG:
                number = _VALUES[order].get(kind)
                # A duplicated tag: the last one counts, as in Pillow.
                value = number.unpack_from(field)[0] if number else 0
    except struct.error:
        pass  # The block ends early; values read before that count.
    return value


def xmp_orientation(packet: bytes) -> int | None:
    """Read the orientation from an XMP packet; None if it has none."""
    found = _XMP.search(packet)
    return int(found[1]) if found else None


def valid_orientation(value: object) -> int:
    """Return ``value`` if it is one of EXIF's 1..8, else 1."""
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def png_text_orientation(chunks: list[tuple[bytes, bytes]], *, has_exif: bool) -> int | None:
    """Read the orientation from a PNG's text chunks.

    Args:
        chunks: (type, payload) of the chunks that begin with one of ``ORIENTED_KEYWORDS``, in file order.
        has_exif: Whether the file also has an eXIf chunk; then ImageMagick's copy is ignored.

    Returns:
        The orientation of ImageMagick's EXIF, else of XMP, else None.
    """
    raw, xmp = ORIENTED_KEYWORDS
    found: int | None = None
    for kind, payload in chunks:
        if payload.startswith(raw) and not has_exif:
            profile = raw_profile(kind, payload)
            found = found if profile is None else exif_orientation(profile)
    if found is None:
        for kind, payload in chunks:
            if payload.startswith(xmp):
                found = xmp_orientation(png_text(kind, payload))
    return found


def raw_profile(kind: bytes, payload: bytes) -> bytes | None:
    """Return the metadata that ImageMagick wrote into a PNG's text chunk as hexadecimal digits; None if damaged."""
    # Three lines of heading (empty, "exif", length), then lines of digits.
    try:
        return bytes.fromhex("".join(png_text(kind, payload).decode("latin-1").split("\n")[3:]))
    except ValueError:
        return None


def png_text(kind: bytes, payload: bytes) -> bytes:
    """Return the text of a tEXt, zTXt or iTXt chunk (PNG 1.2, 4.2.3); b"" if it is damaged or too long."""
    return inflated_text(kind, payload)[0]


def inflated_text(kind: bytes, payload: bytes) -> tuple[bytes, bool]:
    """Return the first MAX_TEXT bytes of the text, or of the colour profile in iCCP, and whether there are more."""
    rest = payload.partition(b"\0")[2]
    compressed = kind in {b"zTXt", b"iCCP"}
    if compressed:
        rest = rest[1:]  # compression method
    elif kind == b"iTXt":
        compressed = rest[:1] == b"\x01"
        rest = rest[2:].partition(b"\0")[2].partition(b"\0")[2]  # flag, method, language, translated keyword
    if not compressed:
        return rest, False
    inflate = zlib.decompressobj()
    try:
        return inflate.decompress(rest, MAX_TEXT), bool(inflate.unconsumed_tail)
    except zlib.error:
        return b"", False
