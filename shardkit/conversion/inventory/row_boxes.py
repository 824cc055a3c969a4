"""Place the boxes of a row of a listing on its upright image, and describe those that are dropped."""

from collections.abc import Mapping
from typing import Any

from shardkit.conversion.inventory.columns import OBJECTS
from shardkit.conversion.inventory.schema import Reject
from shardkit.images import ImageInfo
from shardkit.images.boxes import BadBox, place_objects
from shardkit.reject_reasons import BAD_BOX
from shardkit.sources.columns import ANNOTATED_HEIGHT, ANNOTATED_WIDTH, NUM_CLIPPED


def place_boxes(row: dict[str, Any], info: ImageInfo) -> list[dict[str, Any]]:
    """Place the boxes of a row, if it has any, in the row itself; return a row for each box that is dropped.

    Raises:
        BadImage: "annotated_size": the boxes are those of a picture of another size.
    """
    if OBJECTS not in row:
        return []
    row[OBJECTS], bad_boxes, row[NUM_CLIPPED.name] = place_objects(row[OBJECTS], annotated_size(row), info)
    return [{**reject_box(row["key"], bad_box)._asdict(), "mtime_ns": 0} for bad_box in bad_boxes]


def annotated_size(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the width and height that a row's boxes refer to; see boxes.place_objects."""
    return row[ANNOTATED_WIDTH.name], row[ANNOTATED_HEIGHT.name]


def reject_box(key: str, bad_box: BadBox, reason: str = BAD_BOX) -> Reject:
    """Return the rejected row of a box."""
    remedy = "correct or remove the box" if reason == BAD_BOX else "`fit=pad` keeps all of every image"
    message = f"{bad_box.found}; the box is dropped, the image stays: {remedy}"
    return Reject(f"{key}, {bad_box.name}", reason, message, 0)
