"""Formats, and all decoding, through Pillow's plugins.

A plugin's class is called directly. ``PIL.Image.open`` would try every plugin that is installed (EPS starts
Ghostscript), import them all, and measure sizes against ``Image.MAX_IMAGE_PIXELS``, a global of the process that is
not ours to change. Nothing here changes a global but ``silence_pillow``, which says why.
"""

import importlib
import io
import re
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shardkit.images.info import BadImage, ImageInfo, check_size, damaged, truncated
from shardkit.images.orientation import valid_orientation
from shardkit.reject_reasons import NOT_AN_IMAGE

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

# format: (module under PIL, class)
_PLUGINS = {
    "AVIF": ("AvifImagePlugin", "AvifImageFile"),
    "BMP": ("BmpImagePlugin", "BmpImageFile"),
    "GIF": ("GifImagePlugin", "GifImageFile"),
    "JPEG": ("JpegImagePlugin", "JpegImageFile"),
    "JPEG2000": ("Jpeg2KImagePlugin", "Jpeg2KImageFile"),
    "PNG": ("PngImagePlugin", "PngImageFile"),
    "PPM": ("PpmImagePlugin", "PpmImageFile"),
    "TIFF": ("TiffImagePlugin", "TiffImageFile"),
    "WEBP": ("WebPImagePlugin", "WebPImageFile"),
}
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
)
# Signatures so short that text may begin with them: where the rest fails, the file is no image, not a damaged one.
_WEAK = frozenset({"BMP", "PPM"})
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_SHARED_BRANDS = frozenset({b"mif1", b"msf1"})  # AVIF or HEIC: the latter is not read here
# Pillow's modes that hold one range of brightness for certain. "I" (32 bits) does only as PPM's reader scales it, and
# "F", "LAB" and whatever comes later have no agreed way to 8 bits.
_KNOWN_MODES = frozenset(
    {"1", "CMYK", "I;16", "I;16B", "I;16L", "I;16N", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBX", "RGBa", "YCbCr"}
)
_FIRST_TRANSPOSED = 5  # orientations 5..8 swap width and height
_PILLOW_MODULES = r"PIL\."
_SILENCER = ("ignore", None, Warning, re.compile(_PILLOW_MODULES), 0)  # what filterwarnings makes of it


def silence_pillow() -> None:
    """Keep Pillow's warnings (damaged metadata, odd animations) from users: what matters is raised as BadImage.

    ``warnings.catch_warnings`` swaps the process's filters and puts them back: two threads that do so in turn leave
    the wrong ones behind. A filter that is added once and stays is safe; only processes that decode here get it.
    """
    if _SILENCER not in warnings.filters:
        warnings.filterwarnings("ignore", module=_PILLOW_MODULES)


def detect_format(data: bytes) -> str | None:
    """The format that the first bytes announce, None where they announce none that is read here."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS | _SHARED_BRANDS:
        return "AVIF"
    if data[:2] == b"BM":
        return "BMP"
    if data[:1] == b"P" and data[1:2] in {b"1", b"2", b"3", b"4", b"5", b"6"} and data[2:3].isspace():
        return "PPM"
    return None


def not_an_image(data: bytes) -> BadImage:
    """The error for bytes that no format claims."""
    return BadImage(
        NOT_AN_IMAGE,
        f"The file begins with {data[:8]!r}, like none of {', '.join(sorted(_PLUGINS))}; "
        "remove it from the source or convert it first.",
    )


@contextmanager
def decoding(kind: str, data: bytes) -> Iterator[None]:
    """Turn whatever a Pillow plugin raises inside the block into BadImage.

    Plugins raise almost any builtin error on damaged bytes; which one says little, so all are caught. MemoryError is
    the machine's fault, since sizes are bounded before anything is decoded, and passes.
    """
    try:
        yield
    except (BadImage, MemoryError):
        raise
    except Exception as error:
        found = " ".join(str(error).split())
        # Plugins' open wraps what it met in a SyntaxError.
        early = isinstance(error.__cause__ or error, (EOFError, struct.error))
        if early or "truncated" in found.lower() or _ends_early(kind, data):
            raise truncated(kind, len(data)) from error
        raise damaged(kind, f"cannot be decoded ({found or type(error).__name__})") from error


def _ends_early(kind: str, data: bytes) -> bool:
    """Whether the container announces more bytes than there are."""
    if kind == "WEBP":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    if kind == "BMP":
        return int.from_bytes(data[2:6], "little") > len(data)
    if kind == "JPEG":
        return b"\xff\xd9" not in data
    return False


def open_image(data: bytes, kind: str) -> "ImageFile":
    """Open with the plugin of one format; reads headers only.

    Raises:
        BadImage: where the plugin refuses the bytes.
    """
    silence_pillow()
    module, name = _PLUGINS[kind]
    with decoding(kind, data):
        plugin: Callable[[io.BytesIO], ImageFile] = getattr(importlib.import_module(f"PIL.{module}"), name)
        image = plugin(io.BytesIO(data))
    if kind == "JPEG":
        # All bytes at once: libjpeg's arithmetic decoder cannot pause for more input, and fails after 64 KiB.
        image.decodermaxblock = len(data)
    return image


def inspect_with_pillow(data: bytes) -> ImageInfo:
    """What ``inspect`` does for every image that is no JPEG and no PNG.

    Raises:
        BadImage: as ``inspect`` does; "damaged" also for pixels that have no way to 8 bits.
    """
    kind = detect_format(data)
    if kind is None:
        raise not_an_image(data)
    try:
        image = open_image(data, kind)
    except BadImage as error:
        if kind in _WEAK or data[8:12] in _SHARED_BRANDS:
            raise not_an_image(data) from error
        raise
    width, height = image.size
    check_size(width, height, kind)
    if image.mode not in _KNOWN_MODES and not (image.mode == "I" and kind == "PPM"):
        raise damaged(
            kind, f"has pixels of mode {image.mode}, whose range is not known; convert it to 8 bits a channel"
        )
    orientation = _orientation(image)
    if kind == "TIFF" and orientation >= _FIRST_TRANSPOSED:
        # Pillow's TIFF plugin announces the size after orientation, and turns the pixels itself while it decodes.
        width, height = height, width
    with decoding(kind, data):
        reasons = (
            ("animated", getattr(image, "is_animated", False)),
            ("bit_depth", image.mode.startswith("I") or _tiff_depth(image) > 8),
            ("cmyk", image.mode == "CMYK"),
            (f"format:{kind.lower()}", True),
            ("orientation", orientation != 1),
        )
    return ImageInfo(kind, width, height, orientation, tuple(code for code, holds in reasons if holds))


def _orientation(image: "ImageFile") -> int:
    """Orientation as Pillow's own exif_transpose finds it; 1 where the metadata is damaged."""
    try:
        return valid_orientation(image.getexif().get(0x0112))
    except Exception:  # noqa: BLE001 -- damaged metadata raises anything, and says nothing of the pixels
        return 1


def _tiff_depth(image: "ImageFile") -> int:
    """Bits a channel of a TIFF (tag 258, BitsPerSample), 8 for other formats."""
    depths = getattr(image, "tag_v2", {}).get(258, 8)
    return int(max(depths)) if isinstance(depths, tuple) else int(depths)
