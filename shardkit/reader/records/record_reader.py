"""Read one record by its offset inside the graph, and check its CRCs."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.options.words import convert_again
from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.recovery import RecordRecovery

_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


class RecordReader:
    """Reads the record of an instruction; a damaged one is named by shard, record and key, or replaced.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord. One is made for every
    record, inside a parallel map: this takes about 100 microseconds, a tenth of the time of decoding a photograph.
    TensorFlow's own error names neither file nor record, so a damaged record is an empty string at first.
    """

    def __init__(self, recovery: RecordRecovery | None) -> None:
        """Make a reader.

        Args:
            recovery: Reads damaged records again or replaces them; None if another process runs the graph, which cannot
                call Python.
        """
        self._reread_or_raise: Callable[..., Any] | None = None
        self._replace: Callable[..., Any] | None = None
        if recovery is not None and recovery.replaces:
            self._replace = callable_in_graph(recovery.replace, [tf.int64, tf.string])
        elif recovery is not None:
            self._reread_or_raise = callable_in_graph(recovery.reread_or_raise, [tf.string])

    def __call__(
        self, instruction: dict[str, Any], of_examples: Callable[[Any, Any], dict[str, Any]]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the data of a record, and the instruction of its example: of another one if it was replaced.

        Args:
            instruction: Scalars, among them `path`, `offset` and `id`. If damaged records are replaced, `epoch` and, of
                images, `is_undecodable`. If many records are read by one request, `frame_bytes` and `record`, the data,
                which is empty if that failed.
            of_examples: Returns the instructions of examples by ids and epochs, int64[n] each.
        """
        record = self._given_or_read(instruction) if "record" in instruction else self._read(instruction)
        is_damaged = tf.equal(tf.strings.length(record), 0)
        if "frame_bytes" in instruction:  # in a shard that was replaced, another record may begin at this offset
            is_damaged |= tf.not_equal(tf.strings.length(record), instruction["frame_bytes"] - OVERHEAD_BYTES)
        is_undecodable = instruction.get("is_undecodable", tf.constant(False))  # noqa: FBT003 - a tensor
        replace = self._replace
        if replace is None:
            data = tf.cond(is_damaged, lambda: self._read_again(instruction), lambda: record)
            data.set_shape([])  # numpy_function knows no shape
            return data, instruction

        def replaced() -> tuple[Any, dict[str, Any]]:
            other, data = replace(instruction["id"], is_undecodable)
            other.set_shape([])
            data.set_shape([])
            columns = of_examples(other[tf.newaxis], instruction["epoch"][tf.newaxis])
            # The columns of the position stay. In evaluation, another example in its place has weight 0.
            kept = instruction | {name: column[0] for name, column in columns.items()}
            if "weight" in instruction and "weight" not in columns:
                kept["weight"] = instruction["weight"] * tf.cast(tf.equal(other, instruction["id"]), tf.float32)
            elif "weight" in columns:  # a class without an intact example
                kept["weight"] *= tf.cast(tf.equal(kept["label"], instruction["label"]), tf.float32)
            return data, kept

        data, kept = tf.cond(is_damaged | is_undecodable, replaced, lambda: (record, instruction))
        return data, kept

    def _given_or_read(self, instruction: dict[str, Any]) -> Any:
        record = instruction.pop("record")
        return tf.cond(tf.equal(tf.strings.length(record), 0), lambda: self._read(instruction), lambda: record)

    def _read(self, instruction: dict[str, Any]) -> Any:
        """Return the data of a record; empty if it is damaged."""
        records = tf.raw_ops.TFRecordDatasetV2(
            filenames=instruction["path"][tf.newaxis],
            compression_type="",
            buffer_size=0,
            byte_offsets=instruction["offset"][tf.newaxis],
        )
        # Zipped with a single element, so that it ends: a TFRecordDataset that cannot open its file fails again each
        # time it is asked for an element, and IgnoreErrors does not stop asking.
        once = tf.raw_ops.ZipDataset(input_datasets=[_empty_strings(1), records], **_TWO_STRINGS)
        readable = tf.raw_ops.IgnoreErrorsDataset(input_dataset=once, log_warning=False, **_TWO_STRINGS)
        either = tf.raw_ops.ConcatenateDataset(
            input_dataset=readable, another_dataset=_empty_strings(2), **_TWO_STRINGS
        )
        first = tf.raw_ops.TakeDataset(input_dataset=either, count=1, **_TWO_STRINGS)
        _, record = tf.raw_ops.DatasetToSingleElement(dataset=first, **_TWO_STRINGS)
        return record

    def _read_again(self, instruction: dict[str, Any]) -> Any:
        if self._reread_or_raise is not None:
            return self._reread_or_raise(instruction["id"])[0]
        offset = tf.strings.as_string(instruction["offset"])
        where = tf.strings.join([instruction["path"], ": the record at byte ", offset])
        msg = where + f" is damaged; run `shardkit verify`, then restore the shard or {convert_again()}"
        with tf.control_dependencies([tf.debugging.Assert(condition=False, data=[msg])]):
            return tf.constant(b"")


def _empty_strings(count: int) -> Any:
    """Return a dataset of one element of that many empty strings."""
    return tf.raw_ops.TensorDataset(components=[""] * count, output_shapes=[[]] * count)
