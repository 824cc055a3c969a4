"""The columns of an inventory and its rejected rows; the features that columns become, and their encoding."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from shardkit.dataset import example, features
from shardkit.dataset.features import Feature
from shardkit.errors import DataError
from shardkit.images.boxes import BadBox, place_objects
from shardkit.images.info import ImageInfo
from shardkit.reject_reasons import BAD_BOX, BAD_VALUE
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    CHECKED_FIELDS,
    FEATURE_PREFIX,
    LAST_CLASS,
    LISTING_SCHEMA,
    MASK_COLOURS,
    MASK_SHA256,
    NUM_CLIPPED,
    OBJECTS,
    OFFSET,
    PATH,
    UNLABELLED,
)

INVENTORY_SCHEMA = pa.schema([*LISTING_SCHEMA, *CHECKED_FIELDS])

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("source_bytes", pa.int64(), nullable=False),
    ]
)
# An image of a PCollection that has a URI is read again there. One that is given as bytes is appended to a file of many
# images, and read again at PATH and OFFSET.
URI = pa.field("uri", pa.string())
MASK_URI = pa.field("mask_uri", pa.string())  # of its mask
STAGED_FIELDS = [PATH, OFFSET, URI, MASK_URI]
LABEL_NAMES, TARGET, MASK_PATH = "label_names", "target", "mask_path"
_NOT_STORED = {"bbox", "label_name", "name"}  # fields of an object that are stored under other names or not at all
# Names that a carried column must not take.
_RESERVED = {*features.ALWAYS, features.LABEL, features.LABELS, features.MASK, OBJECTS, "weight"}


class Reject(NamedTuple):
    """A rejected file or, with 0 bytes, a rejected annotation of a file; a row of REJECTED_SCHEMA."""

    key: str
    reason: str
    message: str
    source_bytes: int
    split: str | None = None  # the source's own, of a file that reading has rejected
    facts: str | None = None  # what else the source says of that file, as a JSON object of a listing's columns


def info_of(row: Mapping[str, Any]) -> ImageInfo:
    """Return what checking found in the header of a row's image."""
    changes = tuple(row["changes"].split(",")) if row["changes"] else ()
    return ImageInfo(row["format"], row["width"], row["height"], row["orientation"], changes)


def inventory_schema(listing_schema: pa.Schema) -> pa.Schema:
    """Return the columns of a source's inventory: those of its listings, and the results of checking."""
    masks = [MASK_SHA256, LAST_CLASS] if MASK_PATH in listing_schema.names else []
    boxes = [NUM_CLIPPED] if OBJECTS in listing_schema.names else []
    more = [field for field in (*CHECKED_FIELDS, *masks, *boxes) if field.name not in listing_schema.names]
    return pa.schema([*listing_schema, *more])


def annotation_columns(schema: pa.Schema) -> list[str]:
    """Return the columns, besides label_name, from which features other than the image are made."""
    known = {OBJECTS, LABEL_NAMES, TARGET, MASK_PATH, MASK_COLOURS.name}
    return [name for name in schema.names if name in known or name.startswith(FEATURE_PREFIX)]


def features_of(schema: pa.Schema) -> dict[str, Feature]:
    """Return the features of the examples of a listing or plan with these columns, sorted by name."""
    found = dict(features.ALWAYS)
    if OBJECTS in schema.names:
        found[f"{features.OBJECTS}bbox"] = features.BOXES
        found[features.OBJECT_LABELS] = features.CLASS_LABELS
        for field in _object_fields(schema):
            found[features.OBJECTS + field.name] = _feature(pa.list_(field.type))
    elif LABEL_NAMES in schema.names:
        found[features.LABELS] = features.CLASS_LABELS
    elif TARGET in schema.names:
        size = schema.field(TARGET).type.list_size
        found[features.LABEL] = Feature(dtype="float32", role="scalar", shape=() if size == 1 else (size,))
    elif MASK_PATH in schema.names:
        found[features.MASK] = features.MASK_FEATURE
    elif UNLABELLED.name not in schema.names:
        found[features.LABEL] = features.CLASS_LABEL
    column_of: dict[str, str] = {}
    for field in schema:
        if not field.name.startswith(FEATURE_PREFIX):
            continue
        name, column = stored_name(field.name), field.name.removeprefix(FEATURE_PREFIX)
        if column_of.setdefault(name, column) != column:
            msg = f"the columns {column_of[name]!r} and {column!r} would both become the feature {name!r}; rename one"
            raise DataError(msg)
        found[name] = _feature(field.type)
    return dict(sorted(found.items()))


