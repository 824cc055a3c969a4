"""Masks in colours, whose classes a file next to them names: the colours become class numbers."""

from typing import TYPE_CHECKING

from shardkit.images.info import BadImage
from shardkit.reject_reasons import BAD_MASK

if TYPE_CHECKING:
    from PIL.Image import Image

_DIGITS = 6  # of a colour
_OPAQUE = 255
_PIXELS_AT_ONCE = 1 << 20  # each takes about 30 bytes


def is_in_colours(mode: str, colours: str) -> bool:
    """Return whether the pixels of a mask are colours and not class numbers.

    Args:
        mode: Pillow's mode of the mask.
        colours: The colours of the classes, six hexadecimal digits each.

    Returns:
        Whether the mask has colours. A gray one has if all classes are gray, as in masks of 0 and 255.
    """
    if mode in {"P", "RGB", "RGBA", "LA"}:
        return True
    grays = (colours[at : at + 2] * 3 == colours[at : at + _DIGITS] for at in range(0, len(colours), _DIGITS))
    return mode in {"1", "L"} and all(grays)


def numbers_of_colours(image: "Image", colours: str) -> "Image":
    """Return the class numbers of a mask in colours, as mode "L".

    Args:
        image: The mask.
        colours: The colours of the classes by number, six hexadecimal digits each; at most 256.

    Raises:
        BadImage: "bad_mask": a pixel is translucent, or has the colour of no class.
    """
    import numpy as np
    from PIL import Image

    known = np.array([int(colours[at : at + _DIGITS], 16) for at in range(0, len(colours), _DIGITS)], np.uint32)
    order = np.argsort(known)
    numbers = np.empty((image.height, image.width), np.uint8)
    num_rows = max(1, _PIXELS_AT_ONCE // image.width)
    for top in range(0, image.height, num_rows):
        bottom = min(top + num_rows, image.height)
        rgba = np.asarray(image.crop((0, top, image.width, bottom)).convert("RGBA")).astype(np.uint32)
        if (rgba[..., 3] != _OPAQUE).any():
            raise BadImage(
                BAD_MASK, "The mask is translucent, so its colours are not those of classes; save it opaque."
            )
        packed = rgba[..., 0] << 16 | rgba[..., 1] << 8 | rgba[..., 2]
        found = order[np.minimum(np.searchsorted(known[order], packed), len(known) - 1)]
        if len(unknown := np.argwhere(known[found] != packed)):
            y, x = unknown[0].tolist()
            red, green, blue = rgba[y, x, :3].tolist()
            msg = (
                f"The mask has the colour {red} {green} {blue} at ({x}, {top + y}), which belongs to no class; "
                "add the colour to the file of colours, or correct the mask."
            )
            raise BadImage(BAD_MASK, msg)
        numbers[top:bottom] = found
    return Image.fromarray(numbers)
