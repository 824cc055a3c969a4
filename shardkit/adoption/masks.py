"""Check the masks of records that are adopted: the reader gets the numbers in them without a conversion."""

from shardkit import images
from shardkit.images.info import ImageInfo

_DEPTH, _COLOUR = 24, 25  # bytes of a PNG's IHDR: bits of a sample, and the kind of samples
_GREY = 0
_DEPTHS = {8, 16}


def mask_problem(data: bytes, info: ImageInfo) -> str | None:
    """Return why a mask cannot be adopted; None if it can. Only its header is read.

    TensorFlow replaces the numbers in a palette by colours, and scales those of fewer than 8 bits.

    Args:
        data: The encoded mask.
        info: The header of its image.
    """
    try:
        mask = images.inspect(data)
    except images.BadImage as error:
        return f"the mask: {error}"
    if mask.format != "PNG" or data[_COLOUR] != _GREY or data[_DEPTH] not in _DEPTHS:
        return f"the mask is a {mask.format}, and the reader gets numbers from grey PNGs of 8 or 16 bits; write it so"
    if (mask.width, mask.height) != (info.width, info.height):
        return f"the mask has {mask.width} x {mask.height} pixels, the image {info.width} x {info.height}"
    return None
