"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Labelme writes no file for an image without shapes, so such
images are counted as skipped: nobody knows whether they are background or not yet labelled.
"""

import json
import math
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.context import Opening
from shardkit.sources.detection.labelme.files import LabelmeFiles, has_labelme, is_labelme_file, walk
from shardkit.sources.detection.paired_files import PairedFiles
from shardkit.sources.detection.rows import (
    Annotation,
    Object,
    detection_schema,
    encodable,
    rejected_file,
    rejected_image,
)
from shardkit.sources.listing import ListingRow, RecordProblem, count_skipped, encodable_path, rejected_row
from shardkit.sources.unlisted_images import images_count
from shardkit.storage import Entry, Folder

__all__ = ["Labelme", "has_labelme", "is_labelme_file", "open_labelme"]

# `segmentation`: [[x, y, …]] as JSON, in pixels; '' for a box.
_OBJECT_FIELDS = (pa.field("segmentation", pa.string()),)
IGNORED = "__ignore__"  # Labelme's label of regions without label
_WITHOUT_AREA = frozenset({"point", "points", "line", "linestrip"})
_LEFT_OUT = "shapes without area (points, lines) or to be ignored"
_MAX_SIDE = 2**31


@dataclass(slots=True)
class LabelmeImage(Annotation):
    """Content of a file.

    Attributes:
        has_flags: Whether a flag of the whole image is set.
        has_image: Whether the file holds the image's bytes.
    """

    has_flags: bool = False
    has_image: bool = False


def parse_labelme(data: bytes) -> LabelmeImage | str:
    """Parse a file, or return why it cannot be parsed; a phrase that begins with ``it``."""
    try:
        record = json.loads(data)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        return f"it is not JSON: {error}"
    shapes = record.get("shapes") if isinstance(record, dict) else None
    if not isinstance(shapes, list):
        return "it is not a file of Labelme: it has no `shapes`"
    if len(shapes) > MAX_OBJECTS:
        return f"it has {len(shapes):,} shapes, more than {MAX_OBJECTS:,}; split the image into tiles"
    path, flags = record.get("imagePath"), record.get("flags")
    width, height = _pixels(record.get("imageWidth")), _pixels(record.get("imageHeight"))
    image = LabelmeImage(
        image=encodable(path).replace("\\", "/") if isinstance(path, str) else "",
        size=(width, height) if width and height else (None, None),
        has_flags=isinstance(flags, dict) and any(value is True for value in flags.values()),
        has_image=bool(record.get("imageData")),
    )
    groups: dict[tuple[str, str], Object] = {}
    for number, shape in enumerate(shapes, 1):
        _add_shape(image, groups, shape, f"shape {number}")
    return image


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
class Labelme(PairedFiles[str, tuple[str, Entry]]):
    """A source of Labelme's files.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the top folders are splits.
        groups: The root, whose files are one group.
    """

    folder: Folder
    with_splits: bool
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["labelme"].title
    schema = detection_schema(_OBJECT_FIELDS)
    max_bytes = 64 << 20  # 64 MiB: the file may hold the image itself
    parse = staticmethod(parse_labelme)

    def describe(self) -> str:
        """See Source."""
        splits = ", the top folders as splits" if self.with_splits else ""
        return (
            f"{self.folder.url}: read Labelme's *.json{splits}; note: the boxes of polygons, circles and masks enclose "
            "them, points and lines are left out"
        )

    def scan(self, group: str) -> LabelmeFiles:
        """See PairedFiles."""
        del group
        return walk(self.folder)

    def rest_rows(self, files: LabelmeFiles) -> Iterator[ListingRow]:
        """See PairedFiles; images without a file are only counted."""
        stems = {_stem(path) for path, _ in files.pairs}
        unnamed = sum(_stem(path) not in stems for path in files.images)
        files.skipped |= images_count(unnamed, "without a Labelme file of their name")
        return iter(())

    def pair_rows(self, files: LabelmeFiles, pair: tuple[str, Entry]) -> Iterator[ListingRow]:
        """See PairedFiles; the file's image is found by what the file says."""
        path, entry = pair
        split = split_of_folder(path.partition("/")[0]) if self.with_splits else None
        parsed = self.read(path, entry)
        found = files.finder.find(path, parsed.image if isinstance(parsed, Annotation) else "")
        if isinstance(parsed, LabelmeImage) and found:
            if parsed.has_flags and not parsed.objects:
                message = (
                    f"{printable(path)} sets flags of the whole image and has no shapes, and only shapes are read; for "
                    "classes of images, write a CSV file of image,label and give it as SOURCE"
                )
                yield rejected_image(found[0], split, found[1], BAD_ANNOTATION, message)
            else:
                yield from self.image_rows(files, found[0], split, found[1], parsed)
        elif isinstance(parsed, LabelmeImage):
            message = f"its image {printable(parsed.image)!r} is neither where the file says nor next to it; "
            message += (
                "the file itself holds the image: labelme_export_json writes it" if parsed.has_image else "restore it"
            )
            yield rejected_file(path, split, message)
        elif found:
            problem = RecordProblem(encodable_path(found[0]), BAD_ANNOTATION, str(parsed))
            yield rejected_row(problem, split, found[1])
        else:
            count_skipped(files.skipped, ".json")  # a file of another tool, such as the settings of an editor


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def open_labelme(opening: Opening) -> Labelme:
    """Find Labelme's files.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    jsons = walk(folder).pairs
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    return Labelme(folder, with_splits)