def stored_name(column: str) -> str:
    """Return the feature's name of a carried column: the column's name, below ``source/`` if it is reserved.

    A feature's name is its own, so that a dataset that is converted again keeps its features.
    """
    name = column.removeprefix(FEATURE_PREFIX)
    return f"source/{name}" if name in _RESERVED or name.startswith(features.OBJECTS) else name


class BadAnnotation(DataError):  # noqa: N818 -- named like images.BadImage
    """A value that its feature cannot store; ``str()`` is one sentence without the key."""

    reason = BAD_VALUE


class AnnotationEncoder:
    """Encodes a row's columns as features, except for the image, the mask and a single label."""

    def __init__(self, schema: pa.Schema, classes: Sequence[str]) -> None:
        self._label_of = {name: label for label, name in enumerate(classes)}
        self._object_fields = [
            (field.name, features.OBJECTS + field.name, _encoder(field.type))
            for field in (_object_fields(schema) if OBJECTS in schema.names else [])
        ]
        self._carried = [
            (field.name, stored_name(field.name), pa.types.is_list(field.type), _encoder(field.type))
            for field in schema
            if field.name.startswith(FEATURE_PREFIX)
        ]

    def __call__(self, row: Mapping[str, Any]) -> tuple[dict[str, bytes], list[int] | None]:
        """Return a row's encoded features, and its labels for the index, ascending; None without lists of labels.

        Boxes are placed on the upright image. If a carried value is missing, BadAnnotation is raised.
        """
        made: dict[str, bytes] = {}
        labels: list[int] | None = None
        if OBJECTS in row:
            objects = row[OBJECTS]
            found = [self._label_of[one["label_name"]] for one in objects]
            labels = sorted(set(found))
            made[f"{features.OBJECTS}bbox"] = example.float_feature([side for one in objects for side in one["bbox"]])
            made[features.OBJECT_LABELS] = example.int64_feature(tuple(found))
            for field, name, encode in self._object_fields:
                made[name] = encode([one[field] for one in objects])
        elif LABEL_NAMES in row:
            # The plan has lists for all images but those without a label.
            names = row[LABEL_NAMES]
            labels = [features.NO_LABEL] if names is None else sorted({self._label_of[name] for name in names})
            made[features.LABELS] = example.int64_feature(tuple(labels))
        elif TARGET in row:
            made[features.LABEL] = example.float_feature(row[TARGET])
        for column, name, is_list, encode in self._carried:
            value = row[column]
            if value is None:
                raise BadAnnotation(
                    f"the column {column.removeprefix(FEATURE_PREFIX)!r} is empty; fill it in, or leave the column out"
                )
            made[name] = encode(value if is_list else [value])
        return made, labels


def _object_fields(schema: pa.Schema) -> list[pa.Field]:
    return [field for field in schema.field(OBJECTS).type.value_type if field.name not in _NOT_STORED]


def _feature(type_: pa.DataType) -> Feature:
    shape: tuple[int | None, ...] = ()
    if pa.types.is_list(type_):
        shape, type_ = (None,), type_.value_type
    if pa.types.is_string(type_):
        return Feature(dtype="bytes", role="text", shape=shape)
    return Feature(dtype="float32" if pa.types.is_floating(type_) else "int64", role="scalar", shape=shape)


def _encoder(type_: pa.DataType) -> Callable[[Sequence[Any]], bytes]:
    feature = _feature(type_)
    if feature.dtype == "bytes":
        return lambda values: example.bytes_feature([value.encode() for value in values])
    if feature.dtype == "float32":
        return example.float_feature
    return lambda values: example.int64_feature(tuple(map(int, values)))


def place_boxes(row: dict[str, Any], info: ImageInfo) -> list[dict[str, Any]]:
    """Place a row's boxes, if it has any, in the row itself, or raise BadImage; return a row for each dropped box."""
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
