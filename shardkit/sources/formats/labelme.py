"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Flags are the classes of images, if no file has shapes.
"""

import json
import math
from typing import Any

import pyarrow as pa

from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import Options
from shardkit.sources.formats.one_image import JSON_BYTES, ImageFormat
from shardkit.sources.formats.record import ImageRecord, Object, encodable, size_of
from shardkit.sources.formats.vendors.readers import json_of
from shardkit.sources.listing import RecordProblem
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
    if len(shapes) > MAX_OBJECTS:
        return ImageRecord(bad=f"it has {len(shapes):,} shapes, more than {MAX_OBJECTS:,}; split the image into tiles")
    path = content.get("imagePath")
    image = ImageRecord(
        image=encodable(path).replace("\\", "/") if isinstance(path, str) else "",
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
    label = shape.get("label") if isinstance(shape, dict) else None
    if not isinstance(label, str) or not label.strip():
        message = "it has no `label`; add its class, or remove it"
        image.problems.append(RecordProblem(name, BAD_ANNOTATION, message))
        return
    kind = shape.get("shape_type") or "polygon"  # files of old versions have polygons only
    if kind in _WITHOUT_AREA or label == _IGNORED:
        image.leave_out(_LEFT_OUT)
        return
    points = _points(shape.get("points"))
    outline = None if points is None else _outline(str(kind), points)
    if outline is None:
        message = f"`points` of a {str(kind)[:40]} must be pairs of finite numbers, two or more; correct or remove it"
        image.problems.append(RecordProblem(name, BAD_BOX, encodable(message)))
        return
    across, down = zip(*outline, strict=True)
    box = [min(down), min(across), max(down), max(across)]
    polygon = [value for point in outline for value in point] if kind in {"polygon", "rotation"} else None
    made = {"bbox": box, "label_name": encodable(label.strip()), "name": name, "segmentation": _json(polygon)}
    group = shape.get("group_id")
    if isinstance(group, int | str) and (first := groups.setdefault((label, str(group)), made)) is not made:
        _join(first, made)
    else:
        image.objects.append(made)


def _outline(kind: str, points: list[tuple[float, float]]) -> list[tuple[float, float]] | None:
    if kind == "circle":  # the centre, and a point of the edge
        if len(points) != 2:
            return None
        (x, y), edge = points
        radius = math.hypot(edge[0] - x, edge[1] - y)
        return [(x - radius, y - radius), (x + radius, y + radius)]
    return points if len(points) > (2 if kind == "polygon" else 1) else None


def _join(first: Object, other: Object) -> None:
    box, more = first["bbox"], other["bbox"]
    first["bbox"] = [min(box[0], more[0]), min(box[1], more[1]), max(box[2], more[2]), max(box[3], more[3])]
    both = first["segmentation"] and other["segmentation"]
    first["segmentation"] = f"{first['segmentation'][:-1]},{other['segmentation'][1:]}" if both else ""


def _points(value: Any) -> list[tuple[float, float]] | None:
    try:
        points = [(float(x), float(y)) for x, y in value]
    except (TypeError, ValueError, OverflowError):
        return None
    return points if points and all(math.isfinite(one) for point in points for one in point) else None


def _json(polygon: list[float] | None) -> str:
    return "" if polygon is None else json.dumps([polygon], separators=(",", ":"))


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
