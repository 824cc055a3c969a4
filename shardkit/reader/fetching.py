"""Fetch one record by its offset inside the graph, and say which it was when it is damaged."""

from typing import Any

import tensorflow as tf

from shardkit.reader.table import RecordTable


class Fetcher:
    """The data of one record, its CRCs checked.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord; it is made anew for
    every record, inside a parallel map.
    """

    def __init__(self, table: RecordTable) -> None:
        self._table = table

    def __call__(self, place: dict[str, Any]) -> Any:
        """String scalar, for the scalars `path`, `offset` and `id`."""
        variant = tf.raw_ops.TFRecordDatasetV2(
            filenames=place["path"][tf.newaxis],
            compression_type="",
            buffer_size=0,
            byte_offsets=place["offset"][tf.newaxis],
        )
        one = tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.string))
        return one.take(1).get_single_element()
