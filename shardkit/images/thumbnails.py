"""Compare two images in pixels: a small grey picture of each tells whether one is a copy of the other.

A perceptual hash has a bit for each difference of two cells, so the form decides the bits of pages of text on one form.
The picture has `SIDE` x `SIDE` grey levels. Other text on a page changes some of them by more than another size,
quality or brightness does (tests/benchmarks/bench_near_duplicates.py); a word, or a line of a dense page, may not,
because a cell has several lines. A cropped image is no copy here: its cells show other places.
"""

from typing import TYPE_CHECKING

from shardkit.images.info import ImageInfo
from shardkit.images.pillow import decoding, open_image

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 32
# A JPEG is decoded to sides of at least so many pixels. With fewer, cells depend on where libjpeg's pixels begin.
_DECODED_SIDE = 4 * SIDE
# The greatest difference of a cell between copies, in standard deviations of the cells. Copies of photographs and pages
# differ by 0.64 at most, and different pages on one form by 1.75 at least.
_MOST_DIFFERENT = 0.9


def thumbnail(data: bytes, info: ImageInfo) -> bytes:
    """Return the grey levels of an image's cells, upright, row by row.

    Args:
        data: The whole file.
        info: The result of ``check``.

    Raises:
        BadImage: "damaged" or "truncated" if decoding fails; never after ``check``.
    """
    from PIL.Image import Resampling

    from shardkit.images.normalising import transpose

    image: Image = open_image(data, info.format)
    with decoding(info.format, data):
        drafted = image.draft("L", (_DECODED_SIDE, _DECODED_SIDE))
        # A reduced picture rounds its sides up; the box is the part that the original fills.
        box = drafted[1] if drafted else None
        cells = image.convert("L").resize((SIDE, SIDE), Resampling.BILINEAR, box=box)
        return transpose(cells, 1 if info.format == "TIFF" else info.orientation).tobytes()


def are_copies(one: bytes, other: bytes) -> bool:
    """Return whether two thumbnails are of the same picture, in any size, quality or brightness.

    The grey levels of one are given to the cells of the other by rank, which takes back what a change of brightness or
    contrast did; also at white, where it is cut off.
    """
    import numpy as np

    cells, others = (np.frombuffer(picture, np.uint8).astype(np.int16) for picture in (one, other))
    expected = np.empty_like(others)
    expected[np.argsort(cells, kind="stable")] = np.sort(others)
    return bool(np.abs(others - expected).max() <= _MOST_DIFFERENT * others.std())
