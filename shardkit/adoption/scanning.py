"""Scan one TFRecord file: check both CRCs of every record, and collect the rows of its index.

The file is read once, front to back. Nothing is decoded but the headers of the images.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, TypeAlias

import pyarrow as pa

from shardkit import images
from shardkit.adoption.masks import mask_problem
from shardkit.adoption.record_parser import Parsed, parser_of
from shardkit.dataset.foreign.found_features import Kind, kind_of
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.index import SCHEMA
from shardkit.dataset.tfrecord import read_records
from shardkit.errors import RecordError
from shardkit.images.boxes import has_area
from shardkit.images.gps import has_gps
from shardkit.naming import printable

MAX_PROBLEMS = 20  # of a file; the scan goes on behind a record whose frame is intact
UNCLEAR = ""  # the name of a class that has several, or none
READ_BYTES = 1 << 20  # 1 MiB
_FORMATS = {"JPEG", "PNG"}
_NOT_DECODED = "jpeg_process"  # arithmetic coding and the lossless process, which TensorFlow cannot decode
MixedKind: TypeAlias = Kind | Literal["mixed"]
_LABELS = pa.list_(pa.int32())
_LISTS = {"classes", "objects"}  # kinds of labels of which a record may have none

# The columns of an index that one record alone decides, and the text from which its key is made.
ROWS = pa.schema(
    [SCHEMA.field(name) for name in ("offset", "length", "label", "labels", "height", "width", "format")]
    + [SCHEMA.field(name) for name in ("image_start", "image_bytes", "content_sha256")]
    + [pa.field("key_text", pa.binary())]
)


class ScanError(RecordError):
    """Why a record cannot be adopted, as a sentence without its place."""


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
class Scan:
    """What the scan of a file found.

    Attributes:
        rows: A row for each record, of the schema ROWS; empty if there are problems.
        num_bytes: Size of the file in bytes.
        sha256: SHA-256 of the file, in hexadecimal.
        features: Its features by name.
        class_texts: Names that the records give to class numbers; UNCLEAR if they differ.
        num_rotated: Number of images whose EXIF orientation is not upright.
        num_bad_boxes: Number of boxes that are not within the image or have no area.
        num_with_gps: Number of images whose metadata holds a GPS position.
        num_without_labels: Number of records that lack the list of labels.
        uneven: Fields of objects that have, in some record, another number of values than there are labels.
        problems: (number of the record, sentence), at most MAX_PROBLEMS.
    """

    rows: pa.Table
    num_bytes: int
    sha256: str
    features: dict[str, FeatureCount] = field(default_factory=dict)
    class_texts: dict[int, str] = field(default_factory=dict)
    num_rotated: int = 0
    num_bad_boxes: int = 0
    num_with_gps: int = 0
    num_without_labels: int = 0
    uneven: list[str] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


def scan_file(file: BinaryIO, layout: RecordLayout) -> Scan:
    """Scan a TFRecord file.

    Args:
        file: The open file, at its start.
        layout: Which feature is what.

    Raises:
        OSError: The file cannot be read.
    """
    hashed = _Hashed(file)
    scan = Scan(ROWS.empty_table(), 0, "")
    parser, needed = parser_of(layout.image.name), needed_features(layout)
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    number = -1
    try:
        for number, (offset, data) in enumerate(read_records(hashed, name="")):
            try:
                row = _row(parser.parse(data), layout, needed, scan, number)
            except RecordError as error:
                scan.problems.append((number, str(error)))
                if len(scan.problems) >= MAX_PROBLEMS:
                    break
                continue
            for name, value in (("offset", offset), ("length", len(data)), *row.items()):
                columns[name].append(value)
    except RecordError as error:
        scan.problems.append((number + 1, str(error).removeprefix(f": record {number + 1} ")))
    if scan.num_without_labels == number + 1 > 0 and not scan.problems:  # it is of another program, not of no objects
        name = printable(layout.label.name)
        scan.problems.append((0, f"it has no feature {name!r}, which holds the labels, nor has any record of the file"))
    scan.num_bytes, scan.sha256 = hashed.num_bytes, hashed.digest.hexdigest()
    if not scan.problems:
        scan.rows = pa.table(columns, schema=ROWS)
    return scan


class _Hashed:
    """A file that is hashed while it is read, in reads of 1 MiB."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._block, self._at = file, b"", 0
        self.digest, self.num_bytes = hashlib.sha256(), 0

    def read(self, size: int, /) -> bytes:
        """See Readable."""
        end = self._at + size
        if end <= len(self._block):
            data = self._block[self._at : end]
            self._at = end
            return data
        parts = [self._block[self._at :]]
        missing = size - len(parts[0])
        while missing > 0:
            block = self._file.read(max(READ_BYTES, missing))
            if not block:
                self._block, self._at = b"", 0
                return b"".join(parts)
            self.digest.update(block)
            self.num_bytes += len(block)
            parts.append(block[:missing])
            self._block, self._at = block, min(missing, len(block))
            missing -= len(parts[-1])
        return b"".join(parts)


def needed_features(layout: RecordLayout) -> frozenset[str]:
    """Return the names of the features without which a record cannot be adopted."""
    label = () if layout.label.kind == "none" else (layout.label.name,)
    return frozenset({layout.image.name, *label, *(layout.boxes.sides if layout.boxes else ())})


