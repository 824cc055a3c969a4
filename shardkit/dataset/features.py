"""The features that an example can have: names, types and roles."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

Role = Literal["image", "mask", "class_label", "bbox", "text", "scalar"]


class Feature(BaseModel):
    """One stored feature.

    Attributes:
        dtype: Type of the stored values.
        role: Meaning of the values: ``image`` and ``mask`` are encoded files, ``text`` is UTF-8, ``bbox`` is (ymin,
            xmin, ymax, xmax) as fractions of the upright image's height and width.
        shape: Shape of an example's values; None is any number of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dtype: Literal["bytes", "int64", "float32"]
    role: Role
    shape: tuple[int | None, ...] = ()


IMAGE = "image"
MASK = "segmentation_mask"
LABEL, LABELS = "label", "labels"
# The label of an image that has none on purpose, in its record and its index: a number, or the only one of a list. It
# is in no class count. TFDS and Hugging Face mark such images of their test splits in the same way.
NO_LABEL = -1
OBJECTS = "objects/"  # prefix of the features of objects
OBJECT_LABELS = f"{OBJECTS}label"

ALWAYS: dict[str, Feature] = {
    "height": Feature(dtype="int64", role="scalar"),
    IMAGE: Feature(dtype="bytes", role="image"),
    "key": Feature(dtype="bytes", role="text"),
    "width": Feature(dtype="int64", role="scalar"),
}
CLASS_LABEL = Feature(dtype="int64", role="class_label")
CLASS_LABELS = Feature(dtype="int64", role="class_label", shape=(None,))
BOXES = Feature(dtype="float32", role="bbox", shape=(None, 4))
MASK_FEATURE = Feature(dtype="bytes", role="mask")

CLASSIFICATION = dict(sorted({**ALWAYS, LABEL: CLASS_LABEL}.items()))


def label_feature(features: Iterable[str]) -> str | None:
    """Return the name of the feature that holds class labels; None if there is none or masks hold the classes."""
    names = set(features)
    if OBJECT_LABELS in names:
        return OBJECT_LABELS
    return LABELS if LABELS in names else LABEL if LABEL in names else None


def has_labels(features: Iterable[str]) -> bool:
    """Return whether examples have something to learn next to the image: labels, boxes, a mask or a number."""
    return not {LABEL, LABELS, MASK, OBJECT_LABELS}.isdisjoint(features)
