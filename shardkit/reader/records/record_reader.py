"""Fetch one record by its offset inside the graph; a damaged one is named by shard, record and key."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.recovery import RecordRecovery

_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


def _nothing(num_strings: int) -> Any:
    return tf.raw_ops.TensorDataset(components=[""] * num_strings, output_shapes=[[]] * num_strings)


class RecordReader:
    """The data of one record, its CRCs checked.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord. It is made anew for
    every record, inside a parallel map: about 100 microseconds, a tenth of what decoding a photograph takes.
    TensorFlow's own error names neither file nor record, hence the empty string in place of a damaged record.
    """

    def __init__(self, recovery: RecordRecovery | None) -> None:
        """Make one.

        Args:
            recovery: answers for damaged records; None where the graph runs in another process, and cannot ask.
        """
        self._reread_or_raise = self._replace = None
        if recovery is not None and recovery.replaces:
            self._replace = callable_in_graph(recovery.replace, [tf.int64, tf.string])
        elif recovery is not None:
            self._reread_or_raise = callable_in_graph(recovery.reread_or_raise, [tf.string])

    def __call__(self, place: dict[str, Any], place_of: Callable[[Any, Any], dict[str, Any]]) -> tuple[Any, Any]:
        """The data of a record, and the place of the example that it is: another one's where it is damaged.

        Args:
            place: Scalars, among them `path`, `offset`, `id` and, if damaged records are replaced, `epoch` and, of
                images, `is_undecodable`; and, if records are read many at a time, `frame_bytes` and `record`, the data,
                which is empty if that failed.
            place_of: the columns of examples by ids and epochs, int64[n] each.
        """
        record = self._given(place) if "record" in place else self._sound(place)
        is_damaged = tf.equal(tf.strings.length(record), 0)
        if "frame_bytes" in place:  # of a shard that was replaced, another record may begin here
            is_damaged |= tf.not_equal(tf.strings.length(record), place["frame_bytes"] - OVERHEAD_BYTES)
        is_undecodable = place.get("is_undecodable", tf.constant(False))  # noqa: FBT003 - a tensor
        replace = self._replace
        if replace is None:
            data = tf.cond(is_damaged, lambda: self._explained(place), lambda: record)
            data.set_shape([])  # numpy_function knows no shape
            return data, place

        def replaced() -> tuple[Any, dict[str, Any]]:
            other, found = replace(place["id"], is_undecodable)
            other.set_shape([])
            found.set_shape([])
            columns = place_of(other[tf.newaxis], place["epoch"][tf.newaxis])
            # What belongs to the position stays; in evaluation, another example in its place has weight 0.
            kept = place | {name: column[0] for name, column in columns.items()}
            if "weight" in place and "weight" not in columns:
                kept["weight"] = place["weight"] * tf.cast(tf.equal(other, place["id"]), tf.float32)
            return found, kept

        found, kept = tf.cond(is_damaged | is_undecodable, replaced, lambda: (record, place))
        return found, kept

    def _given(self, place: dict[str, Any]) -> Any:
        record = place.pop("record")
        return tf.cond(tf.equal(tf.strings.length(record), 0), lambda: self._sound(place), lambda: record)

    def _sound(self, place: dict[str, Any]) -> Any:
        """The data of a record; empty where it is damaged."""
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=place["path"][tf.newaxis],
            compression_type="",
            buffer_size=0,
            byte_offsets=place["offset"][tf.newaxis],
        )
        # Zipped with a single element, or it would never end: a TFRecordDataset that cannot open its file fails again
        # each time that it is asked, and IgnoreErrors asks for ever.
        once = tf.raw_ops.ZipDataset(input_datasets=[_nothing(1), records], **_TWO_STRINGS)
        sound = tf.raw_ops.IgnoreErrorsDataset(input_dataset=once, log_warning=False, **_TWO_STRINGS)
        either = tf.raw_ops.ConcatenateDataset(input_dataset=sound, another_dataset=_nothing(2), **_TWO_STRINGS)
        first = tf.raw_ops.TakeDataset(input_dataset=either, count=1, **_TWO_STRINGS)
        _, record = tf.raw_ops.DatasetToSingleElement(dataset=first, **_TWO_STRINGS)
        return record

    def _explained(self, place: dict[str, Any]) -> Any:
        if self._reread_or_raise is not None:
            return self._reread_or_raise(place["id"])[0]
        where = tf.strings.join([place["path"], ": the record at byte ", tf.strings.as_string(place["offset"])])
        msg = where + " is damaged; run `shardkit verify`, then restore the shard or convert again"
        with tf.control_dependencies([tf.debugging.Assert(condition=False, data=[msg])]):
            return tf.constant(b"")
