"""Find what an image loses when it is stored with 8 bits a channel as one picture, and what decoders to RGB ignore."""

import contextlib
import struct
from typing import TYPE_CHECKING

from shardkit.images.info import BadImage, ImageInfo, Traits
from shardkit.images.pillow import decoding, open_image
from shardkit.images.profiles import other_profile
from shardkit.naming import counted
from shardkit.reject_reasons import NARROW_BIT_DEPTH

if TYPE_CHECKING:
    from PIL.Image import Image

_BIG_TIFF = 43
_MAX_PAGES = 100_000  # also where pages form a circle
FEW_LEVELS = 32  # of 256: a picture with as few shows steps, or is black


def traits_of(data: bytes, info: ImageInfo, image: "Image") -> Traits:
    """Return the traits of an image.

    Args:
        data: The whole file.
        info: Its header.
        image: The decoded image.

    Raises:
        BadImage: A frame or a colour is damaged.
    """
    low, high = _sample_range(data, info, image) or (None, None)
    with decoding(info.format, data):
        frames = _num_frames(data, info) if "animated" in info.changes else 1
        return Traits(
            low=low,
            high=high,
            num_frames=frames if frames > 1 else None,
            profile=other_profile(image.info.get("icc_profile")),
            is_transparent=is_transparent(image) or None,
        )


def _num_frames(data: bytes, info: ImageInfo) -> int:
    """Return the number of frames or pages; of a TIFF at most _MAX_PAGES.

    Pillow would need minutes for a TIFF of many empty pages: it searches each offset among all before it.
    """
    if info.format != "TIFF":
        return int(getattr(open_image(data, info.format), "n_frames", 1))
    order = "<" if data.startswith(b"II") else ">"
    is_big = _BIG_TIFF in data[2:4]
    start, count, offset, entry = (8, "Q", "Q", 20) if is_big else (4, "H", "I", 12)
    pages = 0
    with contextlib.suppress(struct.error):  # the first page is good, whatever follows
        (at,) = struct.unpack_from(order + offset, data, start)
        while at and pages < _MAX_PAGES:
            (num_entries,) = struct.unpack_from(order + count, data, at)
            pages += 1
            (at,) = struct.unpack_from(order + offset, data, at + struct.calcsize("=" + count) + num_entries * entry)
    return pages


def refuse_few_levels(data: bytes, info: ImageInfo) -> None:
    """Refuse an image with 16 bits a channel of which the high 8 are nearly equal.

    Raises:
        BadImage: "narrow_bit_depth"; others as ``check``.
    """
    if "bit_depth" not in info.changes:
        return
    image = open_image(data, info.format)
    with decoding(info.format, data):
        image.load()
    found = _sample_range(data, info, image)
    if found is not None and (levels := (found[1] >> 8) - (found[0] >> 8) + 1) <= FEW_LEVELS:
        raise BadImage(
            NARROW_BIT_DEPTH,
            f"The {info.format} has 16 bits a channel and samples of {found[0]} to {found[1]}: the high 8 bits would "
            f"keep {counted(levels, 'level')} of 256; set `bit_depth`, or measure all images with `check=decode`.",
        )


def _sample_range(data: bytes, info: ImageInfo, image: "Image") -> tuple[int, int] | None:
    """Return the range of the samples of a decoded image with 16 bits a channel; None if it is none or not known."""
    if "bit_depth" not in info.changes:
        return None
    from shardkit.images.depth import samples_of, used_range  # here, because it loads NumPy

    with decoding(info.format, data):
        samples = samples_of(image, data, info.format)
        return None if samples is None else used_range(samples)


def is_transparent(image: "Image") -> bool:
    """Return whether a pixel of a decoded image is not opaque."""
    if "A" not in image.mode:
        if image.mode not in {"P", "L", "RGB"} or "transparency" not in image.info:
            return False
        image = image.convert("LA" if image.mode == "L" else "RGBA")
    histogram = image.getchannel("A").histogram()
    return any(histogram[:255])
