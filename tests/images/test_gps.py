"""GPS positions in every format that has a place for them, written by Pillow."""

import struct
import time

import pytest
from PIL import Image, PngImagePlugin

from shardkit.images.gps import has_gps
from tests.images.gps_making import XMP_POSITION, exif_with_gps
from tests.images.image_making import encode, exif, picture, xmp

_KINDS = ["AVIF", "JPEG", "PNG", "TIFF", "WEBP"]


@pytest.mark.parametrize("kind", _KINDS)
def test_an_exif_position_is_found(kind: str) -> None:
    assert has_gps(encode(picture(), kind, exif=exif_with_gps()))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("block", [exif_with_gps(position=False), exif(6), b""])
def test_exif_without_a_position_is_none(kind: str, block: bytes) -> None:
    options = {"exif": block} if block else {}
    assert not has_gps(encode(picture(), kind, **options))


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_an_xmp_position_is_found(kind: str) -> None:
    assert has_gps(encode(picture(), kind, xmp=XMP_POSITION))
    assert not has_gps(encode(picture(), kind, xmp=xmp(6)))


def _png_with(*texts: tuple[str, str, bool]) -> bytes:
    info = PngImagePlugin.PngInfo()
    for keyword, text, compressed in texts:
        info.add_itxt(keyword, text, zip=compressed) if "xmp" in keyword else info.add_text(keyword, text, compressed)
    return encode(picture(), "PNG", pnginfo=info)


@pytest.mark.parametrize("compressed", [False, True])
def test_positions_in_texts_of_a_png_are_found(compressed: bool) -> None:
    block = exif_with_gps()
    hexadecimal = f"\nexif\n{len(block):8d}\n{block.hex()}\n"
    assert has_gps(_png_with(("Raw profile type exif", hexadecimal, compressed)))
    assert has_gps(_png_with(("XML:com.adobe.xmp", XMP_POSITION.decode(), compressed)))
    assert has_gps(_png_with(("exif:GPSLatitude", "47/1", compressed)))
    assert not has_gps(_png_with(("Comment", "no place", compressed), ("Raw profile type exif", "\nexif\nodd", True)))


def test_big_endian_blocks_are_read() -> None:
    gps = 8 + 2 + 12 + 4
    block = b"MM\0*" + struct.pack(">L", 8)
    block += struct.pack(">HHHLL", 1, 0x8825, 4, 1, gps) + struct.pack(">L", 0)
    block += struct.pack(">HHHL4s", 1, 1, 2, 2, b"N\0\0\0") + struct.pack(">L", 0)
    assert not has_gps(encode(picture(), "JPEG", exif=b"Exif\0\0" + block))
    with_latitude = block.replace(struct.pack(">HHL4s", 1, 2, 2, b"N\0\0\0"), struct.pack(">HHLL", 2, 5, 3, 99))
    assert has_gps(encode(picture(), "JPEG", exif=b"Exif\0\0" + with_latitude))


@pytest.mark.parametrize("kind", _KINDS)
def test_damaged_files_raise_nothing(kind: str) -> None:
    data = encode(picture(), kind, exif=exif_with_gps())
    for end in range(0, len(data), 7):
        has_gps(data[:end])
    for at in range(min(len(data), 600)):
        has_gps(data[:at] + b"\xff" + data[at + 1 :])


def test_pillow_reads_the_same_position() -> None:
    """The blocks of these tests are what other programs take for a position."""
    exif_block = Image.Exif()
    exif_block.load(exif_with_gps())
    assert exif_block.get_ifd(0x8825)[2] == (47.0, 22.0, 6.0)


def test_a_file_that_was_made_to_be_slow_is_not() -> None:
    """Thousands of directories, each as long as the file, would take hours if all were read."""
    entries = struct.pack("<HHLL", 0x8825, 4, 1, 8) * 60_000
    block = b"II*\0\x08\0\0\0" + struct.pack("<H", 60_000) + entries
    start = time.process_time()
    assert not has_gps(block)
    assert not has_gps(b"\0\0\0\x20ftypheic" + b"II*\0\x08\0\0\0" * 500_000)
    assert time.process_time() - start < 2
