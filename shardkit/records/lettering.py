"""Choose a font that has the characters of a text.

Pillow's own font has ASCII and little else, and draws a box for each other character: names of classes in German or
Russian would be unreadable. So the fonts of the system and of matplotlib are tried.
"""

import contextlib
import functools
import importlib.util
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont

# Pillow looks for them in the system's folders.
_FILES = ("DejaVuSans.ttf", "Arial Unicode.ttf", "NotoSansCJK-Regular.ttc", "arial.ttf")
_UNASSIGNED = "\uffff"  # no character: drawn as the font draws what it does not have


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
