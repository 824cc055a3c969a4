"""Scan one TFRecord file: check the CRCs of all records, and collect the rows of its index.

The file is read once, front to back. Nothing is decoded but the headers of the images.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from shardkit import images
from shardkit.dataset.foreign.box_features import box_sides
from shardkit.dataset.foreign.frames import frames
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.values import Features, Kind, Record, kind_of, read_record
from shardkit.dataset.index.file import SCHEMA
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.errors import RecordError
from shardkit.hashing import HashedFile
from shardkit.images.boxes import has_area
from shardkit.images.gps import has_gps
from shardkit.naming import printable

_BLOCK_ROWS = 1 << 14  # a row takes ten times as much memory as in a table
_MAX_PROBLEMS = 20  # of a file; the scan goes on behind a damaged record
_FORMATS = {"JPEG", "PNG"}
_NOT_DECODED = "jpeg_process"  # arithmetic coding and the lossless process, which TensorFlow cannot decode
_LISTS = {"classes", "objects"}  # kinds of labels of which a record may have none
_MASK_DEPTH, _MASK_COLOUR = 24, 25  # bytes of a PNG's IHDR: bits of a sample, and the kind of samples
_GREY = 0
_DEPTHS = {8, 16}
_SUMS = ("num_rotated", "num_bad_boxes", "num_with_gps", "num_without_labels")
MixedKind: TypeAlias = Kind | Literal["mixed"]

# The rows of an index, in which what all records decide is null; the key, too, if there is no text for it.
ROWS = pa.schema([field.with_nullable(True) for field in SCHEMA])  # noqa: FBT003


class ScanProblem(NamedTuple):
    """Why a record cannot be adopted."""

    number: int
    sentence: str  # without the record's place
    is_end: bool = False  # nothing after it can be read


class FeatureCount(NamedTuple):
    """What records hold of one feature."""

    kind: MixedKind  # of its values or empty lists; "empty" if no record says it, "mixed" if records differ
    num_records: int  # that have the feature
    fewest: int  # values in one of them
    most: int

    def differs(self, other: "FeatureCount") -> bool:
        """Return whether the kinds are known and differ."""
        return self.kind != other.kind and "empty" not in {self.kind, other.kind}

    def plus(self, other: "FeatureCount") -> "FeatureCount":
        """Return what both hold together."""
        kind = "mixed" if self.differs(other) else other.kind if self.kind == "empty" else self.kind
        fewest, most = min(self.fewest, other.fewest), max(self.most, other.most)
        return FeatureCount(kind, self.num_records + other.num_records, fewest, most)


@dataclass(slots=True)
class Found:
    """What the records of a file hold besides their rows."""

    num_bytes: int = 0
    sha256: str = ""
    problems: list[ScanProblem] = field(default_factory=list)  # at most _MAX_PROBLEMS
    features: dict[str, FeatureCount] = field(default_factory=dict)
    class_texts: dict[int, str] = field(default_factory=dict)  # names of class numbers; "" for several or none
    lowest: int = 1 << 31  # label
    highest: int = -1  # label; -1 for none
    where_highest: str = ""  # the first record with it
    num_rotated: int = 0  # images whose EXIF orientation is not upright
    num_bad_boxes: int = 0  # boxes that are not within the image or have no area
    num_with_gps: int = 0
    num_without_labels: int = 0  # records that lack the list of labels
    uneven: list[str] = field(default_factory=list)  # fields of objects that have more or fewer values than labels
    key_problem: str | None = None  # why the feature of the keys has none, with the record

    def name_class(self, label: int, text: str) -> None:
        """Add the name that a record gives to a class number."""
        if self.class_texts.setdefault(label, text) != text:
            self.class_texts[label] = ""

    def count(self, name: str, more: FeatureCount) -> None:
        """Add what records hold of a feature."""
        self.features[name] = self.features[name].plus(more) if name in self.features else more

    def add(self, path: str, other: "Found") -> None:
        """Add what the records of a file hold, but not their problems."""
        for name, count in other.features.items():
            self.count(name, count)
        for label, text in other.class_texts.items():
            self.name_class(label, text)
        self.lowest = min(self.lowest, other.lowest)
        if other.highest > self.highest:
            self.highest, self.where_highest = other.highest, f"{path}, {other.where_highest}"
        if self.key_problem is None and other.key_problem is not None:
            self.key_problem = f"{path}, {other.key_problem}"
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.uneven += [name for name in other.uneven if name not in self.uneven]


class Scan(NamedTuple):
    """The rows of a file, of the schema ROWS and none if there are problems, and what else it holds."""

    rows: pa.Table
    found: Found


Scans: TypeAlias = Callable[[], Iterator[Scan]]  # reads the scans of all files, one by one


def needed_features(layout: RecordLayout) -> frozenset[str]:
    """Return the names of the features without which a record cannot be adopted."""
    label = () if layout.label.kind == "none" else (layout.label.name,)
    return frozenset({layout.image.name, *label, *(layout.boxes.sides if layout.boxes else ())})


def scan_file(file: BinaryIO, layout: RecordLayout) -> Scan:
    """Scan an open TFRecord file from its start."""
    hashed, found, needed = HashedFile(file), Found(), needed_features(layout)
    rows, blocks = list[dict[str, Any]](), [ROWS.empty_table()]
    kinds: dict[str, Kind] = {}  # of the needed features
    shapes = Counter[tuple[str, Kind, int]]()  # number of records with this kind and number of values of a feature
    num_records = 0
    for frame in frames(hashed.buffered()):
        num_records += not frame.is_end
        at = frame.offset - HEADER_BYTES
        try:
            if frame.problem is not None:
                raise RecordError(f"at byte {at}: {frame.problem}")
            record = read_record(frame.data)
            _count(record, needed, kinds, shapes)
            rows.append({"offset": at, "length": len(frame.data), **_row(record, frame.number, layout, found)})
            if len(rows) == _BLOCK_ROWS:
                blocks.append(pa.Table.from_pylist(rows, ROWS))
                rows.clear()
        except RecordError as error:
            found.problems.append(ScanProblem(frame.number, str(error), frame.is_end))
            if len(found.problems) >= _MAX_PROBLEMS:
                break
    if found.num_without_labels == num_records > 0 and not found.problems:  # of another program, not of no objects
        lacking = f"it has no feature {printable(layout.label.name)!r}, which holds the labels"
        found.problems.append(ScanProblem(0, f"{lacking}, nor has any record of the file"))
    for (name, kind, num_values), number in shapes.items():
        found.count(name, FeatureCount(kind, number, num_values, num_values))
    found.num_bytes, found.sha256 = hashed.num_bytes, hashed.sha256
    table = pa.concat_tables([*blocks, pa.Table.from_pylist(rows, ROWS)])
    return Scan(ROWS.empty_table() if found.problems else table, found)


def _count(
    record: Record, needed: frozenset[str], kinds: dict[str, Kind], shapes: Counter[tuple[str, Kind, int]]
) -> None:
    for name, values in record.features.items():
        kind: Kind = kind_of(values[0]) if values else record.empty.get(name, "empty")
        if name in needed and kind != "empty" and kinds.setdefault(name, kind) != kind:
            what = kind if values else f"an empty list of {kind}"
            raise RecordError(f"its feature {printable(name)!r} is {what}, in records before it {kinds[name]}")
        shapes[name, kind, len(values)] += 1


def _row(record: Record, number: int, layout: RecordLayout, found: Found) -> dict[str, Any]:
    """Return a record's values for `ROWS`, without its place; RecordError is a sentence without it."""
    features = record.features
    image = _only_bytes(features.get(layout.image.name, []), f"its feature {printable(layout.image.name)!r}", "image")
    try:
        info = images.inspect(image)
    except images.BadImage as error:
        raise RecordError(f"the image in {printable(layout.image.name)!r}: {error}") from None
    if info.format not in _FORMATS or _NOT_DECODED in info.changes:
        what = "a JPEG of a process that TensorFlow does not decode" if info.format == "JPEG" else f"a {info.format}"
        raise RecordError(f"the image is {what}; the reader decodes ordinary JPEGs and PNGs")
    found.num_rotated += info.orientation != 1
    found.num_with_gps += has_gps(image)
    if layout.label.kind == "masks":
        _check_mask(_only_bytes(features.get(layout.label.name, []), "its feature of the mask", "mask"), info)
    labels = _labels(features, layout, found)
    if labels:
        found.lowest = min(found.lowest, *labels)
        if max(labels) > found.highest:
            found.highest, found.where_highest = max(labels), f"record {number}"
    start, num_bytes = record.locate(layout.image.name)
    return {
        "key": _key(features, number, layout.key, found),
        "label": labels[0] if labels and layout.label.kind == "class" else None,
        "labels": sorted(set(labels)) if labels is not None and layout.label.kind in _LISTS else None,
        "height": info.height,
        "width": info.width,
        "format": info.format,
        "image_start": start,
        "image_bytes": num_bytes,
        "source_bytes": num_bytes,
        "content_sha256": hashlib.sha256(image).digest(),
        "changes": "",
    }


