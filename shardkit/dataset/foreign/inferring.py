"""Infer which feature of records is what, from the first records, the user's options and TFDS's own files."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from shardkit.dataset.foreign.box_features import find_boxes, object_labels, object_places
from shardkit.dataset.foreign.found_features import FoundFeatures, Sampled, find_features
from shardkit.dataset.foreign.image_feature import find_image
from shardkit.dataset.foreign.label_feature import find_label
from shardkit.dataset.foreign.record_layout import BoxFeatures, Column, Family, ImageFeature, LabelFeature, RecordLayout
from shardkit.dataset.foreign.tfds_folder import TfdsFeatures
from shardkit.naming import split_of_folder
from shardkit.options.values import LabelType
from shardkit.options.words import named

# The first of these with one text or number in each record becomes a part of the key.
_KEYS = (
    *("image/filename", "filename", "file_name", "image_name", "image/file_name", "image_filename", "image/source_id"),
    *("image_id", "id", "key", "image/key", "tfds_id", "fname", "name"),
)
_SPLITS = ("split",)  # TFRecorder's name, with TRAIN, VALIDATION and TEST
_UNASSIGNED = {"unassigned", "discard", ""}
# What records say of the stored file, which conversion may change: shardkit stores height and width itself.
_OF_THE_FILE = {
    *("image/format", "image/colorspace", "image/key/sha256"),
    *(f"{place}{side}" for place in ("", "image/", "image_") for side in ("height", "width", "channels")),
}

_OBJECT_MASKS = "masks of objects, which no feature of shardkit holds: they are only in these files"


@dataclass(frozen=True, slots=True)
class LayoutOverrides:
    """What the user says."""

    image_feature: str | None = None  # feature of the image; None to find it
    label_feature: str | None = None  # feature of the labels; None to find it
    label_type: LabelType = "auto"  # whether labels are classes or numbers for regression
    # Names of classes: the labels' names in another order, or names of their numbers; None for none.
    classes: tuple[str, ...] | None = None
    unlabelled: bool = False  # whether the records have no labels
    takes_masks: bool = False  # whether a mask may take the place of the label


def infer_layout(
    sampled: Sequence[Sampled],
    overrides: LayoutOverrides = LayoutOverrides(),
    *,
    tfds: TfdsFeatures | None = None,
    has_splits: bool = True,
) -> RecordLayout:
    """Return the layout of records, from the first ones of files; an error lists the features that were found.

    `tfds` is what the dataset's own files say. With `has_splits`, names of files or folders give splits, which then
    count instead of a feature. UnknownNameError: there is no feature of a name that the user gives. CallError: several
    features may be the image or the labels. DataError: none is, or its values cannot be read.
    """
    found = find_features(sampled)
    usual = _tfds_image(tfds)
    image = find_image(found, sampled, overrides.image_feature, usual)
    others = {name: one for name, one in found.items() if name != image.name}
    label = _label(others, sampled, overrides, tfds)
    if label.names and overrides.classes is not None and not _are_among(label.names, sampled, overrides.classes):
        label = replace(label, names=None)  # the lines of classes name the numbers
    boxes = find_boxes(found, sampled, label.name, label.names) if label.kind == "objects" else None
    key = next((name for name in _KEYS if name in others and _is_key(name, others)), None)
    split = None if has_splits else next((name for name in _SPLITS if _holds_splits(name, sampled)), None)
    columns, left_out = _others(others, image, label, boxes, split)
    return RecordLayout(_family(found, image, tfds), image, label, boxes, key, split, columns, left_out)


def _label(
    others: FoundFeatures, sampled: Sequence[Sampled], overrides: LayoutOverrides, tfds: TfdsFeatures | None
) -> LabelFeature:
    if overrides.unlabelled:
        return LabelFeature("", "none", is_text=False)
    wanted = overrides.label_feature
    return find_label(others, sampled, wanted, overrides.label_type, tfds, takes_masks=overrides.takes_masks)


def _tfds_image(tfds: TfdsFeatures | None) -> str | None:
    if tfds is None:
        return None
    if tfds.supervised and tfds.supervised[0] in tfds.images:
        return tfds.supervised[0]
    return tfds.images[0] if len(tfds.images) == 1 else None


def _are_among(name: str, sampled: Sequence[Sampled], classes: Collection[str]) -> bool:
    texts = {value for _, features in sampled for value in features.get(name, [])}
    return texts <= {one.encode() for one in classes}


def _is_key(name: str, found: FoundFeatures) -> bool:
    feature = found[name]
    return feature.is_single and (feature.is_text or feature.kind == "int64")


def _holds_splits(name: str, sampled: Sequence[Sampled]) -> bool:
    texts = [value for _, features in sampled for value in features.get(name, [])]
    words = [text.decode("utf-8", "replace").strip().lower() for text in texts if isinstance(text, bytes)]
    return len(words) == len(sampled) and all(word in _UNASSIGNED or split_of_folder(word) for word in words)


def _family(found: FoundFeatures, image: ImageFeature, tfds: TfdsFeatures | None) -> Family:
    if tfds is not None:
        return "TFDS"
    if image.name == "image/encoded":
        return "tensorflow/models"
    return "TFRecorder" if image.form == "base64 pixels" and "image_name" in found else "others"


def _others(
    others: FoundFeatures, image: ImageFeature, label: LabelFeature, boxes: BoxFeatures | None, split: str | None
) -> tuple[tuple[Column, ...], tuple[tuple[str, str], ...]]:
    """Return the features that come along, and those that do not with the reason."""
    used = {image.name, label.name, split, *(boxes.sides if boxes else ())}
    if boxes:
        used |= {feature for feature, _, _ in boxes.extra} | {label.names}
    elif label.names:
        used -= {label.name}  # the class is stored by its name, and its old number comes along
        used |= {label.names}
    of_objects = [] if boxes else [f"{place}/" for place in object_places(others)]
    columns, left_out = list[Column](), list[tuple[str, str]]()
    for name, feature in others.items():
        if name in used or name in {image.height, image.width, image.channels}:
            continue
        if not name or name.isspace():
            left_out.append((name, "it has no name"))
        elif feature.kind == "empty":
            left_out.append((name, "no values in the first records"))
        elif name in _OF_THE_FILE:
            left_out.append((name, "of the old image file"))
        elif feature.holds_images:
            is_of_objects = any(name.startswith(f"{place}/") for place in object_places(others))
            left_out.append((name, _OBJECT_MASKS if is_of_objects else "another image"))
        elif feature.kind == "bytes" and not feature.is_text:
            left_out.append((name, "bytes that are no text"))
        elif name.startswith(tuple(of_objects)):
            left_out.append((name, _boxes_remedy(others)))
        else:
            is_list = feature.most > 1 or (feature.fewest == 0 and feature.kind == "int64")  # no int64 means "missing"
            columns.append(Column(name, feature.kind, is_list))
    return tuple(columns), tuple(left_out)


def _boxes_remedy(others: FoundFeatures) -> str:
    of_objects = object_labels(others)
    how = f"; {named('label_feature', of_objects[0])} reads the boxes and their classes" if of_objects else ""
    return f"of boxes, and the label is one for the whole image{how}"
