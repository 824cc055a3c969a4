"""Parse records into their stored features, and make the label of a decoded image."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit.dataset import features
from shardkit.dataset.features import Feature
from shardkit.dataset.stored_names import StoredAs, names_in_records

_DTYPES = {"bytes": tf.string, "int64": tf.int64, "float32": tf.float32}
# TPUs have no fast int64. Ids and the columns of a table that a conversion took over keep all their bits.
_NARROW = {"height", "width"}


class Parser:
    """Parses records into dicts of the stored features; lists of any length become ragged batches."""

    def __init__(
        self,
        stored: Mapping[str, Feature],
        num_classes: int,
        labels: npt.NDArray[np.int64] | None = None,
        stored_as: StoredAs | None = None,
    ) -> None:
        """Make a parser; labels are `RecordTable.relabelling`, and features that the records lack are not parsed."""
        self._num_classes, self._labels = num_classes, labels
        names = {name: names_in_records(name, stored_as or {}) for name in stored}
        self._features = {name: (feature, names[name]) for name, feature in stored.items() if names[name]}
        self._spec = {one: _spec(feature) for feature, names in self._features.values() for one in names}

    def one(self, record: Any, dataset: Any = None) -> dict[str, Any]:
        """Return the features of one record, scalars and vectors."""
        return self._shaped(tf.io.parse_single_example(record, self._spec), dataset)

    def batch(self, records: Any, dataset: Any = None) -> dict[str, Any]:
        """Return the features of a batch of records."""
        return self._shaped(tf.io.parse_example(records, self._spec), dataset)

    def label(self, parsed: dict[str, Any]) -> Any:
        """Return the label of one example.

        The int32 number of its class; float32[num_classes] with 1 for each of several classes; or, for regression, its
        float32 value.
        """
        if features.LABELS in parsed:
            rows = tf.one_hot(parsed[features.LABELS], self._num_classes, dtype=tf.float32)
            return tf.reduce_max(tf.concat([rows, tf.zeros([1, self._num_classes])], axis=0), axis=0)
        return parsed[features.LABEL]

    def _shaped(self, parsed: dict[str, Any], dataset: Any) -> dict[str, Any]:
        shaped = {}
        for name, (feature, stored) in self._features.items():
            value = parsed[stored[0]] if len(stored) == 1 else _interleaved([parsed[one] for one in stored])
            if len(feature.shape) == 2:
                value = _rows(value, feature.shape[1])
            if feature.role == "class_label" and self._labels is not None:
                value = _relabelled(value, dataset, self._labels)
            if feature.role == "class_label" or name in _NARROW:
                value = tf.cast(value, tf.int32)
            shaped[name] = value
        return shaped


def _relabelled(value: Any, dataset: Any, labels: Any) -> Any:
    """Return the table's labels for those of one record or of a batch."""
    if isinstance(value, tf.RaggedTensor):
        return value.with_values(_relabelled(value.values, tf.gather(dataset, value.value_rowids()), labels))
    at = tf.stack([tf.broadcast_to(dataset, tf.shape(value)), tf.maximum(value, 0)], axis=-1)
    return tf.where(value < 0, value, tf.gather_nd(labels, at))  # NO_LABEL stays


def _spec(feature: Feature) -> Any:
    dtype = _DTYPES[feature.dtype]
    if None in feature.shape:
        return tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
    return tf.io.FixedLenFeature(list(feature.shape), dtype)


def _interleaved(sides: list[Any]) -> Any:
    """Return the sides of boxes, stored as lists of their own, as one list, box after box."""
    if not isinstance(sides[0], tf.RaggedTensor):
        return tf.reshape(tf.stack(sides, axis=-1), [-1])
    values = tf.reshape(tf.stack([side.values for side in sides], axis=-1), [-1])
    return tf.RaggedTensor.from_row_splits(values, sides[0].row_splits * len(sides), validate=False)


def _rows(values: Any, width: int | None) -> Any:
    """Return flat values as rows of a width, for each example of a batch or for a single example."""
    if not isinstance(values, tf.RaggedTensor):
        return tf.reshape(values, [-1, width])
    splits = values.row_splits // width
    return tf.RaggedTensor.from_row_splits(tf.reshape(values.values, [-1, width]), splits, validate=False)
