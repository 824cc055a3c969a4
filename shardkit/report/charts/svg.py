"""Render a matplotlib figure as an inline SVG that the page's style colours."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 360  # units, which are CSS pixels at the natural size
_POINTS_PER_INCH = 72
FONT_SIZE = 11

# Placeholders that matplotlib draws, and the classes that the page's style gives colours to.
INK, FAINT, GRID, MARK, PAPER = "#010101", "#010102", "#010103", "#010104", "#010105"
SERIES = tuple(f"#0102{number:02x}" for number in range(1, 7))
_CLASS_OF = {INK: "ink", FAINT: "faint", GRID: "grid", MARK: "mark", PAPER: "paper"} | {
    colour: f"s{number}" for number, colour in enumerate(SERIES, 1)
}
_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_KEPT_STYLES = {
    *("fill-opacity", "font-size", "opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin"),
    *("stroke-opacity", "stroke-width", "text-anchor", "fill-rule"),
}
_NAME = re.compile(r"name:([0-9]+)")
_NUMBER = re.compile(r"-?[0-9]+\.[0-9]{2,}")
_ROTATED = re.compile(r"rotate\(-?0 ")


def new_figure(height: float) -> "Figure":
    """Return an empty figure of a size in CSS pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH)


def add_axes(figure: "Figure", left: float, right: float, top: float, bottom: float) -> "Axes":
    """Return axes with margins in CSS pixels, in the style of all charts."""
    width, height = figure.get_size_inches() * _POINTS_PER_INCH
    axes = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=FAINT, labelcolor=FAINT, labelsize=FONT_SIZE, length=0, pad=5)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def name_placeholder(number: int) -> str:
    """Return the text to draw for a name: matplotlib would read its dollars as formulas and miss its glyphs."""
    return f"name:{number}"


def render(figure: "Figure", title: str, description: str, names: Sequence[str] = ()) -> Markup:
    """Return a figure as an SVG element.

    Args:
        figure: The figure, in the placeholder colours of this module.
        title: Its accessible name.
        description: One sentence with what it shows, for readers who do not see it.
        names: The texts of `name_placeholder`.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shardkit", "path.simplify": False}):
        FigureCanvasSVG(figure).print_svg(out, metadata=nothing)  # type: ignore[no-untyped-call]
    root = ET.fromstring(out.getvalue())  # noqa: S314 - matplotlib has just written it
    ids: dict[str, ET.Element] = {one.get("id", ""): one for one in root.iter() if one.get("id")}
    width, height = (f"{float(side) * _POINTS_PER_INCH:.0f}" for side in figure.get_size_inches())
    body = "".join(_markup(child, ids, names) for child in root)
    label = escape(f"{title}. {description}")
    return Markup(  # noqa: S704 - all text in it is escaped above
        f'<svg class="chart" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{label}">{body}</svg>'
    )


def _markup(element: ET.Element, ids: Mapping[str, ET.Element], names: Sequence[str]) -> str:
    """Return an element without ids and styles; what `use` refers to is written in its place."""
    tag = element.tag.removeprefix(f"{{{_SVG}}}")
    if tag in {"defs", "metadata"}:
        return ""
    children = "".join(_markup(child, ids, names) for child in element)
    if tag == "g":
        return children
    if tag == "use":
        shape = ids[element.get(_HREF, "").removeprefix("#")]
        moved = dict(shape.attrib) | {"style": element.get("style", shape.get("style", ""))}
        moved["transform"] = f"translate({element.get('x', 0)} {element.get('y', 0)})"
        return _written("path", moved, "")
    text = (element.text or "").strip() if tag == "text" else ""
    if found := _NAME.fullmatch(text):
        text = names[int(found[1])]
    return _written(tag, element.attrib, children + str(escape(text)))


def _written(tag: str, attributes: Mapping[str, str], content: str) -> str:
    style = dict(part.strip().split(": ", 1) for part in attributes.get("style", "").split(";") if ": " in part)
    fill, stroke = style.get("fill", ""), style.get("stroke", "none")
    classes = [_CLASS_OF[fill]] if fill in _CLASS_OF else []
    if stroke in _CLASS_OF:
        classes.append(f"l-{_CLASS_OF[stroke]}")
    if tag == "path" and not classes:
        return ""  # backgrounds, and axes that are not drawn
    kept = {name: value for name, value in style.items() if name in _KEPT_STYLES}
    for name in ("d", "x", "y", "transform"):
        if name in attributes:
            kept[name] = _NUMBER.sub(_shorter, " ".join(attributes[name].split()))
    if _ROTATED.match(kept.get("transform", "")):
        del kept["transform"]
    kept.pop("font-size", None) if kept.get("font-size") == f"{FONT_SIZE}px" else None
    if classes:
        kept["class"] = " ".join(classes)
    written = "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
