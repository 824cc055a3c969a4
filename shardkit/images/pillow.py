"""Detect formats and decode images with Pillow's plugins.

Plugin classes are called directly. ``PIL.Image.open`` would import and try all installed plugins (EPS starts
Ghostscript) and compare sizes with ``Image.MAX_IMAGE_PIXELS``, a global that belongs to the process. Only
``silence_pillow`` changes a global here; it explains why.
"""

import importlib
import importlib.util
import io
import re
import struct
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shardkit.images.gps import webp_chunks
from shardkit.images.info import FIRST_TRANSPOSED, BadImage, ImageInfo, check_size, damaged, truncated
from shardkit.images.orientation import valid_orientation
from shardkit.images.png import without_large_texts
from shardkit.reject_reasons import NOT_AN_IMAGE, UNSUPPORTED_FORMAT

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

# format: (module, class)
_PLUGINS = {
    "AVIF": ("PIL.AvifImagePlugin", "AvifImageFile"),
    "BMP": ("PIL.BmpImagePlugin", "BmpImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
    "HEIF": ("pillow_heif", "HeifImageFile"),
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "JPEG2000": ("PIL.Jpeg2KImagePlugin", "Jpeg2KImageFile"),
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "PPM": ("PIL.PpmImagePlugin", "PpmImageFile"),
    "TIFF": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "WEBP": ("PIL.WebPImagePlugin", "WebPImageFile"),
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
# Signatures so short that text may begin with them: a file that cannot be opened is then no image.
_GIT_LFS = b"version https://git-lfs"
_WEAK = frozenset({"BMP", "PPM"})
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"})
_SHARED_BRANDS = frozenset({b"mif1", b"msf1"})  # AVIF or HEIF: the compatible brands tell which
_BRANDS = (("HEIF", _HEIF_BRANDS), ("AVIF", _AVIF_BRANDS))
_MAX_BRANDS_BYTES = 256  # of the first box that are searched for compatible brands
# Pillow's modes with a known range of values. "I" (32 bits) has one only in PPM, whose reader scales values; "F", "LAB"
# and later modes have no standard conversion to 8 bits.
_KNOWN_MODES = frozenset(
    {"1", "CMYK", "I;16", "I;16B", "I;16L", "I;16N", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBX", "RGBa", "YCbCr"}
)
# Tags of TIFF, the bands of a photometric interpretation, and the meanings of the bands after them.
_BITS_PER_SAMPLE, _PHOTOMETRIC, _SAMPLES_PER_PIXEL, _EXTRA_SAMPLES = 258, 262, 277, 338
_COLOURS = {0: ("grey",), 1: ("grey",), 2: ("red", "green", "blue"), 3: ("palette",)}
_MEANINGS = {0: "unspecified", 1: "associated alpha", 2: "alpha"}
_ALPHA = {(1,), (2,), (999,)}  # 999: CorelDRAW 10
_BIG_TIFF = 43
_J2K_START = b"\xff\x4f\xff\x51"  # SOC and SIZ
_J2K_DEPTH = 42  # offset of the first component's Ssiz: bits less one
_MOST_OF_A_BYTE = 255
_PILLOW_MODULES = r"PIL\."
_SILENCER = ("ignore", None, Warning, re.compile(_PILLOW_MODULES), 0)  # the entry that filterwarnings makes


def silence_pillow() -> None:
    """Hide Pillow's warnings about damaged metadata and odd animations; what matters is raised as BadImage.

    ``warnings.catch_warnings`` replaces and restores the filters of the process, which is wrong with several threads. A
    filter that is added once and stays is safe; only processes that decode images get it.
    """
    if _SILENCER not in warnings.filters:
        warnings.filterwarnings("ignore", module=_PILLOW_MODULES)


def detect_format(data: bytes) -> str | None:
    """Return the format of the first bytes; None if they are not of a supported format."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp" and (kind := _kind_of_brands(data)):
        return kind
    if data[:2] == b"BM":
        return "BMP"
    if data[:1] == b"P" and data[1:2] in {b"1", b"2", b"3", b"4", b"5", b"6"} and data[2:3].isspace():
        return "PPM"
    return None


def _kind_of_brands(data: bytes) -> str | None:
    """Return the format by the brands in the first box of an ISO base media file (ISO/IEC 14496-12, 4.3)."""
    if data[8:12] not in _AVIF_BRANDS | _HEIF_BRANDS | _SHARED_BRANDS:
        return None
    end = min(int.from_bytes(data[:4], "big"), _MAX_BRANDS_BYTES)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, end, 4))]
    return next((name for brand in brands for name, own in _BRANDS if brand in own), "AVIF")


def _missing_decoder(kind: str) -> BadImage | None:
    """Return the error for a format whose decoder is not installed; None if it is."""
    if kind == "HEIF" and importlib.util.find_spec("pillow_heif") is None:
        found, remedy = "HEIC or HEIF, which needs pillow-heif", "pip install 'shardkit[heif]'"
    elif kind == "AVIF" and not _has_avif():
        found, remedy = "AVIF, which this build of Pillow does not read", "pip install --upgrade pillow"
    else:
        return None
    return BadImage(UNSUPPORTED_FORMAT, f"The file is {found}; {remedy}, or convert the image first.")


def _has_avif() -> bool:
    from PIL import features

    return bool(features.check("avif"))


def not_an_image(data: bytes) -> BadImage:
    """Return the error for bytes that are not of a supported format."""
    if data.startswith(_GIT_LFS):
        return BadImage(NOT_AN_IMAGE, "The file is a pointer of Git LFS to an image; run `git lfs pull` in its folder.")
    return BadImage(
        NOT_AN_IMAGE,
        f"The file begins with {data[:8]!r}, which is none of {', '.join(sorted(_PLUGINS))}; "
        "remove it from the source or convert it first.",
    )


@contextmanager
def decoding(kind: str, data: bytes) -> Iterator[None]:
    """Raise any error of a Pillow plugin inside the block as BadImage.

    On damaged bytes, plugins raise almost any builtin error, so all are caught. MemoryError passes: sizes are limited
    before decoding, so it is the machine's fault.
    """
    try:
        yield
    except (BadImage, MemoryError):
        raise
    except Exception as error:
        found = " ".join(str(error).split())
        # The plugins' open wraps errors in a SyntaxError.
        early = isinstance(error.__cause__ or error, (EOFError, struct.error))
        if early or "truncated" in found.lower() or _ends_early(kind, data):
            raise truncated(kind, len(data)) from error
        raise damaged(kind, f"cannot be decoded ({found or type(error).__name__})") from error


def _ends_early(kind: str, data: bytes) -> bool:
    """Return whether the container announces more bytes than the file has."""
    if kind == "WEBP":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    if kind == "BMP":
        return int.from_bytes(data[2:6], "little") > len(data)
    if kind == "JPEG":
        return b"\xff\xd9" not in data
    return False


def open_image(data: bytes, kind: str) -> "ImageFile":
    """Open an image with the plugin of its format; only headers are read.

    Raises:
        BadImage: The plugin refuses the bytes.
    """
    if missing := _missing_decoder(kind):
        raise missing
    if kind == "PNG":
        data = without_large_texts(data)
    silence_pillow()
    module, name = _PLUGINS[kind]
    with decoding(kind, data):
        plugin: Callable[[io.BytesIO], ImageFile] = getattr(importlib.import_module(module), name)
        image = plugin(io.BytesIO(data))
    if kind == "JPEG":
        # All bytes at once, because libjpeg's arithmetic decoder cannot wait for more input and fails after 64 KiB.
        image.decodermaxblock = len(data)
    return image


def inspect_with_pillow(data: bytes) -> ImageInfo:
    """Read the header of an image that is neither a JPEG nor a PNG.

    Raises:
        BadImage: As ``inspect`` does; also "damaged" for pixels that cannot be converted to 8 bits.
    """
    kind = detect_format(data)
    if kind is None:
        raise not_an_image(data)
    if kind == "TIFF":
        _refuse_bands(data)
    try:
        image = open_image(data, kind)
    except BadImage as error:
        if kind in _WEAK or (data[8:12] in _SHARED_BRANDS and error.reason != UNSUPPORTED_FORMAT):
            raise not_an_image(data) from error
        raise
    width, height = image.size
    check_size(width, height, kind)
    if image.mode not in _KNOWN_MODES and not (image.mode == "I" and kind == "PPM"):
        raise damaged(kind, f"has pixels of mode {image.mode} with an unknown range; convert it to 8 bits a channel")
    orientation = _orientation(image)
    if kind == "TIFF" and orientation >= FIRST_TRANSPOSED:
        # Pillow's TIFF plugin returns the size after orientation, and turns the pixels when it decodes.
        width, height = height, width
    with decoding(kind, data):
        reasons = (
            ("animated", getattr(image, "is_animated", False)),
            ("bit_depth", image.mode.startswith("I") or _depth(image, data, kind) > 8),
            ("cmyk", image.mode == "CMYK"),
            (f"format:{'lossy_webp' if kind == 'WEBP' and _is_lossy_webp(data) else kind.lower()}", True),
            ("orientation", orientation != 1),
        )
    return ImageInfo(kind, width, height, orientation, tuple(code for code, holds in reasons if holds))


def _is_lossy_webp(data: bytes) -> bool:
    """Return whether a WebP has one frame, and it is lossy ("VP8 ") and not lossless ("VP8L")."""
    return any(kind == b"VP8 " for kind, _ in webp_chunks(data))  # frames of an animation are inside chunks "ANMF"


def _orientation(image: "ImageFile") -> int:
    """Return the orientation that Pillow's exif_transpose would use; 1 if the metadata is damaged."""
    try:
        return valid_orientation(image.getexif().get(0x0112))
    except Exception:  # noqa: BLE001 -- damaged metadata raises any error, but the pixels may be good
        return 1


def _depth(image: "ImageFile", data: bytes, kind: str) -> int:
    """Return the bits per channel of a TIFF, a HEIF, a JPEG 2000 or a PPM, of which Pillow gives 8; else 8."""
    if kind == "TIFF":
        depths = image.tag_v2.get(_BITS_PER_SAMPLE, 8)  # type: ignore[attr-defined]
        return int(max(depths)) if isinstance(depths, tuple) else int(depths)
    if kind == "PPM":
        args: Any = image.tile[0].args  # of formats with less than a byte a sample only the raw mode
        return 16 if isinstance(args, tuple) and args[1] > _MOST_OF_A_BYTE else 8
    if kind == "HEIF":
        return int(image.info.get("bit_depth", 8))
    if kind == "JPEG2000" and (start := data.find(_J2K_START)) >= 0:
        return (data[start + _J2K_DEPTH] & 0x7F) + 1
    return 8


def _refuse_bands(data: bytes) -> None:
    """Refuse a TIFF with bands other than grey or colours and alpha (TIFF 6.0, ExtraSamples).

    Pillow takes a fourth band without a meaning, such as near infrared, for alpha or leaves it out; of one that is
    called associated alpha, it divides the colours by it.

    Raises:
        BadImage: "unsupported_format"; the sentence names the bands.
    """
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    silence_pillow()
    with decoding("TIFF", data):
        file = io.BytesIO(data)
        header = file.read(8)
        header += file.read(8) if header[2] == _BIG_TIFF or header[3] == _BIG_TIFF else b""
        tags = ImageFileDirectory_v2(header)
        file.seek(tags.next)
        tags.load(file)
        colours = _COLOURS.get(tags.get(_PHOTOMETRIC, -1))
        num_bands, extra = int(tags.get(_SAMPLES_PER_PIXEL, 1)), tuple(tags.get(_EXTRA_SAMPLES, ()))
    if colours is None or num_bands <= len(colours) or (len(colours) + 1 == num_bands and extra in _ALPHA):
        return
    meanings = Counter(
        _MEANINGS.get(one, "of no meaning") for one in [*extra, *[None] * num_bands][: num_bands - len(colours)]
    )
    bands = [*colours, *(f"{number} {one}" for one, number in meanings.items())]
    raise BadImage(
        UNSUPPORTED_FORMAT,
        f"The TIFF has {num_bands} bands ({', '.join(bands)}), and an image has three and alpha; write those that you "
        "need as a TIFF of three bands (`gdal_translate -b 1 -b 2 -b 3 FILE RGB.tif`).",
    )
