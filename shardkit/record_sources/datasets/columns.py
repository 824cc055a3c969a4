"""The columns of a listing of a dataset: where a record is, what is known of its raw file, and its features.

A record's image has been checked by the conversion that stored it, so its facts come from the index of its shard. The
raw file's hash and its changes are passed on to the new index: with the hash, a split by hash moves nobody.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shardkit.dataset import features as names
from shardkit.dataset.features import Feature
from shardkit.errors import DataError
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    CHECKED_FIELDS,
    FEATURE_PREFIX,
    GROUP,
    IS_UNLABELLED,
    LABEL_NAMES,
    LISTING_SCHEMA,
    MASK_PATH,
    OFFSET,
    PATH,
    UNLABELLED,
    feature_field,
    objects_field,
    target_field,
)

# PATH is a TFRecord file, and OFFSET that of a record's frame in it.
RECORD_BYTES = pa.field("record_bytes", pa.int32())  # length of the record's data, without the frame
IMAGE_START = pa.field("image_start", pa.int32())  # offset of the image in that data; `source_bytes` is its length
# Of the raw file, for the new index.
KEY_PREFIX = pa.field("key_prefix", pa.int32())  # characters of the key that are not in the record
RAW_CHANGES = pa.field("raw_changes", pa.string())
RAW_SHA256 = pa.field("raw_sha256", pa.binary(32))  # null where `content_sha256` has it
LOCATION = (PATH, OFFSET, RECORD_BYTES, IMAGE_START, KEY_PREFIX, RAW_CHANGES, RAW_SHA256)
# Of sources with adopted records only: names of features in the record, null for shardkit's own names.
STORED_KEY = pa.field("stored_key", pa.string())  # '' if the record has no key
STORED_MASK = pa.field("stored_mask", pa.string())

_BOXES = f"{names.OBJECTS}bbox"
_ARROW_TYPES = {"int64": pa.int64(), "float32": pa.float32(), "bytes": pa.string()}


def listing_schema(
    features: Mapping[str, Feature], *, with_groups: bool, with_adopted: bool, with_unlabelled: bool, where: str
) -> pa.Schema:
    """Return the columns of a dataset's listing."""
    fields = [*LISTING_SCHEMA, *LOCATION, *CHECKED_FIELDS]
    if with_adopted:
        fields += [STORED_KEY, STORED_MASK]
    if with_unlabelled:
        fields.append(IS_UNLABELLED)
    if with_groups:
        fields.append(GROUP)
    return pa.schema([*fields, *annotation_fields(features, where)])


def annotation_fields(features: Mapping[str, Feature], where: str) -> list[pa.Field]:
    """Return the columns of a listing that features other than the image, its size and the key are made from."""
    fields: list[pa.Field] = []
    objects = [
        pa.field(name.removeprefix(names.OBJECTS), _type_of_list(name, one, where))
        for name, one in features.items()
        if name.startswith(names.OBJECTS) and name not in {_BOXES, names.OBJECT_LABELS}
    ]
    if names.OBJECT_LABELS in features:
        fields += [ANNOTATED_WIDTH, ANNOTATED_HEIGHT, objects_field(objects)]
    elif names.LABELS in features:
        fields.append(LABEL_NAMES)
    elif names.MASK in features:
        fields.append(MASK_PATH)
    elif names.LABEL not in features:
        fields.append(UNLABELLED)
    elif features[names.LABEL].role == "scalar":
        shape = features[names.LABEL].shape
        fields.append(target_field(shape[0] or 1 if shape else 1))
    return fields + [feature_field(name, _type(name, features[name], where)) for name in carried(features)]


def carried(features: Mapping[str, Feature]) -> list[str]:
    """Return the names of the features that were columns of the first source."""
    known = {*names.ALWAYS, names.label_feature(features) or names.LABEL, names.MASK}
    return [name for name in features if name not in known and not name.startswith(names.OBJECTS)]


def is_in_index(features: Mapping[str, Feature]) -> bool:
    """Return whether the index of a shard has everything that listing needs, so that no record is read for it."""
    own = features.keys() - names.ALWAYS.keys()
    return own <= {names.LABEL} and all(features[name].role == "class_label" for name in own)


def _type(name: str, feature: Feature, where: str) -> pa.DataType:
    if feature.role not in {"text", "scalar"} or feature.shape not in {(), (None,)}:
        msg = f"{where}: the feature {name!r} ({feature.dtype}, {feature.role}) is none that shardkit can convert"
        raise DataError(f"{msg} again; convert the source of the dataset, or read it with shardkit.reader")
    type_ = _ARROW_TYPES[feature.dtype]
    return pa.list_(type_) if feature.shape else type_


def _type_of_list(name: str, feature: Feature, where: str) -> pa.DataType:
    type_ = _type(name, feature, where)
    return type_.value_type if pa.types.is_list(type_) else type_


def annotations(
    values: Mapping[str, Sequence[Any]],
    features: Mapping[str, Feature],
    classes: Sequence[str],
    key: str,
    size: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    """Return a record's values of the columns that the index does not have.

    `size` is the picture's width and height in pixels, to which fractions are brought back if it may lie on its side.
    KeyError, IndexError and ValueError say that the record lacks a feature, has a label that is no class, or has
    features of objects that differ in length.
    """
    found: dict[str, Any] = {}
    if names.OBJECT_LABELS in features:
        found |= dict(zip((ANNOTATED_WIDTH.name, ANNOTATED_HEIGHT.name), size, strict=True))
        found["objects"] = _objects(values, features, classes, size)
    elif names.LABELS in features:
        is_unlabelled = list(values[names.LABELS]) == [names.NO_LABEL]
        found[LABEL_NAMES.name] = None if is_unlabelled else [_class(classes, one) for one in values[names.LABELS]]
    elif names.MASK in features:
        found[MASK_PATH.name] = key
    elif names.LABEL in features and features[names.LABEL].role == "scalar":
        found["target"] = [float(value) for value in values[names.LABEL]]
    for name in carried(features):
        read = [_text(value) for value in values[name]] if features[name].role == "text" else list(values[name])
        found[FEATURE_PREFIX + name] = read if features[name].shape else read[0]
    return found


def _objects(
    values: Mapping[str, Sequence[Any]], features: Mapping[str, Feature], classes: Sequence[str], size: tuple[int, int]
) -> list[dict[str, Any]]:
    sides = values[_BOXES]
    boxes = [list(sides[at : at + 4]) for at in range(0, len(sides), 4)]
    if any(size):
        pixels = (*reversed(size), *reversed(size))  # as float32, a fraction is the same after this and the division
        boxes = [[side * num for side, num in zip(box, pixels, strict=True)] for box in boxes]
    labels = [_class(classes, label) for label in values[names.OBJECT_LABELS]]
    more = {
        name.removeprefix(names.OBJECTS): [
            _text(value) if isinstance(value, bytes) else value for value in values[name]
        ]
        for name in features
        if name.startswith(names.OBJECTS) and name not in {_BOXES, names.OBJECT_LABELS}
    }
    numbered = [f"object {number}" for number in range(len(boxes))]
    rows = zip(boxes, labels, numbered, *more.values(), strict=True)
    return [dict(zip(("bbox", "label_name", "name", *more), row, strict=True)) for row in rows]


def _class(classes: Sequence[str], label: int) -> str:
    if label < 0:  # Python would count it from the end
        raise IndexError(label)
    return classes[label]


def _text(value: bytes) -> str:
    return bytes(value).decode()
