"""Small images of every kind, made in memory: what the tests of ``shardkit.images`` feed on."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from shardkit.testing import encoded

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def picture(mode: str = "RGB", width: int = 37, height: int = 23, seed: int = 0) -> Image.Image:
    """A smooth gradient with noise, different in every corner, so that any wrong turn shows."""
    rows, columns = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(seed).integers(0, 24, (height, width, 4))
    channels = np.stack(
        [
            columns * 200 // width,
            rows * 200 // height,
            200 - rows * columns * 200 // (width * height),
            rows + columns + 60,
        ],
        -1,
    )
    array = np.clip(channels + noise, 0, 255).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray((array[..., 0].astype(np.uint16) << 8) | array[..., 1])
    if mode == "P":
        return Image.fromarray(array[..., :3]).quantize(16)
    if mode == "LA":
        return Image.merge("LA", (Image.fromarray(array[..., 0]), Image.fromarray(array[..., 3])))
    if mode == "RGBA":
        return Image.fromarray(array, "RGBA")
    return Image.fromarray(array[..., :3]).convert(mode)


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    return encoded(image, kind, **options)


def exif(orientation: int, *, order: str = "<", thumbnail: bytes = b"", value_type: int = 3) -> bytes:
    """an EXIF block of three tags, with a thumbnail in IFD1 if one is given.

    Args:
        orientation: the value stored, valid or not.
        order: "<" little-endian (II) or ">" big-endian (MM).
        thumbnail: a JPEG file; it lies inside the block with its own SOI and EOI.
        value_type: TIFF type of the orientation: 3 SHORT as the standard wants, 1 BYTE or 4 LONG as some write.
    """
    value = struct.pack(order + {1: "Bxxx", 3: "Hxx", 4: "L"}[value_type], orientation)
    ifd1 = 8 + 2 + 3 * 12 + 4 + 6
    make = 8 + 2 + 3 * 12 + 4
    entries = [
        struct.pack(order + "HHLL", 0x010F, 2, 6, make),
        struct.pack(order + "HHL", 0x0112, value_type, 1) + value,
        struct.pack(order + "HHLL", 0x0213, 3, 1, 1 << (16 if order == ">" else 0)),
    ]
    block = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "L", 8)
    block += struct.pack(order + "H", 3) + b"".join(entries) + struct.pack(order + "L", ifd1 if thumbnail else 0)
    block += b"Maker\0"
    if thumbnail:
        start = ifd1 + 2 + 2 * 12 + 4
        block += struct.pack(order + "H", 2)
        block += struct.pack(order + "HHLL", 0x0201, 4, 1, start)
        block += struct.pack(order + "HHLL", 0x0202, 4, 1, len(thumbnail))
        block += struct.pack(order + "L", 0) + thumbnail
    return b"Exif\0\0" + block


def xmp(orientation: int) -> bytes:
    """An XMP packet that holds an orientation only."""
    return f'<x:xmpmeta><rdf:Description tiff:Orientation="{orientation}"/></x:xmpmeta>'.encode()


def segment(marker: int, payload: bytes) -> bytes:
    """One JPEG segment."""
    return struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload


def insert_segments(jpeg: bytes, *segments: bytes) -> bytes:
    """A JPEG with more segments right after SOI."""
    return jpeg[:2] + b"".join(segments) + jpeg[2:]


def chunk(kind: bytes, payload: bytes) -> bytes:
    """One PNG chunk, its CRC right."""
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def png(header: tuple[int, int, int, int, int], *chunks: bytes) -> bytes:
    """A PNG of (width, height, depth, colour type, interlacing) and further chunks; IEND is added."""
    width, height, depth, colour, interlacing = header
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlacing)
    return PNG_SIGNATURE + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")


def insert_chunks(data: bytes, *chunks: bytes, before: bytes = b"IDAT") -> bytes:
    """A PNG with more chunks before the first of one kind."""
    position = data.index(before) - 4
    return data[:position] + b"".join(chunks) + data[position:]


def interlaced_png(image: Image.Image) -> bytes:
    """An Adam7 PNG of an 8-bit L or RGB image; Pillow reads but does not write them."""
    array = np.asarray(image)
    rows = b""
    for left, top, across, down in (
        (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
    ):  # fmt: skip
        part = array[top::down, left::across]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    colour = {"L": 0, "RGB": 2}[image.mode]
    return png((image.width, image.height, 8, colour, 1), chunk(b"IDAT", zlib.compress(rows)))


def deep_png(colour: int, width: int = 9, height: int = 7) -> bytes:
    """A 16-bit PNG of colour type 0, 2, 4 or 6; Pillow writes only type 0."""
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    samples = np.random.default_rng(colour).integers(0, 1 << 16, (height, width * channels)).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in samples)
    return png((width, height, 16, colour, 0), chunk(b"IDAT", zlib.compress(rows)))


def _frames() -> dict[str, Any]:
    return {"save_all": True, "append_images": [picture(seed=1).rotate(180), picture(seed=2)], "duration": 50}


# name: how to make it; the names begin with the format that shardkit.images reports.
MAKERS: dict[str, Callable[[], bytes]] = {
    "jpeg": lambda: encode(picture(), "JPEG"),
    "jpeg 4:4:4": lambda: encode(picture(), "JPEG", subsampling=0),
    "jpeg 4:2:2 optimised": lambda: encode(picture(), "JPEG", subsampling=1, optimize=True),
    "jpeg progressive": lambda: encode(picture(), "JPEG", progressive=True),
    "jpeg grey": lambda: encode(picture("L"), "JPEG"),
    "jpeg grey progressive": lambda: encode(picture("L"), "JPEG", progressive=True),
    "jpeg rgb": lambda: encode(picture(), "JPEG", keep_rgb=True),
    "jpeg cmyk": lambda: encode(picture("CMYK"), "JPEG"),
    "jpeg restart": lambda: encode(picture(), "JPEG", restart_marker_blocks=1),
    "jpeg restart progressive": lambda: encode(picture(), "JPEG", restart_marker_rows=1, progressive=True),
    "jpeg comment": lambda: encode(picture(), "JPEG", comment=b"\xff\xd9 \xff\xda in a comment"),
    "jpeg exif": lambda: encode(picture(), "JPEG", exif=exif(6, order=">")),
    "jpeg exif thumbnail": lambda: encode(
        picture(), "JPEG", exif=exif(8, thumbnail=encode(picture(width=8, height=8), "JPEG"))
    ),
    "jpeg xmp": lambda: encode(picture(), "JPEG", xmp=xmp(3)),
    "jpeg icc": lambda: encode(picture(), "JPEG", icc_profile=bytes(70_000)),
    "png rgb": lambda: encode(picture(), "PNG"),
    "png grey": lambda: encode(picture("L"), "PNG"),
    "png grey alpha": lambda: encode(picture("LA"), "PNG"),
    "png alpha": lambda: encode(picture("RGBA"), "PNG"),
    "png one bit": lambda: encode(picture("1"), "PNG"),
    "png palette": lambda: encode(picture("P"), "PNG"),
    "png palette two bits": lambda: encode(picture("P").quantize(4), "PNG", bits=2),
    "png palette transparent": lambda: encode(picture("P"), "PNG", transparency=3),
    "png palette translucent": lambda: encode(picture("P"), "PNG", transparency=bytes(range(0, 160, 10))),
    "png grey transparent": lambda: encode(picture("L"), "PNG", transparency=90),
    "png rgb transparent": lambda: encode(picture(), "PNG", transparency=(9, 9, 9)),
    "png interlaced": lambda: interlaced_png(picture()),
    "png interlaced grey": lambda: interlaced_png(picture("L", 5, 3)),
    "png 16 bits": lambda: encode(picture("I;16"), "PNG"),
    "png 16 bits rgb": lambda: deep_png(2),
    "png 16 bits grey alpha": lambda: deep_png(4),
    "png 16 bits alpha": lambda: deep_png(6),
    "png exif": lambda: encode(picture(), "PNG", exif=exif(5)[6:]),
    "png animated": lambda: encode(picture(), "PNG", **_frames()),
    "png animated with default": lambda: encode(picture(), "PNG", default_image=True, **_frames()),
    "gif": lambda: encode(picture("P"), "GIF"),
    "gif grey": lambda: encode(picture("L"), "GIF"),
    "gif transparent": lambda: encode(picture("P"), "GIF", transparency=2),
    "gif animated": lambda: encode(picture(), "GIF", **_frames()),
    "webp lossy": lambda: encode(picture(), "WEBP"),
    "webp lossless": lambda: encode(picture(), "WEBP", lossless=True),
    "webp alpha": lambda: encode(picture("RGBA"), "WEBP"),
    "webp exif": lambda: encode(picture(), "WEBP", exif=exif(7)),
    "webp animated": lambda: encode(picture(), "WEBP", **_frames()),
    "tiff": lambda: encode(picture(), "TIFF"),
    "tiff lzw": lambda: encode(picture(), "TIFF", compression="tiff_lzw"),
    "tiff deflate": lambda: encode(picture(), "TIFF", compression="tiff_adobe_deflate"),
    "tiff jpeg": lambda: encode(picture(), "TIFF", compression="jpeg"),
    "tiff fax": lambda: encode(picture("1"), "TIFF", compression="group4"),
    "tiff grey": lambda: encode(picture("L"), "TIFF"),
    "tiff palette": lambda: encode(picture("P"), "TIFF"),
    "tiff alpha": lambda: encode(picture("RGBA"), "TIFF"),
    "tiff cmyk": lambda: encode(picture("CMYK"), "TIFF"),
    "tiff 16 bits": lambda: encode(picture("I;16"), "TIFF"),
    "tiff oriented": lambda: encode(picture(), "TIFF", tiffinfo={0x0112: 6}),
    "tiff pages": lambda: encode(picture(), "TIFF", save_all=True, append_images=[picture(seed=1)]),
    "bmp": lambda: encode(picture(), "BMP"),
    "bmp palette": lambda: encode(picture("P"), "BMP"),
    "bmp one bit": lambda: encode(picture("1"), "BMP"),
    "ppm": lambda: encode(picture(), "PPM"),
    "ppm grey": lambda: encode(picture("L"), "PPM"),
    "ppm one bit": lambda: encode(picture("1"), "PPM"),
    "ppm 16 bits": lambda: b"P5 4 2 65535\n" + bytes(range(0, 256, 16)),
    "ppm text": lambda: b"P3 2 1 255\n1 2 3 4 5 6\n",
    "jpeg2000": lambda: encode(picture(), "JPEG2000"),
    "jpeg2000 grey": lambda: encode(picture("L"), "JPEG2000", irreversible=True),
    "avif": lambda: encode(picture(), "AVIF", speed=10),
    "avif alpha": lambda: encode(picture("RGBA"), "AVIF", speed=10),
    "avif animated": lambda: encode(picture(), "AVIF", speed=10, **_frames()),
}


@cache
def made(name: str) -> bytes:
    """The file of one of ``MAKERS``; made once."""
    return MAKERS[name]()


def upright(data: bytes) -> Image.Image:
    """What Pillow shows of a file: first frame, turned upright."""
    from PIL import ImageOps

    with Image.open(io.BytesIO(data)) as image:
        return ImageOps.exif_transpose(image)
