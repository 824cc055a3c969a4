"""Read one record by its offset inside the graph, for graphs that other processes run: they cannot call Python."""

from typing import Any

import tensorflow as tf

from shardkit.reader.operations.instructions import LOCATION_COLUMNS
from shardkit.reader.python_calls import without_autograph

_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


@without_autograph
def read_record(instruction: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an example that are needed after reading, and its record; fails if that is damaged.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord, and checks the CRCs.
    One is made for every record, inside a parallel map, which takes about 100 microseconds. TensorFlow's own error
    names neither file nor record, so a damaged record is an empty string at first.
    """
    path, offset = instruction["path"], instruction["offset"]
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=path[tf.newaxis], compression_type="", buffer_size=0, byte_offsets=offset[tf.newaxis]
    )
    # Zipped with a single element, so that it ends: a TFRecordDataset that cannot open its file fails again each
    # time it is asked for an element, and IgnoreErrors does not stop asking.
    once = tf.raw_ops.ZipDataset(input_datasets=[_empty_strings(1), records], **_TWO_STRINGS)
    readable = tf.raw_ops.IgnoreErrorsDataset(input_dataset=once, log_warning=False, **_TWO_STRINGS)
    either = tf.raw_ops.ConcatenateDataset(input_dataset=readable, another_dataset=_empty_strings(2), **_TWO_STRINGS)
    first = tf.raw_ops.TakeDataset(input_dataset=either, count=1, **_TWO_STRINGS)
    _, record = tf.raw_ops.DatasetToSingleElement(dataset=first, **_TWO_STRINGS)
    where = tf.strings.join([path, ": the record at byte ", tf.strings.as_string(offset)])
    msg = where + " is damaged; run `shardkit verify` on the dataset, which prints the remedy"
    with tf.control_dependencies([tf.debugging.Assert(tf.strings.length(record) > 0, [msg])]):
        record = tf.identity(record)
    return {name: one for name, one in instruction.items() if name not in LOCATION_COLUMNS} | {"record": record}


def _empty_strings(count: int) -> Any:
    """Return a dataset of one element of that many empty strings."""
    return tf.raw_ops.TensorDataset(components=[""] * count, output_shapes=[[]] * count)
