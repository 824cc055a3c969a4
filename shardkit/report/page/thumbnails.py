"""Pictures as data URIs, as large as the space of the page allows."""

import base64
import io
import math
from typing import TYPE_CHECKING

from shardkit.report.collection import Picture
from shardkit.report.page.parts import Thumbnail, cut

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PICTURE_BYTES = 3 << 20  # 3 MiB of data URIs, of the page's 5 MB
SMALLEST_SIDE, LARGEST_SIDE = 176, 640  # pixels of the longer side of an embedded picture
_BYTES_PER_PIXEL = 0.25  # of a photograph's data URI, measured at 200 to 500 pixels a side
_QUALITY = 72
_MESSAGE_LENGTH = 400


class Thumbnails:
    """Makes pictures until their total size is used up. The page shows them small, and larger when they are clicked.

    Attributes:
        num_left_out: Number of pictures that were left out for want of space.
        num_unreadable: Number of examples that could not be read.
    """

    def __init__(self, max_bytes: int = MAX_PICTURE_BYTES) -> None:
        self._left = max_bytes
        self.num_left_out = self.num_unreadable = 0

    def side_for(self, num_pictures: int, share: float = 1.0) -> int:
        """Return the longer side, in pixels, of pictures that fit into the space that is left.

        Args:
            num_pictures: Number of the pictures.
            share: Share of the space that they may take.
        """
        of_one = self._left * share / max(1, num_pictures)
        return max(SMALLEST_SIDE, min(LARGEST_SIDE, round(math.sqrt(of_one / _BYTES_PER_PIXEL))))

    def of_example(self, picture: Picture, caption: str = "") -> Thumbnail:
        """Return the picture of an example.

        Args:
            picture: The example.
            caption: The line below it; '' for the split and the name of the file.
        """
        width, height = picture.size
        size = f"{width} x {height}" if width else ""
        key, labels = cut(picture.key), cut(picture.labels)
        details = " · ".join(part for part in (labels, picture.split, size) if part)
        caption = cut(caption) or f"{picture.split} · {cut(picture.key.rpartition('/')[2])}"
        if picture.problem:
            self.num_unreadable += 1
            return Thumbnail("", "", 0, 0, key, caption, f"{details} · {cut(picture.problem, _MESSAGE_LENGTH)}")
        return self._of(picture.image, f"{labels}: {key}" if labels else key, key, caption, details)

    def of_file(self, image: "Image | None", key: str, details: str) -> Thumbnail:
        """Return the picture of a file; without one if it does not open."""
        return self._of(image, key, key, key.rpartition("/")[2], details)

    def _of(self, image: "Image | None", alt: str, key: str, caption: str, details: str) -> Thumbnail:
        src = "" if image is None else data_uri(image)
        if image is None or len(src) > self._left:
            self.num_left_out += bool(src)
            return Thumbnail("", "", 0, 0, key, caption, details)
        self._left -= len(src)
        return Thumbnail(src, alt, *image.size, key, caption, details)


def data_uri(image: "Image") -> str:
    """Return a picture as a data URI."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "WEBP", quality=_QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"
