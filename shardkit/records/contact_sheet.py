"""A contact sheet: many pictures in one, each with a caption."""

import bisect
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardkit.naming import printable
from shardkit.records.drawing import Colour, draw, lettering
from shardkit.records.example import Example

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

    from shardkit.records.drawing import Font

TILE = 192  # pixels: the longer side of a picture
_GAP, _TEXT, _CAPTION_LINES = 12, 13, 2
_DARKER = 0.7  # colours as text on the paper: contrast
BLACK: Colour = (0, 0, 0)  # of words without a colour; drawn in the ink of the sheet
_PAPER, _INK, _FAINT = (250, 250, 248), (32, 33, 36), (110, 112, 116)


class Tile(NamedTuple):
    """A picture and the two lines below it; the first has words in colours."""

    picture: "Image"
    title: list[tuple[str, Colour]]
    subtitle: str


def tile_of(example: Example) -> Tile:
    """Return the tile of an example: its classes above its key."""
    annotations = example.annotations()
    words = example.label_names or [f"{value:.6g}" for value in example.targets]
    title = [*annotations.colours.items()] or [(word, BLACK) for word in dict.fromkeys(words)]
    return Tile(draw(example.image(), annotations, TILE), title, example.key)


def contact_sheet(tiles: Iterable[Tile], heading: str) -> "Image":
    """Arrange tiles in rows, in reading order, on a sheet that is about as wide as high.

    Args:
        tiles: At least one tile.
        heading: The line at the top.
    """
    from PIL import Image, ImageDraw

    tiles = [*tiles]
    num_columns = min(len(tiles), max(3, math.ceil(math.sqrt(len(tiles)))))
    rows = [tiles[at : at + num_columns] for at in range(0, len(tiles), num_columns)]
    caption = _CAPTION_LINES * (_TEXT + 5)
    heights = [max(tile.picture.height for tile in row) for row in rows]  # panoramas leave no empty space
    top = _GAP * 2 + _TEXT + 8
    width = _GAP + num_columns * (TILE + _GAP)
    sheet = Image.new("RGB", (width, top + sum(heights) + len(rows) * (caption + _GAP)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    text, font = _shortened(heading, width - 2 * _GAP, _TEXT + 4)
    draw.text((_GAP, _GAP), text, fill=_INK, font=font)
    y = top
    for row, height in zip(rows, heights, strict=True):
        for column, tile in enumerate(row):
            x = _GAP + column * (TILE + _GAP)
            left = x + (TILE - tile.picture.width) // 2
            sheet.paste(tile.picture, (left, y + height - tile.picture.height))
            _draw_title(draw, (x, y + height + 5), tile.title)
            line = y + height + 5 + _TEXT + 4
            text, font = _shortened(tile.subtitle, TILE, _TEXT, keep_end=True)
            draw.text((x, line), text, fill=_FAINT, font=font)
        y += height + caption + _GAP
    return sheet


def _draw_title(draw: "ImageDraw", at: tuple[int, int], words: Sequence[tuple[str, Colour]]) -> None:
    x, y = at
    end = x + TILE
    for number, (word, colour) in enumerate(words):
        text = word if number == len(words) - 1 else f"{word},"
        dark = tuple(int(part * _DARKER) for part in colour) if any(colour) else _INK
        text, font = _shortened(text, end - x, _TEXT)
        draw.text((x, y), text, fill=dark, font=font)
        x += int(font.getlength(f"{text} "))
        if x >= end - font.getlength("…"):
            return


def _shortened(text: str, width: float, size: int, *, keep_end: bool = False) -> "tuple[str, Font]":
    """Return as much of a text as fits, and its font; of keys, the end says more than the beginning."""
    text, font = lettering(printable(text), size)
    if font.getlength(text) <= width:
        return text, font

    def part(length: int) -> str:
        return f"…{text[len(text) - length :]}" if keep_end else f"{text[:length]}…"

    fitting = bisect.bisect_right(range(len(text)), width, key=lambda length: font.getlength(part(length)))
    return part(max(0, fitting - 1)), font