def _key(features: Features, number: int, name: str | None, found: Found) -> str | None:
    """Return a record's key; None if there is none, or one before it had none."""
    if name is None or found.key_problem is not None:
        return None
    key, problem = next(iter(features.get(name, [])), None), f"there is no text in {printable(name)!r}"
    try:
        text = key.decode() if isinstance(key, bytes) else ""
        if text.isprintable() and text:
            return text
        if text:
            problem = f"{printable(name)!r} has control characters"
    except UnicodeDecodeError:
        problem = f"there is a text that is not UTF-8 in {printable(name)!r}"
    found.key_problem = f"record {number}: {problem}, so it cannot be the key"
    return None


def _only_bytes(values: Sequence[Any], what: str, expected: str) -> bytes:
    if len(values) == 1 and isinstance(values[0], bytes):
        return values[0]
    raise RecordError(f"{what} has {len(values)} values; one {expected} is expected")


def _labels(features: Features, layout: RecordLayout, found: Found) -> Sequence[int] | None:
    """Return the classes of a record; None if its labels are none."""
    name, kind = printable(layout.label.name), layout.label.kind
    if kind in {"masks", "none"}:
        return None
    values: Sequence[Any] | None = features.get(layout.label.name)
    if values is None:
        if kind not in _LISTS:
            raise RecordError(f"it has no feature {name!r}, which holds the labels")
        values = []  # many writers leave out empty lists
        found.num_without_labels += 1
    if kind == "numbers":
        if len(values) != layout.label.num_targets:
            raise RecordError(f"its {name!r} has {len(values)} values, and those before it {layout.label.num_targets}")
        return None
    if kind == "class" and len(values) != 1:
        raise RecordError(f"its {name!r} has {len(values)} values; one class is expected")
    for value in values:
        if not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise RecordError(f"its label in {name!r} is {value!r}; class numbers from 0 are expected")
    if layout.boxes is not None:
        sides = box_sides(layout.boxes.sides, features, len(values))
        found.num_bad_boxes += sum(not has_area(box) for box in zip(*sides, strict=True))
        fields = [field for field, _, _ in layout.boxes.extra if len(features.get(field, [])) != len(values)]
        found.uneven += [field for field in fields if field not in found.uneven]
    texts: Sequence[Any] = features.get(layout.label.names or "", [])
    if len(texts) == len(values):
        for value, text in zip(values, texts, strict=True):
            found.name_class(value, text.decode("utf-8", "replace").strip())
    return values


def _check_mask(mask: bytes, info: images.ImageInfo) -> None:
    """Check by its header that the reader gets a mask's numbers.

    TensorFlow replaces the numbers in a palette by colours, and scales those of fewer than 8 bits.
    """
    try:
        header = images.inspect(mask)
    except images.BadImage as error:
        raise RecordError(f"the mask: {error}") from None
    if header.format != "PNG" or mask[_MASK_COLOUR] != _GREY or mask[_MASK_DEPTH] not in _DEPTHS:
        what = f"the mask is a {header.format}, and the reader gets numbers from grey PNGs of 8 or 16 bits"
        raise RecordError(f"{what}; write it so")
    if (header.width, header.height) != (info.width, info.height):
        sizes = f"{header.width} x {header.height} pixels, the image {info.width} x {info.height}"
        raise RecordError(f"the mask has {sizes}")
