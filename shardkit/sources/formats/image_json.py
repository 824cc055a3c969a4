"""A JSON file of boxes for each image: Labelme, Supervisely's ``ann/1.jpg.json``, BDD100K's ``labels/1.json``, FUNSD.

Supervisely's tags and V7 Darwin's are classes of whole images.

Labelme's ``1.json`` is next to ``1.jpg``, or in a folder of its own. Rectangles are boxes; the boxes of polygons,
circles and masks enclose them, and polygons are kept as `segmentation` in pixels. Points and lines have no area and are
left out. Flags are the classes of images, if no file has shapes.
"""

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from shardkit.sources.formats.format import JSON_BYTES, ImageFormat, ImageRecord, Object, Options, encodable, size_of
from shardkit.sources.formats.shapes import Point, Sides, around, around_points, corner_and_size, points_of
from shardkit.sources.formats.vendors.fields import Box, Fields, at, dict_of, dicts_at, json_of, list_of, signs, text_at
from shardkit.sources.formats.vendors.parsers import parse_bdd
from shardkit.sources.walking import looks_like


def _parse_supervisely(image: ImageRecord, record: dict[str, Any]) -> None:
    """Supervisely's objects; rectangles and polygons have their points."""
    for tag in dicts_at(record, "tags"):
        # A tag with a value, such as weather: sunny, is an attribute; those without are names of classes.
        name, value = text_at(tag, "name"), tag.get("value")
        if name and value in (None, ""):
            image.attributes.setdefault("tags", []).append(encodable(name))
        elif name:
            image.attributes.setdefault(encodable(name), []).append(encodable(str(value)))
    image.set_size(at(record, "size.width"), at(record, "size.height"))
    for place, given in enumerate(dicts_at(record, "objects"), 1):
        kind = given.get("geometryType")
        if kind not in {"rectangle", "polygon"}:
            image.leave_out(f"objects without box ({kind})")
            continue
        points = [list_of(one) for one in list_of(at(given, "points.exterior"))]
        sides = around([one[0] for one in points if one], [one[-1] for one in points if one])
        image.add(f"object {place}", given.get("classTitle"), sides)


def _parse_frame(image: ImageRecord, record: dict[str, Any]) -> None:
    """BDD100K's first frame: a file of an image has no other."""
    parse_bdd(image, {"name": record.get("name"), "labels": at(record, "frames.0.objects")}, None)


# FUNSD's parts of a form have words, too, which are left out.
_FORM = Fields("", "form", "label", Box("box", ""), noun="part")
_ITEMS = Fields("", "", "category_name", Box("bounding_box", ""), noun="item", key="item")
_DARWIN = Fields(
    "",
    "annotations",
    "name",
    Box("bounding_box", "x y w h", corner_and_size),
    ("item.slots.0.width", "item.slots.0.height"),
    "annotation",
    without_box="annotations without bounding_box (tags, keypoints)",
)


def _parse_darwin(image: ImageRecord, record: dict[str, Any]) -> None:
    """V7 Darwin's annotations; those with a `tag` are classes of the whole image."""
    _DARWIN.parse(image, record)
    tags = [one for one in dicts_at(record, "annotations") if isinstance(one.get("tag"), dict)]
    if tags and not image.objects:
        image.attributes["tag"] = [encodable(text_at(one, "name")) for one in tags]
        image.left_out.clear()


def _are_words(words: tuple[bytes, ...], head: bytes) -> bool:
    return looks_like(head, *words, start=b"{")


def _parse(
    fill: Callable[[ImageRecord, dict[str, Any]], None], title: str, word: bytes, data: bytes, options: Options
) -> ImageRecord:
    content = json_of(data)
    if isinstance(content, str):
        return ImageRecord(bad=content)
    if not looks_like(data, word, start=b"{"):  # without objects it has no other word
        return ImageRecord(bad=f"it is not {title}")
    image = ImageRecord(number=1)
    fill(image, dict_of(content))
    return image


def _format(
    name: str, title: str, words: tuple[bytes, ...], fill: Callable[[ImageRecord, dict[str, Any]], None], note: str = ""
) -> ImageFormat:
    parse, is_head = partial(_parse, fill, title, words[0]), partial(_are_words, words)
    return ImageFormat(name, title, ".json", parse, is_head, note=note, max_bytes=JSON_BYTES)


SUPERVISELY = _format(
    "supervisely",
    "Supervisely's JSON of an image",
    # Files of bitmaps only have no boxes: the masks next to them are read.
    (*signs("objects[ size{ tags["), rb'"objects"\s*:\s*\[\s*\]|"geometryType"\s*:\s*"(?:rectangle|polygon)"'),
    _parse_supervisely,
    "boxes enclose polygons",
)
BDD_IMAGE = _format("bdd-image", "BDD100K's JSON of an image", signs("frames[ objects[ box2d"), _parse_frame)
FUNSD = _format("funsd", "FUNSD's JSON of a form", signs("form[ box[ label"), _FORM.parse)
DEEP_FASHION = _format(
    "deepfashion2",
    "DeepFashion2's JSON of an image",
    signs("item[0-9]+{ category_name bounding_box["),
    _ITEMS.parse,
)
DARWIN = _format(
    "darwin",
    "V7 Darwin's JSON of an image",
    signs("slots[ item{ annotations["),
    _parse_darwin,
    "boxes enclose polygons",
)


_KEYS = (rb'"shapes"\s*:\s*\[', rb'"(version|flags|imagePath|imageData|imageHeight)"\s*:')
# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)
_IGNORED = "__ignore__"  # Labelme's label of regions without label
_WITHOUT_AREA = frozenset({"point", "points", "line", "linestrip"})
_LEFT_OUT = "shapes without area (points, lines) or to be ignored"


def _parse_labelme(data: bytes, options: Options) -> ImageRecord:
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


LABELME = ImageFormat(
    "labelme",
    "Labelme",
    ".json",
    _parse_labelme,
    partial(_are_words, _KEYS),
    _OBJECT_FIELDS,
    note="boxes of polygons, circles and masks enclose them, points and lines are left out",
    of_classes=(
        "sets flags of the whole image and has no shapes, unlike other files, and only shapes are read; for "
        "classes of images, write a CSV file of image,label and give it as SOURCE"
    ),
    missing="restore it, or write it from the file's imageData by labelme_export_json",
    max_bytes=JSON_BYTES,
)
