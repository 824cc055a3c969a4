"""Compare an example with the manifest and with its row of the index."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardkit import images
from shardkit.dataset import example, features
from shardkit.dataset.features import Feature
from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.stored_names import StoredAs, names_in_records, with_own_names
from shardkit.errors import RecordError
from shardkit.images.boxes import has_area


@dataclass(frozen=True, slots=True)
class ExampleSpec:
    """Features and class names, in label order, of the examples of a dataset; `stored_names` explains ``stored_as``."""

    features: Mapping[str, Feature]
    classes: Sequence[str]
    stored_as: StoredAs = field(default_factory=dict)


def example_problems(data: bytes, row: dict[str, Any] | None, spec: ExampleSpec, *, deep: bool) -> Iterator[str]:
    """Find the problems of one record.

    Args:
        data: The record's data.
        row: The record's row of the index; None if the index is damaged.
        spec: Features and classes of every example.
        deep: Whether to decode the image too.
    """
    try:
        stored = example.decode(data)
        if spec.stored_as:
            stored = _adopted(stored, row, spec)
    except (RecordError, images.BadImage) as error:
        yield str(error)
        return
    if wrong := list(_shape_problems(stored, spec.features)):
        yield from wrong
        return
    image, key = bytes(stored["image"][0]), bytes(stored["key"][0])  # type: ignore[arg-type] # _shape_problems checked it
    width, height = stored["width"][0], stored["height"][0]
    labels = _labels(stored)
    if row is not None:
        yield from _row_problems(row, data, image, stored, labels)
        # Without a change the image is the raw file, whose size and hash the index has.
        if deep and not row["changes"]:
            yield from _raw_file_problems(row, image)
    is_unlabelled = labels == [features.NO_LABEL] and features.OBJECT_LABELS not in spec.features
    bad_labels = {label for label in labels or () if not 0 <= label < len(spec.classes)}
    for label in () if is_unlabelled else sorted(bad_labels):
        yield f"label {label} is none of the manifest's {len(spec.classes)} classes"
    if row is not None and row["label"] is not None and row["label"] < len(spec.classes):
        name = None if row["label"] == features.NO_LABEL else spec.classes[row["label"]]
        if row["label_name"] != name:
            yield f"label {row['label']} is {name!r} in the manifest and {row['label_name']!r} in the index"
    if not spec.stored_as:  # boxes of others are adopted as they are
        yield from _box_problems(stored)
    try:
        info = images.check(image) if deep else images.inspect(image)
        if (info.width, info.height) != (width, height):
            yield f"the image has {info.width} x {info.height} pixels, the example says {width!r} x {height!r}"
        if row is not None and info.format != row["format"]:
            yield f"the image is a {info.format}, the index says {row['format']}"
        if features.MASK in stored:
            mask = images.check_mask(bytes(stored[features.MASK][0]))  # type: ignore[arg-type] # checked above
            if (mask.width, mask.height) != (width, height):
                yield f"the mask has {mask.width} x {mask.height} pixels, the image {width!r} x {height!r}"
    except images.BadImage as error:
        yield f"key {key.decode(errors='replace')!r}: {error}"


def _adopted(stored: "_Stored", row: dict[str, Any] | None, spec: ExampleSpec) -> "_Stored":
    """Return the features of a record that others wrote: what it lacks is in its row, else in its image."""
    own = with_own_names(stored, spec.stored_as, spec.features)
    values: _Stored = {name: own[name] for name in spec.features if name in own}
    lacking = [name for name in spec.features if not names_in_records(name, spec.stored_as)]
    if not lacking or not values.get(features.IMAGE):
        return values
    if row is None:
        info = images.inspect(bytes(values[features.IMAGE][0]))  # type: ignore[arg-type] # of a damaged type: reported
        row = {"key": "unknown", "height": info.height, "width": info.width}
    return values | {name: [row[name].encode() if name == "key" else row[name]] for name in lacking}


_TYPES = {"bytes": bytes, "int64": int, "float32": float}
_Stored = dict[str, list[bytes] | list[int] | list[float]]


def _shape_problems(stored: _Stored, wanted: Mapping[str, Feature]) -> Iterator[str]:
    """Find features that are missing, or have another type or number of values than in the manifest."""
    lengths = set[int]()
    for name, feature in wanted.items():
        values = stored.get(name)
        if values is None:
            yield f"the example lacks {name}"
            continue
        if not all(isinstance(value, _TYPES[feature.dtype]) for value in values):
            yield f"the example's {name} is not of type {feature.dtype}"
        sides = [side for side in feature.shape if side is not None]
        width = math.prod(sides)
        if len(sides) == len(feature.shape) and len(values) != width:
            yield f"the example's {name} has {len(values)} values, not {width}"
        elif len(values) % width:
            yield f"the example's {name} has {len(values)} values, which is not a multiple of {width}"
        elif name.startswith(features.OBJECTS):
            lengths.add(len(values) // width)
    if len(lengths) > 1:
        yield f"the example's objects have fields of different lengths: {sorted(lengths)}"


def _labels(stored: _Stored) -> list[int] | None:
    name = features.label_feature(stored)
    if name is None or not all(isinstance(value, int) for value in stored[name]):
        return None
    return [int(value) for value in stored[name]]


def _row_problems(
    row: dict[str, Any], data: bytes, image: bytes, stored: _Stored, labels: list[int] | None
) -> Iterator[str]:
    found: dict[str, Any] = {name: stored[name][0] for name in ("height", "width")}
    found["key"] = bytes(stored["key"][0]).decode(errors="replace")  # type: ignore[arg-type] # checked before
    found["key_hash"] = int(key_hashes([row["key"]])[0])
    is_single = features.LABEL in stored and labels is not None
    found["label"] = labels[0] if is_single and labels else None
    found["labels"] = None if is_single or labels is None else sorted(set(labels))
    if data[row["image_start"] : row["image_start"] + row["image_bytes"]] != image:
        yield "the image's bytes are not where the index says"
    for name, value in found.items():
        if row[name] != value:
            yield f"{name} is {value!r}, the index says {row[name]!r}"


def _raw_file_problems(row: dict[str, Any], image: bytes) -> Iterator[str]:
    if row["source_bytes"] != len(image):
        yield f"the image has {len(image)} bytes, the index says {row['source_bytes']} of an unchanged file"
    elif hashlib.sha256(image).digest() != row["content_sha256"]:
        yield "the image's sha256 is not the one of an unchanged file in the index"


def _box_problems(stored: _Stored) -> Iterator[str]:
    sides = stored.get(f"{features.OBJECTS}bbox", [])
    for number, (ymin, xmin, ymax, xmax) in enumerate(zip(*[iter(sides)] * 4, strict=True)):
        if not has_area((ymin, xmin, ymax, xmax)):
            corners = f"({ymin:g}, {xmin:g}, {ymax:g}, {xmax:g})"
            yield f"box {number} (ymin, xmin, ymax, xmax) = {corners} is not a box within the image"
