"""One example of a dataset: its features with their types, and its picture."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset import example as example_format
from shardkit.dataset import features as names
from shardkit.dataset.feature_spans import Span, feature_values, find_features
from shardkit.dataset.index.shards import shard_errors
from shardkit.dataset.manifest import Manifest, Shard
from shardkit.dataset.tfrecord import OVERHEAD_BYTES, unframe
from shardkit.errors import CallError, DataError, RecordError, UnknownNameError
from shardkit.extras import require_extra
from shardkit.images import BadImage
from shardkit.images.pillow import decoding, detect_format, open_image
from shardkit.options.words import shell_command
from shardkit.records.drawing import Annotations, draw
from shardkit.records.html import figure, table, thumbnail
from shardkit.records.record import Location, Schema, adopted_values, damaged

if TYPE_CHECKING:
    from PIL.Image import Image

_RECORD_DTYPES = {"int64": np.int64, "float32": np.float32}
_VERIFY = "run `shardkit verify` on the dataset"


class Example(Mapping[str, Any]):
    """A mapping of feature names to values.

    Texts are str, single numbers int or float, other numbers NumPy arrays (boxes float32 [n, 4]: ymin, xmin, ymax, xmax
    as fractions of height and width), images and masks the bytes of an encoded file. A feature is decoded when it is
    asked for.
    """

    __slots__ = ("_data", "_given_key", "_offset", "_record", "_schema", "_shard", "_spans", "_values")

    def __new__(cls, *arguments: Any) -> Any:
        """Return a dict for ``type(example)(items)``: PyTorch and Grain make batches of mappings in this way."""
        return dict(*arguments) if len(arguments) == 1 else object.__new__(cls)

    def __init__(
        self, data: bytes, schema: Schema, shard: str, record: int, offset: int, key: str | None = None
    ) -> None:
        """Wrap the data of a record.

        Args:
            data: The record's data, a serialized Example.
            schema: What it shares with the other examples.
            shard: Path of the TFRecord file in the dataset's folder.
            record: Number of the record in the shard.
            offset: Offset of the record's frame in the shard, in bytes.
            key: Key of the example, which records that others wrote may lack; None for shardkit's own.
        """
        self._data, self._schema, self._given_key = data, schema, key
        self._shard, self._record, self._offset = shard, record, offset
        self._spans: dict[bytes, Span] | None = None
        self._values: Mapping[str, Sequence[Any]] | None = None  # only of records in an unusual form

    def __getitem__(self, name: str) -> Any:
        """Return the value of a feature.

        Raises:
            UnknownNameError: The dataset has no such feature; this is a KeyError, too.
            RecordError: The record is no Example, or lacks the feature.
        """
        feature = self._schema.features.get(name)
        if feature is None:
            msg = f"{self._schema.dataset}: there is no feature {name!r}; there are {', '.join(self._schema.features)}"
            raise UnknownNameError(msg)
        values = self._stored(name)
        if not feature.shape:
            [value] = values
            return value.decode("utf-8", "replace") if feature.role == "text" else value
        if feature.role == "text":
            return [value.decode("utf-8", "replace") for value in values]
        if feature.dtype == "bytes":
            return [*values]
        sides = [-1 if side is None else side for side in feature.shape]
        return np.asarray(values, _RECORD_DTYPES[feature.dtype]).reshape(sides)

    def _stored(self, name: str) -> Sequence[Any]:
        """Return the values of a feature as they are stored."""
        if self._spans is None:
            self._spans = self._find()
        try:
            if self._values is not None:
                return self._values[name]
            return feature_values(self._data, *self._spans[self._schema.encoded_names[name]])
        except RecordError as error:
            raise RecordError(f"{self.location}: {error}; {_VERIFY}") from None

    def _find(self) -> dict[bytes, Span]:
        spans = None if self._schema.stored_as else find_features(self._data)
        wanted = self._schema.encoded_names
        if spans is None:
            try:
                self._values = self._decoded_features()
            except RecordError as error:
                raise RecordError(f"{self.location}: {error}; {_VERIFY}") from None
            missing = [name for name in wanted if name not in self._values]
        elif self._schema.required <= spans.keys():
            return spans
        else:
            missing = [name for name, encoded in wanted.items() if encoded not in spans]
        if missing:
            raise RecordError(f"{self.location}: the example lacks the feature {missing[0]!r}; {_VERIFY}")
        return spans or {}

    def _decoded_features(self) -> Mapping[str, Sequence[Any]]:
        values = example_format.decode(self._data)
        if not self._schema.stored_as:
            return values
        return adopted_values(
            values, self._schema.stored_as, self._schema.features, self._given_key or "", self.location
        )

    def __eq__(self, other: object) -> bool:
        """Return whether the other is an example with the same features and the same record, or an equal mapping."""
        if not isinstance(other, Example):
            return super().__eq__(other)
        mine, others = self._schema, other._schema
        has_same_schema = (mine.features, mine.stored_as) == (others.features, others.stored_as)
        return has_same_schema and (self._given_key, self._data) == (other._given_key, other._data)

    __hash__ = None  # type: ignore[assignment]  # as of other mappings

    def __contains__(self, name: object) -> bool:
        return name in self._schema.features

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.features)

    def __len__(self) -> int:
        return len(self._schema.features)

    def __repr__(self) -> str:
        size = f"{self['width']} x {self['height']}"
        labels = ", ".join(dict.fromkeys(self.label_names))
        return f"<Example {self.key!r}: {size}{f', {labels}' if labels else ''}>"

    def _repr_html_(self) -> str:
        values = {"classes": ", ".join(dict.fromkeys(self.label_names)) or "none", **self}
        return f"{thumbnail(self.key, self.drawn)}{table(values)}"

    @property
    def class_names(self) -> Sequence[str]:
        """Class names of the dataset, in label order."""
        return self._schema.class_names

    @property
    def location(self) -> Location:
        """The place of the record."""
        return Location(self._schema.dataset, self._shard, self._record, self._offset, len(self._data))

    @property
    def key(self) -> str:
        """Path of the image in its source."""
        return str(self["key"])

    @property
    def labels(self) -> list[int]:
        """Labels: one for a class, several for a multi-label example or one for each object; [] without a class."""
        name = names.label_feature(self._schema.features)
        if name is None or self._schema.features[name].role != "class_label":
            return []
        found = [int(label) for label in self._stored(name)]
        return [] if found == [names.NO_LABEL] and name != names.OBJECT_LABELS else found

    @property
    def targets(self) -> list[float]:
        """Numbers for regression; [] of a dataset with classes."""
        feature = self._schema.features.get(names.LABEL)
        return [*self._stored(names.LABEL)] if feature is not None and feature.role == "scalar" else []

    @property
    def label_names(self) -> list[str]:
        """Class names of the labels; a label without a class is its number."""
        known = range(len(self.class_names))
        return [self.class_names[label] if label in known else str(label) for label in self.labels]

    @property
    def boxes(self) -> npt.NDArray[np.float32] | None:
        """float32[n, 4], (ymin, xmin, ymax, xmax) as fractions of height and width; None without boxes."""
        name = f"{names.OBJECTS}bbox"
        return self[name] if name in self._schema.features else None

    def image(self, side: int | None = None) -> "Image":
        """Decode the picture: a PIL image, upright.

        Args:
            side: A smaller picture will do, if its sides have at least so many pixels: a large JPEG is decoded several
                times as fast. None for all pixels.

        Raises:
            DataError: The stored image does not decode.
            MissingExtraError: Pillow is not installed.
        """
        return self._decoded(names.IMAGE, side)

    def array(self) -> npt.NDArray[np.uint8]:
        """Decode the picture: uint8[height, width, 3], which may be changed.

        Raises:
            DataError: The stored image does not decode.
        """
        image = self.image()
        # `convert` would copy RGB, too. `asarray` would be read-only, which PyTorch warns about.
        return np.array(image if image.mode == "RGB" else image.convert("RGB"))

    def mask(self) -> npt.NDArray[np.int32]:
        """Decode the segmentation mask: int32[height, width], the class number of each pixel.

        Raises:
            CallError: The dataset has no masks.
            DataError: The stored mask does not decode.
        """
        if names.MASK not in self._schema.features:
            raise CallError(f"{self.key}: the dataset has no masks")
        return np.asarray(self._decoded(names.MASK)).astype(np.int32)

    def annotations(self) -> Annotations:
        """Return the boxes and the mask, with what is needed to draw them.

        Raises:
            DataError: The stored mask does not decode.
        """
        mask = self.mask() if names.MASK in self else None
        return Annotations(self.class_names, self.boxes, self.labels if self.boxes is not None else (), mask)

    def drawn(self, side: int) -> "Image":
        """Return the picture with its boxes and its mask drawn in, at most `side` pixels a side.

        Raises:
            DataError: The stored image or mask does not decode.
        """
        return draw(self.image(side), self.annotations(), side)

    def _decoded(self, feature: str, side: int | None = None) -> "Image":
        require_extra("convert", "decoding images", "PIL")
        data = self[feature]
        kind = detect_format(data)
        try:
            if kind is None:
                raise DataError(
                    f"{self.location} ({self.key}): the feature {feature!r} cannot be decoded; run "
                    f"`{shell_command('verify', deep=True)}` on the dataset"
                )
            image = open_image(data, kind)
            with decoding(kind, data):
                if side is not None:
                    image.draft(None, (side, side))
                image.load()
        except BadImage as error:
            raise DataError(f"{self.location} ({self.key}): {feature}: {error}") from error
        return image


def is_unlabelled(example: Example) -> bool:
    """Return whether an image of a dataset with labels has none on purpose."""
    name = names.label_feature(example)
    if name not in {names.LABEL, names.LABELS} or example._schema.features[name].role != "class_label":  # noqa: SLF001
        return False
    return np.array_equal(np.atleast_1d(example[name]), [names.NO_LABEL])


def example_figure(example: Example) -> str:
    """Return an HTML fragment with a small picture and its classes."""
    return figure(example.key, example.drawn, ", ".join(dict.fromkeys(example.label_names)))


def read_example(manifest: Manifest, shard: Shard, record: int, offset: int, length: int, key: str) -> Example:
    """Read one record of a shard.

    Args:
        manifest: The dataset's manifest, read from its folder.
        shard: The shard.
        record: Number of the record in the shard.
        offset: Offset of the record's frame in the shard, in bytes.
        length: Length of the record's data in bytes.
        key: Key of the example, for errors.

    Raises:
        RecordError: The record is damaged.
        DataError: The shard is missing.
        MachineError: The shard cannot be read.
    """
    root = manifest.root
    with shard_errors(root, shard.path):
        framed = root.read_range(shard.path, offset, length + OVERHEAD_BYTES)
    try:
        data = unframe(framed, length)
    except RecordError as error:
        raise damaged(root, shard.path, record, key, error) from None
    return Example(data, Schema.of(manifest), shard.path, record, offset, key)
