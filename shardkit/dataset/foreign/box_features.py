"""Find the boxes of objects, and what belongs to each.

image/object/bbox/{ymin,xmin,ymax,xmax}, image/object/class/{label,text}, image/object/{is_crowd,area,…}
    tensorflow/models, research/object_detection/dataset_tools/create_coco_tf_record.py, and Roboflow's exports
objects/bbox, objects/label, objects/…
    TFDS: four sides of each box after each other, ymin, xmin, ymax, xmax (features/bounding_boxes.py, REL_YXYX)
"""

from collections.abc import Sequence
from typing import Any

from shardkit.dataset.foreign.found_features import FoundFeatures, Sampled, listed
from shardkit.dataset.foreign.image_feature import HEIGHTS, WIDTHS
from shardkit.dataset.foreign.record_layout import BoxFeatures
from shardkit.dataset.foreign.values import Features, Kind
from shardkit.errors import DataError, RecordError
from shardkit.naming import printable

MODELS_OBJECTS = "image/object/"
_MODELS_SIDES = tuple(f"{MODELS_OBJECTS}bbox/{side}" for side in ("ymin", "xmin", "ymax", "xmax"))
_BOX = "bbox"
_LABELS = ("label", "class/label", "class/text", "bbox/label")  # the last in build_imagenet_data.py
MAX_FRACTION = 1.5  # boxes may leave the image by rounding or on purpose; pixels are far above
_TAKEN = {"bbox", "label", "label_name", "name"}  # fields that every object has


def object_places(found: FoundFeatures) -> list[str]:
    """Return the beginnings of the features of objects, which end before a slash: "objects", "image/object"."""
    models = [MODELS_OBJECTS.rstrip("/")] if has_models_boxes(found) else []
    return models + sorted({name.removesuffix(f"/{_BOX}") for name in found if name.endswith(f"/{_BOX}")} - {*models})


def object_labels(found: FoundFeatures) -> list[str]:
    """Return the features that hold the classes of objects."""
    names = [f"{place}/{end}" for place in object_places(found) for end in _LABELS]
    return [name for name in names if name in found]


def has_models_boxes(found: FoundFeatures) -> bool:
    """Return whether there are the four lists of tensorflow/models."""
    return all(side in found for side in _MODELS_SIDES)


def find_boxes(found: FoundFeatures, sampled: Sequence[Sampled], label: str, names: str | None) -> BoxFeatures:
    """Return the boxes that a feature of classes belongs to; if the feature `names` names these, their numbers too.

    DataError: there are no boxes, or not one for each class, or they are in pixels.
    """
    if label.startswith(MODELS_OBJECTS) and has_models_boxes(found):
        sides, prefix = _MODELS_SIDES, MODELS_OBJECTS
    else:
        prefix = label.rpartition("/")[0] + "/" if "/" in label else ""
        sides = (f"{prefix}{_BOX}",)
    if missing := [side for side in sides if side not in found]:
        msg = f"{printable(label)} is no list of objects' classes, as there is no feature {missing[0]!r}; found:"
        raise DataError(msg + listed(found))
    for one in sampled:
        _check_sampled(one, sides, label)
    extra = list[tuple[str, str, Kind]]()
    if names is not None:
        extra.append((label, "category_id", "int64"))
    for name, feature in found.items():
        field = name.removeprefix(prefix).replace("/", "_")
        belongs = name.startswith(prefix) and prefix and name not in {label, names, *sides}
        fields = {other for _, other, _ in extra}
        if not belongs or feature.kind == "empty" or field in _TAKEN | fields:
            continue
        one_each = all(len(features.get(name, [])) == len(features.get(label, [])) for _, features in sampled)
        if one_each and (feature.kind != "bytes" or feature.is_text):
            extra.append((name, field, feature.kind))
    size = [next((name for name in names_ if name in found), None) for names_ in (HEIGHTS, WIDTHS)]
    return BoxFeatures(sides, tuple(extra), tuple(name for name in size if name) if all(size) else ())


def _check_sampled(one: Sampled, sides: Sequence[str], label: str) -> None:
    try:
        refuse_pixels(box_sides(sides, one.features, len(one.features.get(label, []))))
    except RecordError as error:
        raise DataError(f"{one.where}: {error}") from None


def box_sides(names: Sequence[str], features: Features, num_objects: int) -> list[Sequence[Any]]:
    """Return the boxes of a record as four lists of equal length: ymin, xmin, ymax, xmax.

    `names` are the features of the sides: four of them, or one that has all sides of each box after each other.
    RecordError: there is not one box for each object.
    """
    sides: list[Sequence[Any]] = [features.get(name, []) for name in names]
    if any(len(side) != num_objects * 4 // len(names) for side in sides):
        counts = " and ".join(
            f"{len(side)} values of {printable(name)!r}" for name, side in zip(names, sides, strict=True)
        )
        raise RecordError(f"{num_objects} objects have {counts}; each object needs a class and a box")
    return sides if len(sides) > 1 else [sides[0][i::4] for i in range(4)]


def refuse_pixels(sides: Sequence[Sequence[Any]]) -> None:
    """Raise RecordError for boxes whose sides are no fractions of the image's; see `box_sides`."""
    for side in sides:
        for one in side:
            if isinstance(one, bytes) or not abs(one) <= MAX_FRACTION:
                msg = f"a box has a side at {one!r}, and sides are fractions of the image's height and width"
                raise RecordError(f"{msg}; divide pixels by them")
