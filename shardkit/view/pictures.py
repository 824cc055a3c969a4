"""Pictures with and without boxes and masks, of which the latest are kept; and those of rejected files."""

import io
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from shardkit.errors import DataError
from shardkit.records.drawing import Annotations, class_colour, draw, mask_picture
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
        self._kept: OrderedDict[tuple[int, int, bool], bytes] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    def jpeg(self, number: int, side: int, *, is_bare: bool) -> bytes:
        """Return the picture of an example, at most `side` pixels a side.

        Args:
            number: The example.
            side: Pixels.
            is_bare: Whether boxes and masks are left out.

        Raises:
            DataError: The record is damaged, or its image does not decode.
            MachineError: The shard cannot be read.
        """
        asked = number, side, is_bare
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                return self._kept[asked]
        example = self._rows.example(number)
        picture = _jpeg(draw(example.image(side), Annotations(()), side) if is_bare else example.drawn(side))
        with self._lock:
            self._num_bytes += len(picture) - len(self._kept.get(asked, b""))
            self._kept[asked] = picture
            while self._num_bytes > _KEPT_BYTES:
                self._num_bytes -= len(self._kept.popitem(last=False)[1])
        return picture

    def mask_png(self, number: int, side: int) -> bytes:
        """Return the mask of an example in the colours of its classes, at most `side` pixels a side.

        Raises:
            CallError: The dataset has no masks.
            DataError: The record is damaged, or its mask does not decode.
            MachineError: The shard cannot be read.
        """
        mask = self._rows.example(number).mask()
        height, width = mask.shape
        scale = min(1, side / max(mask.shape))
        out = io.BytesIO()
        mask_picture(mask, (max(1, round(width * scale)), max(1, round(height * scale)))).save(out, "PNG")
        return out.getvalue()


def described_annotations(annotations: Annotations) -> dict[str, Any]:
    """Return the boxes and the classes of the mask with their colours, as the page shows them in tables."""
    boxes: list[list[float]] = [] if annotations.boxes is None else annotations.boxes.tolist()
    labels = annotations.labels or [0] * len(boxes)
    return {
        "has_labels": bool(annotations.labels),
        "boxes": [
            {"class": annotations.name(label), "colour": class_colour(label), "sides": sides}
            for label, sides in zip(labels, boxes, strict=True)
        ],
        "mask": [
            {"name": annotations.name(label), "colour": class_colour(label), "share": share}
            for label, share in annotations.shares.items()
        ],
    }


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
