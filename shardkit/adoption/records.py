"""Check one record that is adopted, and make its row of the index. Only the headers of images are decoded."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from shardkit import images
from shardkit.dataset.foreign.box_features import box_sides
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.values import Features, Kind, Record, kind_of
from shardkit.dataset.index.file import SCHEMA
from shardkit.errors import RecordError
from shardkit.images.boxes import has_area
from shardkit.images.gps import has_gps
from shardkit.naming import printable

UNCLEAR = ""  # the name of a class that has several, or none
_FORMATS = {"JPEG", "PNG"}
_NOT_DECODED = "jpeg_process"  # arithmetic coding and the lossless process, which TensorFlow cannot decode
_LISTS = {"classes", "objects"}  # kinds of labels of which a record may have none
_MASK_DEPTH, _MASK_COLOUR = 24, 25  # bytes of a PNG's IHDR: bits of a sample, and the kind of samples
_GREY = 0
_DEPTHS = {8, 16}
MixedKind: TypeAlias = Kind | Literal["mixed"]

# The columns of an index that one record alone decides, and the text from which its key is made.
ROWS = pa.schema(
    [SCHEMA.field(name) for name in ("offset", "length", "label", "labels", "height", "width", "format")]
    + [SCHEMA.field(name) for name in ("image_start", "image_bytes", "content_sha256")]
    + [pa.field("key_text", pa.binary())]
)


@dataclass(slots=True)
class FeatureCount:
    """What the records of a file hold of one feature.

    Attributes:
        kind: Kind of its values or of its empty lists; "empty" if no record says it, "mixed" if records differ.
        num_records: Number of records that have the feature.
        fewest: Smallest number of values of those.
        most: Largest number.
        first: Number of the first record that has it.
    """

    kind: MixedKind
    num_records: int
    fewest: int
    most: int
    first: int


@dataclass(slots=True)
class Found:
    """What records hold besides their rows.

    Attributes:
        features: Their features by name.
        class_texts: Names that the records give to class numbers; UNCLEAR if they differ.
        num_rotated: Number of images whose EXIF orientation is not upright.
        num_bad_boxes: Number of boxes that are not within the image or have no area.
        num_with_gps: Number of images whose metadata holds a GPS position.
        num_without_labels: Number of records that lack the list of labels.
        uneven: Fields of objects that have, in some record, another number of values than there are labels.
    """

    features: dict[str, FeatureCount] = field(default_factory=dict)
    class_texts: dict[int, str] = field(default_factory=dict)
    num_rotated: int = 0
    num_bad_boxes: int = 0
    num_with_gps: int = 0
    num_without_labels: int = 0
    uneven: list[str] = field(default_factory=list)

    def add(self, other: "Found") -> None:
        """Add what the records of another file hold, but not their features; see `merge_counts`."""
        for label, text in other.class_texts.items():
            if self.class_texts.setdefault(label, text) != text:
                self.class_texts[label] = UNCLEAR
        self.num_rotated += other.num_rotated
        self.num_bad_boxes += other.num_bad_boxes
        self.num_with_gps += other.num_with_gps
        self.num_without_labels += other.num_without_labels
        self.uneven += [name for name in other.uneven if name not in self.uneven]


def needed_features(layout: RecordLayout) -> frozenset[str]:
    """Return the names of the features without which a record cannot be adopted."""
    label = () if layout.label.kind == "none" else (layout.label.name,)
    return frozenset({layout.image.name, *label, *(layout.boxes.sides if layout.boxes else ())})


def row_of(record: Record, number: int, layout: RecordLayout, found: Found) -> dict[str, Any]:
    """Return the columns of `ROWS` that a record decides, all but its place in the file.

    Args:
        record: The record.
        number: Its number in the file.
        layout: Which feature is what.
        found: Receives what the record holds besides.

    Raises:
        RecordError: The record cannot be adopted; the message is a sentence without its place.
    """
    features = record.features
    _count(record, needed_features(layout), number, found)
    image = _only_bytes(features.get(layout.image.name, []), f"its feature {printable(layout.image.name)!r}", "image")
    try:
        info = images.inspect(image)
    except images.BadImage as error:
        msg = f"the image in {printable(layout.image.name)!r}: {error}"
        raise RecordError(msg) from None
    if info.format not in _FORMATS or _NOT_DECODED in info.changes:
        what = "a JPEG of a process that TensorFlow does not decode" if info.format == "JPEG" else f"a {info.format}"
        msg = f"the image is {what}; the reader decodes ordinary JPEGs and PNGs"
        raise RecordError(msg)
    found.num_rotated += info.orientation != 1
    found.num_with_gps += has_gps(image)
    if layout.label.kind == "masks":
        _check_mask(_only_bytes(features.get(layout.label.name, []), "its feature of the mask", "mask"), info)
    label, labels = _labels(features, layout, found)
    image_start, image_bytes = record.locate(layout.image.name)
    return {
        "label": label,
        "labels": labels,
        "height": info.height,
        "width": info.width,
        "format": info.format,
        "image_start": image_start,
        "image_bytes": image_bytes,
        "content_sha256": hashlib.sha256(image).digest(),
        "key_text": _key_text(features, layout.key),
    }


def _count(record: Record, needed: frozenset[str], number: int, found: Found) -> None:
    for name, values in record.features.items():
        kind: Kind = kind_of(values[0]) if values else record.empty.get(name, "empty")
        count = found.features.get(name)
        if count is None:
            found.features[name] = FeatureCount(kind, 1, len(values), len(values), number)
            continue
        if kind not in {"empty", count.kind}:
            if count.kind != "empty" and name in needed:
                what = kind if values else f"an empty list of {kind}"
                msg = f"its feature {printable(name)!r} is {what}, in records before it {count.kind}"
                raise RecordError(msg)
            count.kind = kind if count.kind == "empty" else "mixed"
        count.num_records += 1
        count.fewest, count.most = min(count.fewest, len(values)), max(count.most, len(values))


def _only_bytes(values: Sequence[Any], what: str, expected: str) -> bytes:
    if len(values) == 1 and isinstance(values[0], bytes):
        return values[0]
    msg = f"{what} has {len(values)} values; one {expected} is expected"
    raise RecordError(msg)


def _labels(features: Features, layout: RecordLayout, found: Found) -> tuple[int | None, list[int] | None]:
    """Return the columns `label` and `labels` of the record's row."""
    name, kind = layout.label.name, layout.label.kind
    if kind in {"masks", "none"}:
        return None, None
    values: Sequence[Any] | None = features.get(name)
    if values is None:
        if kind not in _LISTS:
            msg = f"it has no feature {printable(name)!r}, which holds the labels"
            raise RecordError(msg)
        values = []  # many writers leave out empty lists
        found.num_without_labels += 1
    if kind == "numbers":
        if len(values) != layout.label.num_targets:
            msg = f"its {printable(name)!r} has {len(values)} values, and those before it {layout.label.num_targets}"
            raise RecordError(msg)
        return None, None
    if kind == "class" and len(values) != 1:
        msg = f"its {printable(name)!r} has {len(values)} values; one class is expected"
        raise RecordError(msg)
    for value in values:
        if not isinstance(value, int) or not 0 <= value < 1 << 31:
            msg = f"its label in {printable(name)!r} is {value!r}; class numbers from 0 are expected"
            raise RecordError(msg)
    if kind == "objects":
        _check_boxes(features, layout, len(values), found)
    texts: Sequence[Any] = features.get(layout.label.names or "", [])
    if len(texts) == len(values):
        for value, text in zip(values, texts, strict=True):
            class_name = text.decode("utf-8", "replace").strip()
            if found.class_texts.setdefault(value, class_name) != class_name:
                found.class_texts[value] = UNCLEAR
    return (values[0], None) if kind == "class" else (None, sorted(set(values)))