def _row(parsed: Parsed, layout: RecordLayout, needed: frozenset[str], scan: Scan, number: int) -> dict[str, Any]:
    features = parsed.features
    _count(parsed, needed, scan, number)
    images_found = features.get(layout.image.name, [])
    if len(images_found) != 1 or not isinstance(images_found[0], bytes):
        msg = f"its feature {printable(layout.image.name)!r} has {len(images_found)} values; one image is expected"
        raise ScanError(msg)
    image: bytes = images_found[0]
    try:
        info = images.inspect(image)
    except images.BadImage as error:
        msg = f"the image in {printable(layout.image.name)!r}: {error}"
        raise ScanError(msg) from None
    if info.format not in _FORMATS or _NOT_DECODED in info.changes:
        what = "a JPEG of a process that TensorFlow does not decode" if info.format == "JPEG" else f"a {info.format}"
        msg = f"the image is {what}; the reader decodes ordinary JPEGs and PNGs"
        raise ScanError(msg)
    scan.num_rotated += info.orientation != 1
    scan.num_with_gps += has_gps(image)
    if layout.label.kind == "masks":
        _check_mask(features.get(layout.label.name, []), info)
    label, labels = _labels(features, layout, scan)
    return {
        "label": label,
        "labels": labels,
        "height": info.height,
        "width": info.width,
        "format": info.format,
        "image_start": parsed.image_start,
        "image_bytes": parsed.image_bytes,
        "content_sha256": hashlib.sha256(image).digest(),
        "key_text": _key_text(features, layout.key),
    }


def _count(parsed: Parsed, needed: frozenset[str], scan: Scan, number: int) -> None:
    for name, values in parsed.features.items():
        kind: Kind = kind_of(values[0]) if values else parsed.empty.get(name, "empty")
        count = scan.features.get(name)
        if count is None:
            scan.features[name] = FeatureCount(kind, 1, len(values), len(values), number)
            continue
        if kind not in {"empty", count.kind}:
            if count.kind != "empty" and name in needed:
                what = kind if values else f"an empty list of {kind}"
                msg = f"its feature {printable(name)!r} is {what}, in records before it {count.kind}"
                raise ScanError(msg)
            count.kind = kind if count.kind == "empty" else "mixed"
        count.num_records += 1
        count.fewest, count.most = min(count.fewest, len(values)), max(count.most, len(values))


def _labels(features: Mapping[str, list[Any]], layout: RecordLayout, scan: Scan) -> tuple[int | None, list[int] | None]:
    """Return the columns `label` and `labels` of the record's row."""
    name, kind = layout.label.name, layout.label.kind
    if kind in {"masks", "none"}:
        return None, None
    values = features.get(name)
    if values is None:
        if kind not in _LISTS:
            msg = f"it has no feature {printable(name)!r}, which holds the labels"
            raise ScanError(msg)
        values = []  # many writers leave out empty lists
        scan.num_without_labels += 1
    if kind == "numbers":
        if len(values) != layout.label.num_targets:
            msg = f"its {printable(name)!r} has {len(values)} values, and those before it {layout.label.num_targets}"
            raise ScanError(msg)
        return None, None
    if kind == "class" and len(values) != 1:
        msg = f"its {printable(name)!r} has {len(values)} values; one class is expected"
        raise ScanError(msg)
    for value in values:
        if not isinstance(value, int) or not 0 <= value < 1 << 31:
            msg = f"its label in {printable(name)!r} is {value!r}; class numbers from 0 are expected"
            raise ScanError(msg)
    if kind == "objects":
        _check_boxes(features, layout, len(values), scan)
    if layout.label.names is not None:
        texts = features.get(layout.label.names, [])
        if len(texts) == len(values):
            for value, text in zip(values, texts, strict=True):
                name = text.decode("utf-8", "replace").strip()
                if scan.class_texts.setdefault(value, name) != name:
                    scan.class_texts[value] = UNCLEAR
    return (values[0], None) if kind == "class" else (None, sorted(set(values)))


def _check_mask(values: list[Any], info: images.ImageInfo) -> None:
    if len(values) != 1 or not isinstance(values[0], bytes):
        msg = f"its feature of the mask has {len(values)} values; one mask is expected"
        raise ScanError(msg)
    if problem := mask_problem(values[0], info):
        raise ScanError(problem)


def _check_boxes(features: Mapping[str, list[Any]], layout: RecordLayout, num_labels: int, scan: Scan) -> None:
    if layout.boxes is None:
        return
    sides = [features.get(name) for name in layout.boxes.sides]
    for name, side in zip(layout.boxes.sides, sides, strict=True):
        expected = num_labels * (4 if len(sides) == 1 else 1)
        if len(side or []) != expected:
            found = "is missing" if side is None else f"has {len(side)} values"
            msg = f"its feature {printable(name)!r} {found}; its {num_labels} labels need {expected}"
            raise ScanError(msg)
    for name, _, _ in layout.boxes.extra:
        if len(features.get(name, [])) != num_labels and name not in scan.uneven:
            scan.uneven.append(name)
    scan.num_bad_boxes += sum(not has_area(box) for box in _boxes([side or [] for side in sides]))


def _boxes(sides: list[list[float]]) -> Iterator[tuple[float, float, float, float]]:
    columns: list[Any] = [*sides] if len(sides) > 1 else [iter(sides[0])] * 4
    return zip(*columns, strict=True)


def _key_text(features: Mapping[str, list[Any]], name: str | None) -> bytes | None:
    values = features.get(name) if name is not None else None
    return values[0] if values and isinstance(values[0], bytes) and values[0] else None
