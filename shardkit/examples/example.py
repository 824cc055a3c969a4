"""One example of a dataset: its features with their types, and its picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shardkit.dataset import features as names
from shardkit.dataset.features import Feature
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.errors import CallError, DataError
from shardkit.extras import require_extra
from shardkit.images import BadImage
from shardkit.images.pillow import decoding, detect_format, open_image

if TYPE_CHECKING:
    from PIL.Image import Image

_RECORD_DTYPES = {"int64": np.int64, "float32": np.float32}


@dataclass(frozen=True, slots=True)
class Location:
    """The place of a record.

    Attributes:
        dataset: URL of the dataset's folder.
        shard: Path of the TFRecord file in it.
        record: Number of the record in the shard, from 0.
        offset: Offset of the record's frame in the shard, in bytes.
        num_bytes: Length of the record's data in bytes, without the frame.
    """

    dataset: str
    shard: str
    record: int
    offset: int
    num_bytes: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the record's frame."""
        return self.offset + self.num_bytes + OVERHEAD_BYTES

    def __str__(self) -> str:
        return f"{self.dataset}/{self.shard}, record {self.record}"


class Example(Mapping[str, Any]):
    """A mapping of feature names to values.

    Texts are str, single numbers int or float, other numbers NumPy arrays (boxes float32 [n, 4]: ymin, xmin, ymax, xmax
    as fractions of height and width), images and masks the bytes of an encoded file.

    Attributes:
        classes: Class names of the dataset, in label order.
        location: The place of its record.
    """

    __slots__ = ("_features", "_values", "classes", "location")

    def __init__(
        self,
        values: Mapping[str, Sequence[Any]],
        features: Mapping[str, Feature],
        classes: Sequence[str],
        location: Location,
    ) -> None:
        """Wrap the values of a record.

        Args:
            values: Values of each feature, as `shardkit.dataset.example.decode` returns them.
            features: The manifest's features.
            classes: The manifest's class names.
            location: The place of the record.

        Raises:
            DataError: The record lacks a feature of the manifest.
        """
        missing = sorted(features.keys() - values.keys())
        if missing:
            msg = f"{location}: the example lacks the feature {missing[0]!r}; run `shardkit verify` on the dataset"
            raise DataError(msg)
        self._values, self._features = values, features
        self.classes, self.location = classes, location

    def __getitem__(self, name: str) -> Any:
        feature = self._features[name]
        values = self._values[name]
        if feature.role == "text":
            texts = [bytes(value).decode("utf-8", "replace") for value in values]
            return texts if feature.shape else texts[0]
        if feature.dtype == "bytes":
            return [*values] if feature.shape else values[0]
        if not feature.shape:
            return values[0]
        sides = [-1 if side is None else side for side in feature.shape]
        return np.asarray(values, _RECORD_DTYPES[feature.dtype]).reshape(sides)

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)

    def __repr__(self) -> str:
        size = f"{self['width']} x {self['height']}"
        labels = ", ".join(dict.fromkeys(self.label_names))
        return f"<Example {self.key!r}: {size}{f', {labels}' if labels else ''}>"

    def _repr_html_(self) -> str:
        from shardkit.examples.html import example_html

        return example_html(self)

    @property
    def key(self) -> str:
        """Path of the image in its source."""
        return str(self["key"])

    @property
    def labels(self) -> list[int]:
        """Labels: one for a class, several for a multi-label example or one for each object; [] without classes."""
        name = names.label_feature(self._features)
        if name is None or self._features[name].role != "class_label":
            return []
        return [int(label) for label in self._values[name]]

    @property
    def targets(self) -> list[float]:
        """Numbers for regression; [] of a dataset with classes."""
        feature = self._features.get(names.LABEL)
        return [*self._values[names.LABEL]] if feature is not None and feature.role == "scalar" else []

    @property
    def label_names(self) -> list[str]:
        """Class names of the labels; a label without a class is its number."""
        known = range(len(self.classes))
        return [self.classes[label] if label in known else str(label) for label in self.labels]

    @property
    def boxes(self) -> npt.NDArray[np.float32] | None:
        """float32[n, 4], (ymin, xmin, ymax, xmax) as fractions of height and width; None without boxes."""
        name = f"{names.OBJECTS}bbox"
        return self[name] if name in self._features else None

    def image(self) -> "Image":
        """Decode the picture: a PIL image, upright.

        Raises:
            DataError: The stored image does not decode.
            MissingExtraError: Pillow is not installed.
        """
        return self._decoded(names.IMAGE)

    def array(self) -> npt.NDArray[np.uint8]:
        """Decode the picture: uint8[height, width, 3].

        Raises:
            DataError: The stored image does not decode.
        """
        return np.asarray(self.image().convert("RGB"))

    def mask(self) -> npt.NDArray[np.int32]:
        """Decode the segmentation mask: int32[height, width], the class number of each pixel.

        Raises:
            CallError: The dataset has no masks.
            DataError: The stored mask does not decode.
        """
        if names.MASK not in self._features:
            msg = f"{self.key}: the dataset has no masks"
            raise CallError(msg)
        return np.asarray(self._decoded(names.MASK)).astype(np.int32)

    def _decoded(self, feature: str) -> "Image":
        require_extra("convert", "decoding images", "PIL")
        data = bytes(self._values[feature][0])
        kind = detect_format(data)
        try:
            if kind is None:
                msg = (
                    f"{self.location} ({self.key}): the feature {feature!r} cannot be decoded; run `shardkit verify "
                    "--deep` on the dataset"
                )
                raise DataError(msg)
            image = open_image(data, kind)
            with decoding(kind, data):
                image.load()
        except BadImage as error:
            msg = f"{self.location} ({self.key}): {feature}: {error}"
            raise DataError(msg) from error
        return image
