"""Read serialized tf.train.Examples of a PCollection as rows.

The first records of a bundle decide what their features mean, as the first records of files do for `convert`. Another
bundle may see other records first, so the decision travels on, and rows that were read differently are refused.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from shardkit.conversion.staging.kinds import Kind, columns_of, kind_of_targets
from shardkit.conversion.staging.rows import GivenRow
from shardkit.dataset.foreign.found_features import Sampled
from shardkit.dataset.foreign.inferring import LayoutOverrides, infer_layout
from shardkit.dataset.foreign.label_names import lines_as_names
from shardkit.dataset.foreign.record_layout import LabelKind, RecordLayout
from shardkit.dataset.foreign.values import Features, read_features
from shardkit.errors import DataError, RecordError
from shardkit.images.info import too_many_bytes
from shardkit.record_sources.tfrecord.records import RecordReader, image_bytes
from shardkit.reject_reasons import BAD_NAME, DAMAGED
from shardkit.sources.columns import GROUP
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import encodable_path

FIRST_RECORDS = 64  # as of files
_WHERE = "the PCollection"
_KIND_OF: dict[LabelKind, Kind] = {"class": "label", "classes": "labels", "objects": "boxes", "none": "unlabelled"}


Read = tuple[str, Callable[[], GivenRow]]  # the key of a record, and what reads it as a row, or raises why not


@dataclass(slots=True)
class RecordRows:
    """Turns the records of a bundle into rows."""

    overrides: LayoutOverrides
    max_file_bytes: int
    _waiting: list[bytes] = field(default_factory=list)
    _reader: RecordReader | None = None
    _reading: str = ""

    def add(self, record: bytes) -> Iterator[Read]:
        """Yield the rows of the records so far, once there are enough of them to decide what they mean."""
        self._waiting.append(record)
        if self._reader is not None or len(self._waiting) >= FIRST_RECORDS:
            yield from self.flush()

    def flush(self) -> Iterator[Read]:
        """Yield the rows of all records that were added; see `add`."""
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            digest = hashlib.sha256(data).hexdigest()
            try:
                features = read_features(data)
            except RecordError as error:
                yield f"record {digest}", partial(_refuse, str(error))
                continue
            reader = self._reader or self._decide(waiting)
            key = _key(reader.layout, features) or digest
            yield key, partial(self._row, key, reader, features)

    def _decide(self, records: list[bytes]) -> RecordReader:
        sampled = [
            Sampled(f"{_WHERE}, record {number} of a bundle", features)
            for number, features in enumerate(map(_read, records[:FIRST_RECORDS]))
            if features is not None
        ]
        layout = infer_layout(sampled, self.overrides, has_splits=False)
        if layout.label.kind == "masks":
            raise DataError(
                f"the feature {layout.label.name!r} of the records is a mask, and WriteDataset reads masks from rows "
                "only; write rows, or convert the TFRecord files with shardkit.convert"
            )
        names = None
        if self.overrides.classes is not None and not layout.label.is_text and layout.label.names is None:
            numbers = {str(value) for one in sampled for value in one.features.get(layout.label.name, [])}
            if not numbers <= set(self.overrides.classes):
                names = lines_as_names(self.overrides.classes, layout.label.first_line)
        self._reader = RecordReader(_WHERE, "", None, layout, names, None)
        parts = (
            ("image", layout.image.name),
            ("label", layout.label.name),
            ("key", layout.key),
            ("split", layout.split),
        )
        self._reading = ", ".join(f"{name} {feature!r}" for name, feature in parts if feature)
        return self._reader

    def _row(self, key: str, reader: RecordReader, features: Features) -> GivenRow:
        label = reader.layout.label
        kind = kind_of_targets(label.num_targets) if label.kind == "numbers" else _KIND_OF[label.kind]
        if encodable_path(key) != key:
            raise BadRecord(BAD_NAME, "the key is not valid UTF-8; give each image a key of its own")
        try:
            image = image_bytes(reader.layout, features)
            if len(image) > self.max_file_bytes:
                raise too_many_bytes("The image", len(image), self.max_file_bytes)
            label_name, values = reader.annotation(0, features, image)
            columns = {"split": reader.split_of(features), "label_name": label_name, GROUP.name: None}
        except RecordError as error:
            raise BadRecord(DAMAGED, str(error)) from None
        names = [one.name for one in columns_of(kind)] if kind != "unlabelled" else []
        columns |= dict(zip(names, values, strict=False))  # the other values are features of the records
        return GivenRow(key, image, None, kind, columns, reading=self._reading)


def _refuse(message: str) -> NoReturn:
    raise BadRecord(DAMAGED, message)


def _read(record: bytes) -> Features | None:
    """Return the features of a record; None if it is rejected."""
    try:
        return read_features(record)
    except RecordError:
        return None


def _key(layout: RecordLayout, features: Features) -> str | None:
    """Return the record's own key; None if it has none."""
    values = features.get(layout.key or "", [])
    if len(values) != 1:
        return None
    return values[0].decode("utf-8", "surrogateescape") if isinstance(values[0], bytes) else str(values[0])


def refuse_readings(readings: dict[str, str]) -> None:
    """Refuse rows of records whose features were read in several ways."""
    if len(readings) > 1:
        (one, key), (other, other_key) = sorted(readings.items())[:2]
        said = f"the record {key!r} was read with {one}, and {other_key!r} with {other}"
        option = "tfrecord=TFRecord(image_feature=…, label_feature=…)"
        raise DataError(f"{said}; name the features with {option}, or write the records of each program apart")
