"""HTML fragments of examples for notebooks: thumbnails with boxes and mask, and tables of features.

Fragments have no scripts and no links, and all texts are escaped.
"""

import base64
import html
import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from shardkit.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from PIL.Image import Image

_THUMBNAIL, _SMALL_THUMBNAIL = 256, 128  # pixels
_EXAMPLES_SHOWN = 6
_VALUES_SHOWN = 8
_TEXT_SHOWN = 200  # characters


def table(values: Mapping[str, object]) -> str:
    """Return a table of features and their values, without the encoded image."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(described(value))}</td></tr>"
        for name, value in values.items()
        if name != "image"
    )
    return f"<table>{rows}</table>"


def thumbnail(key: str, draw: "Callable[[int], Image]", side: int = _THUMBNAIL) -> str:
    """Return an image element; the reason in words if the picture cannot be shown.

    Args:
        key: The example's key.
        draw: Draws the picture of at most so many pixels a side.
        side: Pixels of the longer side.
    """
    out = io.BytesIO()
    try:
        draw(side).save(out, "JPEG", quality=85)
    except (DataError, MissingExtraError) as error:
        return f"<div>{html.escape(str(error))}</div>"
    alt = html.escape(f"picture of {key}", quote=True)
    return f"<img alt='{alt}' src='data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}'>"


def figure(key: str, draw: "Callable[[int], Image]", caption: str) -> str:
    """Return a small picture and its caption, or its key if the caption is empty."""
    return f"{thumbnail(key, draw, _SMALL_THUMBNAIL)}<figcaption>{html.escape(caption or key)}</figcaption>"


def figures(title: str, num_examples: int, figure_of: Callable[[int], str]) -> str:
    """Return the first examples of a sequence below a title; the reason in words for a damaged one.

    Args:
        title: Description of the sequence.
        num_examples: Length of the sequence.
        figure_of: Returns the figure of the example with a number.
    """

    def shown(number: int) -> str:
        try:
            return figure_of(number)
        except DataError as error:
            return f"<div>{html.escape(str(error))}</div>"

    parts = map(shown, range(min(num_examples, _EXAMPLES_SHOWN)))
    boxes = "".join(f"<figure style='display:inline-block;margin:4px'>{part}</figure>" for part in parts)
    return f"<div>{html.escape(title)}</div>{boxes}"


def described(value: object) -> str:
    """Return a short text of a feature's value: bytes by their number, long arrays by their first values."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, np.ndarray):
        shown = np.array2string(value[:_VALUES_SHOWN], precision=4, separator=", ", suppress_small=True)
        more = f" … {len(value):,} in all" if len(value) > _VALUES_SHOWN else ""
        return f"{' '.join(shown.split())}{more}"
    text = str(value)
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}… {len(text):,} characters in all"
