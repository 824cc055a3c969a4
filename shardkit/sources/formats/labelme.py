"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Flags are the classes of images, if no file has shapes.
"""

import json
import math
from typing import Any

import pyarrow as pa

from shardkit.sources.formats.format import (
    JSON_BYTES,
    ImageFormat,
    ImageRecord,
    Object,
    Options,
    Point,
    Sides,
    around_points,
    encodable,
    points_of,
    size_of,
)
from shardkit.sources.formats.vendors.fields import dict_of, json_of, text_at
from shardkit.sources.walking import looks_like

_KEYS = (rb'"shapes"\s*:\s*\[', rb'"(version|flags|imagePath|imageData|imageHeight)"\s*:')
# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)
_IGNORED = "__ignore__"  # Labelme's label of regions without label
_WITHOUT_AREA = frozenset({"point", "points", "line", "linestrip"})
_LEFT_OUT = "shapes without area (points, lines) or to be ignored"


def _parse(data: bytes, options: Options) -> ImageRecord:
    content = json_of(data)
    if isinstance(content, str):
        return ImageRecord(bad=content)
    shapes = content.get("shapes") if isinstance(content, dict) else None
    if not isinstance(shapes, list):
        return ImageRecord(bad="it is not a file of Labelme: it has no `shapes`")
    image = ImageRecord(
        image=encodable(text_at(content, "imagePath")).replace("\\", "/"),
        size=size_of(content.get("imageWidth"), content.get("imageHeight")),
        attributes={"flags": names} if (names := _true_flags(content.get("flags"))) else {},
    )
    groups: dict[tuple[str, str], Object] = {}
    for number, shape in enumerate(shapes, 1):
        _add_shape(image, groups, shape, f"shape {number}")
    return image


def _true_flags(flags: Any) -> list[str]:
    true = [name for name, value in flags.items() if value is True] if isinstance(flags, dict) else []
    return [encodable(name) for name in true if name != _IGNORED]


def _add_shape(image: ImageRecord, groups: dict[tuple[str, str], Object], shape: Any, name: str) -> None:
    shape = dict_of(shape)
    label = text_at(shape, "label").strip()
    kind = str(shape.get("shape_type") or "polygon")  # files of old versions have polygons only
    if label and (kind in _WITHOUT_AREA or label == _IGNORED):
        image.leave_out(_LEFT_OUT)
        return
    points = points_of(shape.get("points"))
    segmentation = ""
    if kind in {"polygon", "rotation"}:
        segmentation = json.dumps([[value for point in points for value in point]], separators=(",", ":"))
    made = image.add(name, label, _sides(kind, points), segmentation=segmentation)
    group = shape.get("group_id")
    if made and isinstance(group, int | str) and (first := groups.setdefault((label, str(group)), made)) is not made:
        _join(first, image.objects.pop())


def _sides(kind: str, points: list[Point]) -> Sides | None:
    if kind == "circle" and len(points) == 2:  # the centre, and a point of the edge
        (x, y), edge = points
        radius = math.hypot(edge[0] - x, edge[1] - y)
        return x - radius, y - radius, x + radius, y + radius
    is_outline = kind != "circle" and len(points) > (2 if kind == "polygon" else 1)
    return around_points(points) if is_outline else None


def _join(first: Object, other: Object) -> None:
    box, more = first["bbox"], other["bbox"]
    first["bbox"] = [min(box[0], more[0]), min(box[1], more[1]), max(box[2], more[2]), max(box[3], more[3])]
    both = first["segmentation"] and other["segmentation"]
    first["segmentation"] = f"{first['segmentation'][:-1]},{other['segmentation'][1:]}" if both else ""


def _is_head(head: bytes) -> bool:
    return looks_like(head, *_KEYS, start=b"{")


LABELME = ImageFormat(
    "labelme",
    "Labelme",
    ".json",
    _parse,
    _is_head,
    _OBJECT_FIELDS,
    note="boxes of polygons, circles and masks enclose them, points and lines are left out",
    of_classes=(
        "sets flags of the whole image and has no shapes, unlike other files, and only shapes are read; for "
        "classes of images, write a CSV file of image,label and give it as SOURCE"
    ),
    missing="restore it, or write it from the file's imageData by labelme_export_json",
    max_bytes=JSON_BYTES,
)
