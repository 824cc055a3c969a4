"""Show an example in a notebook: a thumbnail with boxes and mask, and its features."""

import base64
import html
import io

import numpy as np

from shardkit.examples.drawing import annotations_of, draw
from shardkit.examples.example import Example

_THUMBNAIL = 256  # pixels
_VALUES_SHOWN = 8
_TEXT_SHOWN = 200  # characters


def example_html(example: Example) -> str:
    """Return an HTML fragment without scripts or links; all texts are escaped."""
    out = io.BytesIO()
    draw(example.image(), annotations_of(example), _THUMBNAIL).save(out, "JPEG", quality=85)
    picture = base64.b64encode(out.getvalue()).decode()
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(described(value))}</td></tr>"
        for name, value in {"classes": ", ".join(dict.fromkeys(example.label_names)) or "none", **example}.items()
        if name != "image"
    )
    alt = html.escape(f"picture of {example.key}", quote=True)
    return f"<img alt='{alt}' src='data:image/jpeg;base64,{picture}'><table>{rows}</table>"


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
