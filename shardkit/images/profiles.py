"""Colour profiles (ICC.1:2022): find those that are not sRGB, and convert their colours to sRGB.

Decoders such as TensorFlow's take all colours as sRGB: those of a wide-gamut profile become pale.
"""

import functools
import io
import struct
from typing import TYPE_CHECKING

from shardkit.naming import printable

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageCms import ImageCmsTransform

_HEADER_BYTES = 128
_TAG = struct.Struct(">4sII")  # signature, offset, size
_MAX_TAGS = 128
_MAX_NAME = 60  # characters
# The colorants of sRGB, adapted to D50: x, y and z of red, green and blue.
_SRGB = {b"rXYZ": (0.4361, 0.2225, 0.0139), b"gXYZ": (0.3851, 0.7169, 0.0971), b"bXYZ": (0.1431, 0.0606, 0.7141)}
_TOLERANCE = 0.004  # of a colorant; those of Adobe RGB differ by 0.17, of Display P3 by 0.08
_MIDDLE = 0.2140  # linear light of the encoded value one half
_MIDDLE_TOLERANCE = 0.02  # a gamma of 2.2 has 0.218, of 1.8 0.287
_KNOWN_SPACES = {b"RGB ": "RGB", b"GRAY": "L", b"CMYK": "CMYK"}


@functools.lru_cache(maxsize=32)
def other_profile(profile: bytes | None) -> str | None:
    """Return the name of a colour profile that is not sRGB; None for sRGB, and for a damaged profile.

    Args:
        profile: The profile of a file; None if it has none.
    """
    if profile is None:
        return None
    try:
        tags = _tags(profile)
        name = _name(profile, tags) or "without a name"
        is_grey = profile[16:20] == b"GRAY"
        curve = _middle(profile, *tags[b"kTRC" if is_grey else b"rTRC"]) if b"A2B0" not in tags else None
        is_usual = curve is not None and abs(curve - _MIDDLE) <= _MIDDLE_TOLERANCE
        if is_usual and (is_grey or all(_is_colorant(profile, tags, one) for one in _SRGB)):
            return None
    except (struct.error, LookupError, ValueError, OverflowError):
        return None
    return None if "srgb" in name.lower() and profile[16:20] == b"RGB " else printable(name[:_MAX_NAME])


def _tags(profile: bytes) -> dict[bytes, tuple[int, int]]:
    (count,) = struct.unpack_from(">I", profile, _HEADER_BYTES)
    if profile[16:20] not in _KNOWN_SPACES or count > _MAX_TAGS:
        raise ValueError(count)
    found = (_TAG.unpack_from(profile, _HEADER_BYTES + 4 + _TAG.size * i) for i in range(count))
    return {name: (start, size) for name, start, size in found}


def _name(profile: bytes, tags: dict[bytes, tuple[int, int]]) -> str:
    start, size = tags[b"desc"]
    if profile[start : start + 4] == b"mluc":
        length, offset = struct.unpack_from(">II", profile, start + 20)
        return profile[start + offset : start + min(size, offset + length)].decode("utf-16-be", "replace").strip("\0 ")
    (length,) = struct.unpack_from(">I", profile, start + 8)
    return profile[start + 12 : start + 12 + length].decode("latin-1").strip("\0 ")


def _is_colorant(profile: bytes, tags: dict[bytes, tuple[int, int]], name: bytes) -> bool:
    found = struct.unpack_from(">iii", profile, tags[name][0] + 8)
    pairs = zip(found, _SRGB[name], strict=True)
    return all(abs(value / (1 << 16) - wanted) <= _TOLERANCE for value, wanted in pairs)


def _middle(profile: bytes, start: int, _: int) -> float:
    """Return the value of a tone curve at one half (ICC.1, 10.6 and 10.18)."""
    if profile[start : start + 4] == b"para":
        kind, *values = struct.unpack_from(">Hxxi", profile, start + 8)
        power = values[0] / (1 << 16)
        if kind == 0:
            return float(0.5**power)
        factor, offset = (one / (1 << 16) for one in struct.unpack_from(">ii", profile, start + 16))
        return float((factor * 0.5 + offset) ** power)
    (count,) = struct.unpack_from(">I", profile, start + 8)
    if count == 0:
        return 0.5
    if count == 1:
        return float(0.5 ** (struct.unpack_from(">H", profile, start + 12)[0] / 256))
    return float(struct.unpack_from(">H", profile, start + 12 + 2 * ((count - 1) // 2))[0] / 65535)


def to_srgb(image: "Image", profile: bytes) -> "Image":
    """Return an image with the colours of a profile converted to sRGB; the image itself if the profile is not of it.

    The colours are matched with black points, as browsers do.

    Args:
        image: An image of mode L, LA, RGB, RGBA or CMYK.
        profile: A profile that is not sRGB.
    """
    from PIL import Image, ImageCms

    if image.mode == "LA":
        return Image.merge("LA", (to_srgb(image.getchannel(0), profile), image.getchannel(1)))
    if _KNOWN_SPACES.get(profile[16:20]) != image.mode.removesuffix("A"):
        return image
    try:
        made = ImageCms.applyTransform(image, _transform(profile, image.mode))
    except (OSError, ImageCms.PyCMSError):  # damaged behind what `other_profile` reads
        return image
    return image if made is None else made.convert("L") if image.mode == "L" else made


@functools.lru_cache(maxsize=16)
def _transform(profile: bytes, mode: str) -> "ImageCmsTransform":
    """Return the transform of a profile to sRGB, which takes as long to make as to apply to a photograph."""
    from PIL import ImageCms

    return ImageCms.buildTransform(
        ImageCms.ImageCmsProfile(io.BytesIO(profile)),
        ImageCms.createProfile("sRGB"),
        mode,
        mode if mode == "RGBA" else "RGB",
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        # Without a cache of the last pixel, threads may share it.
        flags=ImageCms.Flags.BLACKPOINTCOMPENSATION | ImageCms.Flags.NOCACHE,
    )
