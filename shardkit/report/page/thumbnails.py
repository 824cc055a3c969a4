"""Pictures as data URIs, within a total size, so that a page stays small for any dataset."""

import base64
import io
from typing import TYPE_CHECKING

from shardkit.report.collection import Picture
from shardkit.report.page.parts import Thumbnail, cut

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PICTURE_BYTES = 5 << 19  # 2.5 MiB of data URIs, of the page's 5 MB
_QUALITY = 72
_ZOOM = 1.6  # pixels of a picture to a CSS pixel: sharp on phones, and half the bytes of 2


class Thumbnails:
    """Makes thumbnails until their total size is used up.

    Attributes:
        num_left_out: Number of pictures without a thumbnail for want of space.
        num_unreadable: Number of examples that could not be read.
    """

    def __init__(self, max_bytes: int = MAX_PICTURE_BYTES) -> None:
        self._left = max_bytes
        self.num_left_out = self.num_unreadable = 0

    def of_example(self, picture: Picture, *, with_labels: bool = True) -> Thumbnail:
        """Return the thumbnail of an example: its split and size, its labels if wanted, and its key."""
        name = cut(picture.key)
        width, height = picture.size
        title = cut(picture.labels) if with_labels else ""
        size = f" · {width} x {height}" if width else ""
        lines = [f"{picture.split}{size}", cut(picture.key.rpartition("/")[2])]
        if picture.problem:
            self.num_unreadable += 1
            return Thumbnail("", "", 0, 0, name, title, [*lines, cut(picture.problem, 400)])
        shown = f"{cut(picture.labels)}: {name}" if picture.labels else name
        return self._of(picture.image, shown, name, title, lines)

    def of_file(self, image: "Image | None", title: str, lines: list[str]) -> Thumbnail:
        """Return the thumbnail of a file; without a picture if it does not open."""
        return self._of(image, title, title, title.rpartition("/")[2], lines)

    def _of(self, image: "Image | None", alt: str, key: str, title: str, lines: list[str]) -> Thumbnail:
        src = "" if image is None else data_uri(image)
        if image is None or len(src) > self._left:
            self.num_left_out += bool(src)
            return Thumbnail("", "", 0, 0, key, title, lines)
        self._left -= len(src)
        width, height = (max(1, round(side / _ZOOM)) for side in image.size)
        return Thumbnail(src, alt, width, height, key, title, lines)


def data_uri(image: "Image") -> str:
    """Return a picture as a data URI."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "WEBP", quality=_QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"
