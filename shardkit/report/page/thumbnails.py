"""Pictures as data URIs, within a total size, so that a page stays small for any dataset."""

import base64
import io
from typing import TYPE_CHECKING

from shardkit.naming import printable
from shardkit.report.collection import Picture
from shardkit.report.page.parts import Thumbnail

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PICTURE_BYTES = 3 << 20  # 3 MiB of data URIs, of the page's 5 MB
_QUALITY = 72
_ZOOM = 1.6  # pixels of a picture to a CSS pixel: sharp on phones, and half the bytes of 2


class Thumbnails:
    """Makes thumbnails until their total size is used up.

    Attributes:
        num_left_out: Number of pictures without a thumbnail for want of space.
    """

    def __init__(self, max_bytes: int = MAX_PICTURE_BYTES) -> None:
        self._left = max_bytes
        self.num_left_out = 0

    def of_example(self, picture: Picture, *, with_labels: bool = True) -> Thumbnail:
        """Return the thumbnail of an example: its split and size, its labels if wanted, and its key."""
        name = printable(picture.key)
        width, height = picture.size
        title = picture.labels if with_labels and picture.labels else picture.split
        lines = [f"{picture.split} · {width} x {height}" if title != picture.split else f"{width} x {height}", name]
        if picture.problem:
            return Thumbnail("", "", 0, 0, title, [*lines, picture.problem])
        shown = f"{picture.labels}: {name}" if picture.labels else name
        return self._of(picture.image, shown, title, lines)

    def of_file(self, image: "Image | None", title: str, lines: list[str]) -> Thumbnail:
        """Return the thumbnail of a file; without a picture if it does not open."""
        return self._of(image, title, title, lines)

    def _of(self, image: "Image | None", alt: str, title: str, lines: list[str]) -> Thumbnail:
        if image is None:
            return Thumbnail("", "", 0, 0, title, lines)
        src = data_uri(image)
        if len(src) > self._left:
            self.num_left_out += 1
            return Thumbnail("", "", 0, 0, title, lines)
        self._left -= len(src)
        zoom = max(1.0, _ZOOM)
        return Thumbnail(src, alt, max(1, round(image.width / zoom)), max(1, round(image.height / zoom)), title, lines)


def data_uri(image: "Image") -> str:
    """Return a picture as a data URI."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "WEBP", quality=_QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"
