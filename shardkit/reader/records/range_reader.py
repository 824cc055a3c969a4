"""Read many records at once: those that lie next to each other in a shard by one request."""

from typing import Any

import tensorflow as tf

from shardkit.reader.table.column_lookup import column_lookup
from shardkit.reader.table.records import RecordTable

# A request for a few MB takes about as long to begin as to finish, on the stores this is for.
REQUESTS_AT_A_TIME = 4
# Between two records that are wanted, read along all the same: a request of its own would take longer.
MAX_GAP_BYTES = 256 << 10  # 256 KiB


class RangeReader:
    """The data of any examples, as few requests as their places allow."""

    def __init__(self, table: RecordTable) -> None:
        """Make one.

        Args:
            table: of the split, with frame_bytes.
        """
        assert table.frame_bytes is not None  # noqa: S101 - said above
        self._offset, self._frame_bytes = (
            column_lookup(column, remote=False) for column in (table.offset, table.frame_bytes)
        )
        self._record = None if table.record is None else column_lookup(table.record, remote=False)
        with tf.device("CPU:0"):
            self._starts = tf.constant(table.starts)
            self._paths = tf.constant(table.paths)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def __call__(self, ids: Any) -> Any:
        """Data of the records of int64[n] examples, string[n]; empty where one is damaged or cannot be read."""
        in_file_order = tf.argsort(ids)
        ids = tf.gather(ids, in_file_order)
        records = ids if self._record is None else self._record(ids)
        start = self._offset(ids)
        stop = start + tf.cast(self._frame_bytes(ids), tf.int64)
        shard = tf.searchsorted(self._starts, records, side="right") - 1
        begins = (shard[1:] != shard[:-1]) | (start[1:] - stop[:-1] > MAX_GAP_BYTES)
        first = tf.concat([[0], tf.where(begins)[:, 0] + 1], axis=0)
        last = tf.concat([first[1:], [tf.size(ids, tf.int64)]], axis=0) - 1
        counts = tf.gather(records, last) - tf.gather(records, first) + 1
        offsets = tf.gather(start, first)
        paths = tf.gather(self._paths, tf.gather(shard, first))
        found = _read(paths, offsets, tf.gather(stop, last) - offsets, counts)
        run = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], axis=0)
        place = tf.gather(tf.cumsum(counts, exclusive=True) - tf.gather(records, first), run) + records
        # Two steps in one: back into the order asked for, and without what lies between the records wanted.
        return tf.gather(found, tf.scatter_nd(in_file_order[:, tf.newaxis], place, tf.shape(place)))


def _read(paths: Any, offsets: Any, num_bytes: Any, counts: Any) -> Any:
    """The records of runs, int64[m] of each, one after another."""
    # interleave and not map: it reads on threads of its own, and those of the pool are left to decode meanwhile.
    runs = tf.data.Dataset.from_tensor_slices((paths, offsets, num_bytes, counts)).interleave(
        _run,
        cycle_length=REQUESTS_AT_A_TIME,
        num_parallel_calls=REQUESTS_AT_A_TIME,
        deterministic=True,
    )
    return runs.unbatch().batch(tf.reduce_sum(counts)).get_single_element()


@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
def _run(path: Any, offset: Any, num_bytes: Any, count: Any) -> Any:
    """A dataset of one element, the records of a run; from a damaged one on they are empty.

    TensorFlow gives up a file at its first damaged record; who takes an empty one reads it by itself (`RecordReader`).
    """
    # The buffer is as long as the run: one request, and not a byte beyond.
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=path[tf.newaxis], compression_type="", buffer_size=num_bytes, byte_offsets=offset[tf.newaxis]
    )
    records = tf.data.experimental.from_variant(records, tf.TensorSpec([], tf.string))
    # Counted by the dataset beside it, or it would never end: see RecordReader for what asks a file for ever.
    sound = tf.data.Dataset.zip(_nothings(count), records).ignore_errors()
    return sound.map(lambda _, record: record).concatenate(_nothings(count)).take(count).batch(count)


def _nothings(count: Any) -> Any:
    return tf.data.Dataset.from_tensors("").repeat(count)
