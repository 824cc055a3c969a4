"""Convert an image to the form that every TensorFlow decoder reads: upright JPEG or PNG with 8 bits per channel."""

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardkit.errors import CallError
from shardkit.images.info import ImageInfo
from shardkit.images.pillow import decoding, open_image

if TYPE_CHECKING:
    from PIL.Image import Image

_RIFF_CHUNK = struct.Struct("<4sI")  # type, length of the payload
_CONVERTED = {
    "1": "L",
    "CMYK": "RGB",
    "La": "LA",
    "PA": "RGBA",
    "RGBX": "RGB",
    "RGBa": "RGBA",
    "YCbCr": "RGB",
}
# An image larger than its target size by more than this factor is first reduced by a whole factor: Pillow's documented
# compromise between speed and quality (Image.resize, reducing_gap).
_REDUCING_GAP = 2.0


@dataclass(frozen=True, slots=True)
class NormalisedImage:
    """An image as it is stored.

    Attributes:
        data: A JPEG or PNG file.
        width: Width in pixels, upright.
        height: Height in pixels, upright.
        changes: Sorted codes of ``CHANGES``; empty if ``data`` is the source's bytes.
    """

    data: bytes
    width: int
    height: int
    changes: tuple[str, ...]


def normalise(data: bytes, info: ImageInfo, *, shorter_side: int | None, quality: int) -> NormalisedImage:
    """Convert an image to its stored form; return its own bytes if nothing has to change.

    Otherwise the result is the first frame with 8 bits per channel, shrunk, upright and without metadata. JPEG, opaque
    HEIF (as phones make it, which is lossy) and lossy, opaque WebP become JPEG, everything else PNG. Equal input and
    versions of Pillow and its codecs give equal bytes.

    Args:
        data: The whole file.
        info: The result of ``inspect`` or ``check``.
        shorter_side: Shorter side in pixels to shrink to; smaller images keep their size. None: keep all sizes.
        quality: JPEG quality, 1..100.

    Raises:
        BadImage: "damaged" or "truncated" if decoding fails; never after ``check``.
        CallError: An option is out of range.
    """
    if (shorter_side is not None and shorter_side < 1) or not 1 <= quality <= 100:
        raise CallError(
            f"shorter_side must be at least 1 and quality 1..100, not {shorter_side} and {quality}; correct the call."
        )
    width, height = info.width, info.height
    shrink = shorter_side is not None and shorter_side < min(width, height)
    if not info.changes and not shrink:
        return NormalisedImage(data, width, height, ())
    image: Image = open_image(data, info.format)
    with decoding(info.format, data):
        if shrink and shorter_side is not None:
            # The plugin's size, not the header's, because the TIFF plugin turns pixels when it decodes.
            image = _shrink(image, _target_size(*image.size, shorter_side))
        else:
            image = _to_eight_bits(image, resample=False)
        if info.format != "TIFF":  # Pillow's TIFF plugin has already turned it.
            image = transpose(image, info.orientation)
        lossy = info.format == "JPEG" or (info.format == "HEIF" and image.mode in {"L", "RGB"})
        lossy = lossy or (info.format == "WEBP" and image.mode == "RGB" and _is_lossy_webp(data))
        encoded = _encode(image, "JPEG" if lossy else "PNG", quality)
    changes = tuple(sorted({*info.changes, "resized"})) if shrink else info.changes
    return NormalisedImage(encoded, *image.size, changes)


def _target_size(width: int, height: int, shorter_side: int) -> tuple[int, int]:
    """Return the size with the given shorter side; the longer side is rounded to whole pixels, halves up."""
    shorter = min(width, height)
    return (width * shorter_side * 2 + shorter) // (2 * shorter), (height * shorter_side * 2 + shorter) // (2 * shorter)


def _shrink(image: "Image", size: tuple[int, int]) -> "Image":
    """Resample to ``size`` (as stored, before orientation); a JPEG is decoded at a reduced scale first."""
    from PIL.Image import Resampling

    drafted = image.draft(None, size)
    # The reduced picture rounds its sides up; the box is the part that the original fills.
    box = drafted[1] if drafted else None
    return _to_eight_bits(image, resample=True).resize(size, Resampling.BICUBIC, box=box, reducing_gap=_REDUCING_GAP)


def _to_eight_bits(image: "Image", *, resample: bool) -> "Image":
    """Decode and convert to L, LA, RGB, RGBA or, unless it will be resampled, P; metadata is dropped."""
    image.load()
    mode = image.mode
    if mode.startswith("I"):
        image = _high_bytes(image)
    elif mode == "P":
        if image.has_transparency_data:
            image = image.convert("RGBA")
        elif resample:
            image = image.convert("RGB")
    elif mode in {"L", "RGB"} and "transparency" in image.info:  # one colour of a PNG means "transparent"
        image = image.convert(mode + "A")
    elif mode in _CONVERTED:
        image = image.convert(_CONVERTED[mode])
    image.info = {}
    return image


def _high_bytes(image: "Image") -> "Image":
    """Convert 16 bits to 8 as TensorFlow's decode_png does; Pillow 12.3 would clip at 255."""
    from PIL import Image

    if image.mode == "I":
        image = image.convert("I;16")
    samples = image.tobytes("raw", "I;16")  # little-endian
    return Image.frombytes("L", image.size, samples[1::2])


def transpose(image: "Image", orientation: int) -> "Image":
    """Turn the pixels upright."""
    from PIL.Image import Transpose

    # EXIF 2.3, 4.6.4 A; tests compare it with PIL.ImageOps.exif_transpose.
    method = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if method is None else image.transpose(method)


def _is_lossy_webp(data: bytes) -> bool:
    """Return whether a still WebP has a lossy frame ("VP8 ") and not a lossless one ("VP8L")."""
    position = 12  # RIFF, size, WEBP
    while position + 8 <= len(data):
        kind, length = _RIFF_CHUNK.unpack_from(data, position)
        if kind == b"VP8 ":
            return True
        position += 8 + length + length % 2
    return False


def _encode(image: "Image", kind: str, quality: int) -> bytes:
    """Encode a JPEG or PNG file without metadata."""
    buffer = io.BytesIO()
    if kind == "JPEG":
        image.save(buffer, "JPEG", quality=quality)
    else:
        image.save(buffer, "PNG")
    return buffer.getvalue()
