"""Read the objects of a record: their boxes, classes and what belongs to each."""

from collections.abc import Sequence
from typing import Any

from shardkit.dataset.foreign.box_features import box_sides, refuse_pixels
from shardkit.dataset.foreign.record_layout import BoxFeatures
from shardkit.dataset.foreign.values import Features, Kind, kind_of
from shardkit.errors import RecordError
from shardkit.images import BadImage, inspect
from shardkit.reject_reasons import BAD_ANNOTATION
from shardkit.sources.listing import MAX_OBJECTS, BadRecord
from shardkit.sources.packed.tfrecord.feature_values import text_of


def read_objects(boxes: BoxFeatures, names: Sequence[str], features: Features) -> list[dict[str, Any]]:
    """Return the objects of a record, as the listing has them.

    Args:
        boxes: Where the boxes are.
        names: Class of each object.
        features: The record's features.

    Raises:
        BadRecord: BAD_ANNOTATION: boxes and classes differ in number, or boxes are in pixels.
    """
    try:
        sides = box_sides(boxes.sides, features, len(names))
        refuse_pixels(sides)
    except RecordError as error:
        raise BadRecord(BAD_ANNOTATION, str(error)) from None
    if len(names) > MAX_OBJECTS:
        msg = f"it has {len(names):,} objects, more than {MAX_OBJECTS:,}; split the image into tiles"
        raise BadRecord(BAD_ANNOTATION, msg)
    extra = [(name, _one_each(feature, kind, features, len(names))) for feature, name, kind in boxes.extra]
    return [
        {
            "bbox": [float(side[i]) for side in sides],
            "label_name": name,
            "name": f"object {i}",
            **{key: found[i] for key, found in extra},
        }
        for i, name in enumerate(names)
    ]


def annotated_size(
    boxes: BoxFeatures, features: Features, image: bytes, objects: Sequence[dict[str, Any]]
) -> tuple[int, int]:
    """Return the width and height in pixels that boxes refer to; (0, 0) for fractions of the upright image.

    Decoders of TensorFlow ignore EXIF, and shardkit turns images upright. If the record's own size is that of the
    stored picture, and this lies on its side, the boxes are those of the stored picture: they are made pixels of it, so
    that they are turned with it.
    """
    sizes = [features.get(name, []) for name in boxes.size]
    if not objects or not sizes or any(len(one) != 1 or not isinstance(one[0], int) for one in sizes):
        return 0, 0
    try:
        info = inspect(image)
    except BadImage:
        return 0, 0  # the check of all images rejects it
    height, width = (int(one[0]) for one in sizes)
    if info.orientation < 5 or (width, height) != (info.width, info.height):
        return 0, 0
    for one in objects:
        ymin, xmin, ymax, xmax = one["bbox"]
        one["bbox"] = [ymin * height, xmin * width, ymax * height, xmax * width]
    return width, height


def _one_each(name: str, kind: Kind, features: Features, num: int) -> Sequence[Any]:
    values = features.get(name, [])
    if len(values) != num:
        msg = f"{num} objects have {len(values)} values of {name!r}; write one for each"
        raise BadRecord(BAD_ANNOTATION, msg)
    if values and kind_of(values[0]) != kind:
        msg = f"{name!r} holds {kind_of(values[0])} values where the first records have {kind}"
        raise BadRecord(BAD_ANNOTATION, msg)
    return [text_of(name, one, BAD_ANNOTATION) if isinstance(one, bytes) else one for one in values]
