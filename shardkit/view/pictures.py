"""Pictures with boxes and masks as JPEG, of which the latest are kept; and those of rejected files."""

import io
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from shardkit.errors import DataError
from shardkit.records.rejected_pictures import opened_file
from shardkit.storage import Folder
from shardkit.view.rows import Rows

if TYPE_CHECKING:
    from PIL.Image import Image

SIDES = (256, 512, 1600)  # pixels of the longer side that the page asks for
_KEPT_BYTES = 64 << 20  # 64 MiB: some thousand thumbnails
_QUALITY = 85


class Pictures:
    """The pictures of a dataset. Safe for threads."""

    def __init__(self, rows: Rows) -> None:
        """Draw pictures of these examples; none is read yet."""
        self._rows = rows
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    def jpeg(self, number: int, side: int) -> bytes:
        """Return the picture of an example, at most `side` pixels a side.

        Raises:
            DataError: The record is damaged, or its image does not decode.
            MachineError: The shard cannot be read.
        """
        with self._lock:
            if (number, side) in self._kept:
                self._kept.move_to_end((number, side))
                return self._kept[number, side]
        picture = _jpeg(self._rows.example(number).drawn(side))
        with self._lock:
            self._num_bytes += len(picture) - len(self._kept.get((number, side), b""))
            self._kept[number, side] = picture
            while self._num_bytes > _KEPT_BYTES:
                self._num_bytes -= len(self._kept.popitem(last=False)[1])
        return picture


def rejected_jpeg(source: Folder, key: str, side: int) -> bytes:
    """Return the picture of a rejected file, at most `side` pixels a side.

    Args:
        source: The folder that the dataset was made from; nothing outside of it is read.
        key: The file's key.
        side: Pixels.

    Raises:
        DataError: The file does not open as an image.
    """
    image = opened_file(source, key, side)
    if image is None:
        raise DataError(f"{key}: the file does not open as an image")
    return _jpeg(image)


def _jpeg(image: "Image") -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
