"""Fetch one record by its offset inside the graph; a damaged one is named by shard, record and key."""

from typing import Any

import numpy as np
import tensorflow as tf

from shardkit import tfrecord
from shardkit.errors import RecordError
from shardkit.reader.table import RecordTable

_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


def _nothing(num_strings: int) -> Any:
    return tf.raw_ops.TensorDataset(components=[""] * num_strings, output_shapes=[[]] * num_strings)


class Fetcher:
    """The data of one record, its CRCs checked.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord. It is made anew for
    every record, inside a parallel map: about 100 microseconds, a tenth of what decoding a photograph takes.
    TensorFlow's own error names neither file nor record, hence the empty string in place of a damaged record.
    """

    def __init__(self, table: RecordTable) -> None:
        self._table = table

    def __call__(self, place: dict[str, Any]) -> Any:
        """String scalar, for the scalars `path`, `offset` and `id`."""
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
        data = tf.cond(
            tf.equal(tf.strings.length(record), 0),
            lambda: tf.numpy_function(self._explain, [place["id"]], tf.string),
            lambda: record,
        )
        data.set_shape([])  # numpy_function knows no shape
        return data

    def _explain(self, example_id: int) -> bytes:
        """Raise what is wrong with a record; the data if a second reading finds nothing wrong with it."""
        shard, number = self._table.place(int(example_id))
        where = f"{self._table.root.url}/{shard.path}: record {number}"
        try:
            where += f", key {self._table.keys(np.asarray([example_id]))[0]!r}"
            with self._table.root.open(shard.path) as file:
                file.seek(int(self._table.offset[example_id]))
                return next(tfrecord.read_records(file, name="read again"))[1]
        except StopIteration:
            found = "the file ends before it"
        except (OSError, RecordError) as error:
            found = str(error)
        msg = f"{where}: {found}; run `shardkit verify`, then restore the shard or convert again"
        raise RecordError(msg)
