"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Flags are the classes of images, if no file has shapes.
"""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.files_of_images import first_files, walk
from shardkit.sources.detection.image_classes import BoxesOrClasses, ImageClasses, first_images, has_shapes
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.record import ImageRecord, Object, encodable
from shardkit.sources.formats.vendors.readers import json_of
from shardkit.sources.listing import RecordProblem, count_skipped
from shardkit.sources.walking import looks_like, read_head
from shardkit.storage import Folder

_KEYS = (rb'"shapes"\s*:\s*\[', rb'"(version|flags|imagePath|imageData|imageHeight)"\s*:')
# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)
IGNORED = "__ignore__"  # Labelme's label of regions without label
_WITHOUT_AREA = frozenset({"point", "points", "line", "linestrip"})
_LEFT_OUT = "shapes without area (points, lines) or to be ignored"
_MAX_SIDE = 2**31
_FLAGS = "flags"  # of the whole image


@dataclass(slots=True)
class LabelmeImage(ImageRecord):
    """Content of a file.

    Attributes:
        has_image: Whether the file holds the image's bytes.
    """

    has_image: bool = False


def parse_labelme(data: bytes) -> LabelmeImage | str:
    """Parse a file, or return why it cannot be parsed; a phrase that begins with ``it``."""
    record = json_of(data)
    if isinstance(record, str):
        return record
    shapes = record.get("shapes") if isinstance(record, dict) else None
    if not isinstance(shapes, list):
        return "it is not a file of Labelme: it has no `shapes`"
    if len(shapes) > MAX_OBJECTS:
        return f"it has {len(shapes):,} shapes, more than {MAX_OBJECTS:,}; split the image into tiles"
    path = record.get("imagePath")
    width, height = _pixels(record.get("imageWidth")), _pixels(record.get("imageHeight"))
    image = LabelmeImage(
        image=encodable(path).replace("\\", "/") if isinstance(path, str) else "",
        size=(width, height) if width and height else (None, None),
        attributes={_FLAGS: names} if (names := _true_flags(record.get("flags"))) else {},
        has_image=bool(record.get("imageData")),
    )
    groups: dict[tuple[str, str], Object] = {}
    for number, shape in enumerate(shapes, 1):
        _add_shape(image, groups, shape, f"shape {number}")
    return image


def _true_flags(flags: Any) -> list[str]:
    true = [name for name, value in flags.items() if value is True] if isinstance(flags, dict) else []
    return [encodable(name) for name in true if name != IGNORED]


def _add_shape(image: LabelmeImage, groups: dict[tuple[str, str], Object], shape: Any, name: str) -> None:
    label = shape.get("label") if isinstance(shape, dict) else None
    if not isinstance(label, str) or not label.strip():
        message = "it has no `label`; add its class, or remove it"
        image.problems.append(RecordProblem(name, BAD_ANNOTATION, message))
        return
    kind = shape.get("shape_type") or "polygon"  # files of old versions have polygons only
    if kind in _WITHOUT_AREA or label == IGNORED:
        count_skipped(image.left_out, _LEFT_OUT)
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


def _pixels(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 < value < _MAX_SIDE else None


def _json(polygon: list[float] | None) -> str:
    return "" if polygon is None else json.dumps([polygon], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Labelme(BoxesOrClasses):
    """A source of Labelme's files.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the top folders are splits.
        image_classes: The flags, if they are the classes of images; None for boxes.
        groups: The root, whose files are one group.
    """

    folder: Folder
    with_splits: bool
    image_classes: ImageClasses | None = None
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["labelme"].title
    box_schema = detection_schema(_OBJECT_FIELDS)
    noun = "Labelme file"
    parse = staticmethod(parse_labelme)

    def describe(self) -> str:
        """See Source."""
        splits = ", the top folders as splits" if self.with_splits else ""
        if self.image_classes is not None:
            return f"{self.folder.url}: read Labelme's *.json{splits}; {self.image_classes.read}"
        return (
            f"{self.folder.url}: read Labelme's *.json{splits}; note: the boxes of polygons, circles and masks enclose "
            "them, points and lines are left out"
        )

    def split_of(self, path: str, image: str) -> str | None:
        """See FilesOfImages; the top folders are splits, or none."""
        del image
        return split_of_folder(path.partition("/")[0]) if self.with_splits else None

    def refusal(self, found: ImageRecord) -> str | None:
        """See FilesOfImages."""
        if self.image_classes is not None or not found.attributes or found.objects:
            return None
        return (
            "sets flags of the whole image and has no shapes, unlike other files, and only shapes are read; for "
            "classes of images, write a CSV file of image,label and give it as SOURCE"
        )

    def where_to_find(self, found: ImageRecord) -> str:
        """See FilesOfImages."""
        if isinstance(found, LabelmeImage) and found.has_image:
            return "the file itself holds the image: labelme_export_json writes it"
        return "restore it"


def is_labelme_file(folder: Folder, path: str) -> bool:
    """Return whether a file is Labelme's, judging by its beginning."""
    return looks_like(read_head(folder, path), *_KEYS, start=b"{")


def has_labelme(folder: Folder) -> bool:
    """Return whether a folder has files of Labelme, judging by names and the beginning of a few files."""
    return any(is_labelme_file(folder, path) for path in first_files(folder))


def open_labelme(opening: Opening) -> Labelme:
    """Find Labelme's files.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    jsons = walk(folder, ".json").pairs
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    source = Labelme(folder, with_splits)
    images = first_images(source, folder)
    has_flags = any(image.attributes for image in images) and not any(map(has_shapes, images))
    return replace(source, image_classes=ImageClasses.of(folder.url, _FLAGS if has_flags else None, images))