def _check_mask(mask: bytes, info: images.ImageInfo) -> None:
    """Check a mask by its header.

    TensorFlow replaces the numbers in a palette by colours, and scales those of fewer than 8 bits.

    Raises:
        RecordError: The reader would not get its numbers.
    """
    try:
        header = images.inspect(mask)
    except images.BadImage as error:
        msg = f"the mask: {error}"
        raise RecordError(msg) from None
    if header.format != "PNG" or mask[_MASK_COLOUR] != _GREY or mask[_MASK_DEPTH] not in _DEPTHS:
        msg = f"the mask is a {header.format}, and the reader gets numbers from grey PNGs of 8 or 16 bits; write it so"
        raise RecordError(msg)
    if (header.width, header.height) != (info.width, info.height):
        sizes = f"{header.width} x {header.height} pixels, the image {info.width} x {info.height}"
        msg = f"the mask has {sizes}"
        raise RecordError(msg)


def _check_boxes(features: Features, layout: RecordLayout, num_labels: int, found: Found) -> None:
    if layout.boxes is None:
        return
    sides = box_sides(layout.boxes.sides, features, num_labels)
    for name, _, _ in layout.boxes.extra:
        if len(features.get(name, [])) != num_labels and name not in found.uneven:
            found.uneven.append(name)
    found.num_bad_boxes += sum(not has_area(box) for box in zip(*sides, strict=True))


def _key_text(features: Mapping[str, Sequence[Any]], name: str | None) -> bytes | None:
    values = features.get(name) if name is not None else None
    return values[0] if values and isinstance(values[0], bytes) and values[0] else None
