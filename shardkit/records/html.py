"""Show an example in a notebook: a thumbnail with boxes and mask, and its features."""

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np

from shardkit.errors import DataError, MissingExtraError
from shardkit.records.drawing import annotations_of, draw
from shardkit.records.example import Example

if TYPE_CHECKING:
    from shardkit.records.sequence import Examples

_THUMBNAIL, _SMALL_THUMBNAIL = 256, 128  # pixels
_EXAMPLES_SHOWN = 6
_VALUES_SHOWN = 8
_TEXT_SHOWN = 200  # characters


def example_html(example: Example) -> str:
    """Return an HTML fragment without scripts or links; all texts are escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(described(value))}</td></tr>"
        for name, value in {"classes": ", ".join(dict.fromkeys(example.label_names)) or "none", **example}.items()
        if name != "image"
    )
    return f"{_thumbnail(example, _THUMBNAIL)}<table>{rows}</table>"


def examples_html(examples: "Examples") -> str:
    """Return an HTML fragment with the first examples of a sequence; see `example_html`."""
    figures = "".join(_figure(examples, number) for number in range(min(len(examples), _EXAMPLES_SHOWN)))
    return f"<div>{html.escape(repr(examples))}</div>{figures}"


def _figure(examples: "Examples", number: int) -> str:
    """Return a figure of one example; the reason in words if its record is damaged."""
    try:
        example = examples[number]
        caption = html.escape(", ".join(dict.fromkeys(example.label_names)) or example.key)
        shown = f"{_thumbnail(example, _SMALL_THUMBNAIL)}<figcaption>{caption}</figcaption>"
    except DataError as error:
        shown = f"<div>{html.escape(str(error))}</div>"
    return f"<figure style='display:inline-block;margin:4px'>{shown}</figure>"


def _thumbnail(example: Example, side: int) -> str:
    """Return an image element; the reason in words if the picture cannot be shown."""
    out = io.BytesIO()
    try:
        draw(example.image(), annotations_of(example), side).save(out, "JPEG", quality=85)
    except (DataError, MissingExtraError) as error:
        return f"<div>{html.escape(str(error))}</div>"
    alt = html.escape(f"picture of {example.key}", quote=True)
    return f"<img alt='{alt}' src='data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}'>"


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
