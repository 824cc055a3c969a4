"""Draw boxes and masks on a picture, and save it."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.records.lettering import lettering
from shardkit.storage.open_files import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
_MASK_OPACITY = 0.55
_UNDRAWN = (0, 255)  # of masks: the background, and the usual value of pixels without a class (VOC, Cityscapes)
_GOLDEN_ANGLE = 0.38196601125  # of a full turn: hues of consecutive labels are far apart
_MIN_BOX_LINE = 2  # pixels
_LINE_SHARE = 1 / 150  # of the longer side
_MIN_TEXT, _TEXT_SHARE = 10, 1 / 22  # pixels, and of the longer side


def class_colour(label: int) -> Colour:
    """Return the colour of a class, the same in every picture."""
    red, green, blue = colorsys.hsv_to_rgb((0.02 + label * _GOLDEN_ANGLE) % 1, 0.85, 1 if label % 2 else 0.9)
    return int(red * 255), int(green * 255), int(blue * 255)


@dataclass(frozen=True, slots=True)
class Annotations:
    """What is drawn on a picture.

    Attributes:
        classes: Class names in label order.
        boxes: float32[n, 4], (ymin, xmin, ymax, xmax) as fractions of height and width; None for none.
        labels: Label of each box; [] if boxes have no classes.
        mask: int32[height, width], class number of each pixel; None for none. Its size may differ.
    """

    classes: Sequence[str]
    boxes: npt.NDArray[np.float32] | None = None
    labels: Sequence[int] = ()
    mask: npt.NDArray[np.int32] | None = None

    @property
    def colours(self) -> dict[str, Colour]:
        """The classes that are drawn, with their colours."""
        drawn = list(self.labels)
        if self.mask is not None:
            drawn = [int(value) for value in np.unique(self.mask) if value not in _UNDRAWN]
        return {self.name(label): class_colour(label) for label in drawn}

    def name(self, label: int) -> str:
        """Return the name of a class; its number if it has none."""
        return self.classes[label] if 0 <= label < len(self.classes) else str(label)


def draw(picture: "Image", annotations: Annotations, side: int) -> "Image":
    """Return a picture as RGB with its mask and boxes, at most `side` pixels a side.

    Pictures below half of that are enlarged by a whole factor, so that single pixels of icons and masks can be seen.
    Boxes carry the name of their class if they have classes.
    """
    from PIL.Image import Resampling

    picture = picture.convert("RGB")
    picture.thumbnail((side, side))
    if (factor := side // max(picture.size)) > 1:
        picture = picture.resize((picture.width * factor, picture.height * factor), Resampling.NEAREST)
    if annotations.mask is not None:
        picture = _with_mask(picture, annotations.mask)
    if annotations.boxes is not None:
        _draw_boxes(picture, annotations, annotations.boxes)
    return picture


def _with_mask(picture: "Image", mask: npt.NDArray[np.int32]) -> "Image":
    from PIL import Image

    # The nearest value: a class number between two others would be another class.
    width, height = picture.size
    rows = np.arange(height) * mask.shape[0] // height
    columns = np.arange(width) * mask.shape[1] // width
    small = mask[np.ix_(rows, columns)]
    values, inverse = np.unique(small, return_inverse=True)
    colours = np.array([class_colour(int(value)) for value in values], np.float32)[inverse].reshape(*small.shape, 3)
    opacity = ~np.isin(small, _UNDRAWN)[..., None] * _MASK_OPACITY
    pixels = np.asarray(picture, np.float32) * (1 - opacity) + colours * opacity
    return Image.fromarray(pixels.astype(np.uint8))


def _draw_boxes(picture: "Image", annotations: Annotations, boxes: npt.NDArray[np.float32]) -> None:
    from PIL import ImageDraw

    width, height = picture.size
    line = max(_MIN_BOX_LINE, round(max(picture.size) * _LINE_SHARE))
    size = max(_MIN_TEXT, round(max(picture.size) * _TEXT_SHARE))
    draw = ImageDraw.Draw(picture)
    labels = annotations.labels
    # Large boxes first, so that the captions of small ones stay readable.
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for number in np.argsort(-areas, kind="stable"):
        ymin, xmin, ymax, xmax = (float(side) for side in boxes[number])
        left, top = xmin * width, ymin * height
        right, bottom = max(left, xmax * width - 1), max(top, ymax * height - 1)
        colour = class_colour(labels[number] if labels else 0)
        draw.rectangle((left, top, right, bottom), outline=colour, width=line)
        if labels:
            name, font = lettering(annotations.name(labels[number]), size)
            _, _, text_right, text_bottom = draw.textbbox((0, 0), name, font=font)
            x = min(left, max(0, width - text_right - 2 * line))
            # Above the box; below it at the upper edge of the picture.
            y = top - text_bottom - line if top - text_bottom - line >= 0 else bottom
            draw.rectangle((x, y, x + text_right + 2 * line, y + text_bottom + line), fill=colour)
            draw.text((x + line, y), name, fill=_readable_on(colour), font=font)


def _readable_on(colour: Colour) -> str:
    red, green, blue = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 110 else "white"  # ITU-R BT.601 luma


def save_picture(picture: "Image", path: Path) -> None:
    """Write a picture in the format of the file's ending, under a temporary name until it is whole.

    Raises:
        CallError: The ending is not that of a picture.
        MachineError: The file cannot be written.
    """
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise CallError(f"{path}: pictures are written as {', '.join(_FORMATS)}; name a file with one of these endings")
    with whole_file(path, "the picture") as temporary:
        picture.save(temporary, kind)
