"""Draw boxes and masks on a picture, and save it.

Pillow's own font has ASCII and little else, and draws a box for each other character: names of classes in German or
Russian would be unreadable. So the fonts of the system and of matplotlib are tried.
"""

import colorsys
import contextlib
import functools
import importlib.util
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardkit.errors import CallError
from shardkit.storage.open_files import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont


Colour = tuple[int, int, int]  # red, green, blue, 0 to 255
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
_MASK_OPACITY = 0.55
_UNDRAWN = (0, 255)  # of masks: the background, and the usual value of pixels without a class (VOC, Cityscapes)
_GOLDEN_ANGLE = 0.38196601125  # of a full turn: hues of consecutive labels are far apart
_MIN_BOX_LINE = 2  # pixels
_LINE_SHARE = 1 / 150  # of the longer side
_MIN_TEXT, _TEXT_SHARE = 10, 1 / 22  # pixels, and of the longer side
# Pillow looks for them in the system's folders.
_FILES = ("DejaVuSans.ttf", "Arial Unicode.ttf", "NotoSansCJK-Regular.ttc", "arial.ttf")
_UNASSIGNED = "\uffff"  # no character: drawn as the font draws what it does not have


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
        drawn = list(self.labels) if self.mask is None else list(self.shares)
        return {self.name(label): class_colour(label) for label in drawn}

    @property
    def shares(self) -> dict[int, float]:
        """The share of the mask's pixels that each class has that is drawn."""
        values, counts = np.unique([] if self.mask is None else self.mask, return_counts=True)
        return {
            int(value): int(count) / int(counts.sum())
            for value, count in zip(values, counts, strict=True)
            if value not in _UNDRAWN
        }

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

    overlay = mask_picture(mask, picture.size)
    opacity = overlay.getchannel("A").point([0] * 255 + [round(_MASK_OPACITY * 255)])
    return Image.composite(overlay.convert("RGB"), picture, opacity)


def mask_picture(mask: npt.NDArray[np.int32], size: tuple[int, int]) -> "Image":
    """Return a mask as RGBA in the colours of its classes, transparent where nothing is drawn; size: width, height."""
    from PIL import Image

    # The nearest value: a class number between two others would be another class.
    width, height = size
    rows = np.arange(height) * mask.shape[0] // height
    columns = np.arange(width) * mask.shape[1] // width
    small = mask[np.ix_(rows, columns)]
    values, inverse = np.unique(small, return_inverse=True)
    colours = [(*class_colour(int(value)), 255 * (value not in _UNDRAWN)) for value in values]
    return Image.fromarray(np.array(colours, np.uint8)[inverse].reshape(height, width, 4))


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


def lettering(text: str, size: int) -> "tuple[str, Font]":
    """Return a text as it can be drawn, and the font to draw it with.

    If no font has all characters, the one with the fewest missing is taken, and letters with accents that it does not
    have lose their accents.

    Args:
        text: The text.
        size: Size of the font in pixels.
    """
    unusual = frozenset(char for char in text if not char.isascii())
    font = min(_fonts(size), key=lambda one: len(_missing(one, unusual))) if unusual else _own(size)
    missing = _missing(font, unusual)
    return "".join(_plain(char) if char in missing else char for char in text), font


@functools.lru_cache(maxsize=32)
def _own(size: int) -> "Font":
    from PIL import ImageFont

    return ImageFont.load_default(size)


@functools.lru_cache(maxsize=32)
def _fonts(size: int) -> "tuple[Font, ...]":
    """Return all fonts, Pillow's own first."""
    from PIL import ImageFont

    def found() -> "Iterator[Font]":
        for name in (*_FILES, *_of_matplotlib()):
            with contextlib.suppress(OSError):  # not there
                yield ImageFont.truetype(name, size)

    return _own(size), *found()


def _of_matplotlib() -> list[str]:
    """Return the font that matplotlib ships, without importing it."""
    spec = importlib.util.find_spec("matplotlib")
    folders = (spec.submodule_search_locations if spec else None) or []
    return [str(Path(folder, "mpl-data", "fonts", "ttf", "DejaVuSans.ttf")) for folder in folders]


def _missing(font: "Font", chars: frozenset[str]) -> frozenset[str]:
    """Return the characters that a font does not have."""
    box = _drawn(font, _UNASSIGNED)
    return frozenset(char for char in chars if _drawn(font, char) == box)


def _drawn(font: "Font", char: str) -> bytes:
    return bytes(font.getmask(char))


def _plain(char: str) -> str:
    """Return a letter without its accents; other characters stay."""
    return "".join(part for part in unicodedata.normalize("NFKD", char) if not unicodedata.combining(part)) or char
