"""A hash of what an image looks like: copies in other sizes, formats and qualities have nearly the same bits.

The hash is dHash in both directions: whether each of 8 x 8 cells is darker than the cell to its right, and whether it
is darker than the cell below it (Neal Krawetz, "Kind of Like That", The Hacker Factor Blog, 2013; in two directions by
Ben Hoyt, "Duplicate image detection with perceptual hashing in Python", 2017). The cells are bicubic samples, which
overlap: a crop moves them, and changes fewer bits than if each cell were the mean of its own pixels.
`tests/benchmarks/bench_near_duplicates.py` measures which copies keep nearly the same bits, and which different
photographs have them by chance. `similar` finds the images whose hashes are near.

Pillow reduces the picture in integers, and the bits compare integers: one version of Pillow gives the same hash on
every machine.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MIN_SIDE = 64  # pixels; smaller images are icons and digits, which look alike by nature
# Differences of grey levels among the cells; below it, noise decides the bits.
_MIN_CONTRAST = 12
# Pictures that are not decoded at a reduced scale are sampled to this side, which costs nothing next to decoding.
_SAMPLED_SIDE = 128
# Not of one bit: the dots that stand for grey are lost when they are sampled.
_GREY_MODES = frozenset({"CMYK", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "YCbCr"})
_CELLS = 8


def perceptual_hash(image: "Image", orientation: int) -> bytes | None:
    """Return the hash of a decoded image, which may be reduced; None if it is flat or has not 8 bits a channel.

    Args:
        image: The decoded pixels.
        orientation: EXIF orientation 1..8 of these pixels.
    """
    import numpy as np
    from PIL.Image import Resampling

    from shardkit.images.normalising import transpose

    if image.mode not in _GREY_MODES:
        return None
    if image.mode != "L":
        longer = max(image.size)
        if longer > _SAMPLED_SIDE:
            width, height = (max(_CELLS, side * _SAMPLED_SIDE // longer) for side in image.size)
            image = image.resize((width, height), Resampling.NEAREST)
        image = image.convert("L")
    if orientation != 1:
        image = transpose(image, orientation)
    cells = image.resize((_CELLS + 1, _CELLS + 1), Resampling.BICUBIC)
    darkest, lightest = cells.getextrema()
    if lightest - darkest < _MIN_CONTRAST:  # type: ignore[operator] # one channel: two numbers
        return None
    grey = np.frombuffer(cells.tobytes(), np.uint8).reshape(_CELLS + 1, _CELLS + 1)
    own = grey[:-1, :-1]
    return np.packbits((own < grey[:-1, 1:], own < grey[1:, :-1])).tobytes()
