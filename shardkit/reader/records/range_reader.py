"""Read many records at once: neighbours in a shard by one request."""

from typing import Any

import tensorflow as tf

from shardkit.reader.python_calls import without_autograph
from shardkit.reader.table.column_lookup import column_lookup
from shardkit.reader.table.records import RecordTable

# On object stores, a request for a few MB takes about as long to start as to finish.
PARALLEL_REQUESTS = 4
# Records with a gap up to this one between them are read by one request: a second request would take longer.
MAX_GAP_BYTES = 256 << 10  # 256 KiB


class RangeReader:
    """Reads any examples, with as few requests as their locations allow."""

    def __init__(self, table: RecordTable) -> None:
        """Make the lookups of the table's columns.

        Args:
            table: The split's record table, with frame_bytes.
        """
        assert table.frame_bytes is not None  # noqa: S101 - see Args
        self._offset, self._frame_bytes = (
            column_lookup(column, remote=False) for column in (table.offset, table.frame_bytes)
        )
        self._record = None if table.record is None else column_lookup(table.record, remote=False)
        with tf.device("CPU:0"):
            self._starts = tf.constant(table.starts)
            self._paths = tf.constant(table.paths)

    def __call__(self, instructions: dict[str, Any]) -> Any:
        """Return a dataset of one element: instructions, and in "record" the data of their records, string[n].

        The data is empty where a record cannot be read.

        Args:
            instructions: Columns, [n] each; "id" has the examples.
        """
        found, row = self._found(instructions["id"])
        return found.map(without_autograph(lambda _, records: instructions | {"record": tf.gather(records, row)}))

    def _found(self, ids: Any) -> tuple[Any, Any]:
        """Return the dataset of the records of all ranges, see _read_ranges, and the row of each example in them."""
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
        found = _read_ranges(paths, offsets, tf.gather(stop, last) - offsets, counts)
        number = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], axis=0)
        row = tf.gather(tf.cumsum(counts, exclusive=True) - tf.gather(records, first), number) + records
        # Back into the order of the ids, and without the records in the gaps.
        return found, tf.scatter_nd(in_file_order[:, tf.newaxis], row, tf.shape(row))


def _read_ranges(paths: Any, offsets: Any, num_bytes: Any, counts: Any) -> Any:
    """Return a dataset of one element, empty strings and the records of m ranges, one range after another.

    Args:
        paths: string[m].
        offsets: int64[m], bytes.
        num_bytes: int64[m].
        counts: int64[m], numbers of records.
    """
    # interleave reads on its own threads; a map would take those that decode meanwhile.
    ranges = tf.data.Dataset.from_tensor_slices((paths, offsets, num_bytes, counts)).interleave(
        _read_range,
        cycle_length=PARALLEL_REQUESTS,
        num_parallel_calls=PARALLEL_REQUESTS,
        deterministic=True,
    )
    return unbatched(ranges).batch(tf.reduce_sum(counts))


@without_autograph
def _read_range(path: Any, offset: Any, num_bytes: Any, count: Any) -> Any:
    """Return a dataset of one element, empty strings and the records of a range; from a damaged one on all are empty.

    TensorFlow stops reading a file at its first damaged record. RecordReader reads the empty ones again, one by one.
    """
    # The buffer is as long as the range: one request, and no byte after it.
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=path[tf.newaxis], compression_type="", buffer_size=num_bytes, byte_offsets=offset[tf.newaxis]
    )
    records = tf.data.experimental.from_variant(records, tf.TensorSpec([], tf.string))
    # Zipped with as many elements, so that it ends: see RecordReader for the reason.
    readable = tf.data.Dataset.zip(_empty_strings(count), records).ignore_errors()
    either = readable.concatenate(tf.data.Dataset.zip(*[_empty_strings(count)] * 2))
    return either.take(count).batch(count)


def _empty_strings(count: Any) -> Any:
    return tf.data.Dataset.from_tensors("").repeat(count)


def unbatched(dataset: Any) -> Any:
    """Return the rows of a dataset's elements one by one, as `dataset.unbatch()` does.

    `unbatch` adds a map that converts sparse and ragged tensors, also where there are none. Each function of a pipeline
    takes 10 to 20 ms before the first batch.

    Args:
        dataset: A dataset of dense tensors, [n, ...] each.
    """
    spec = tf.nest.map_structure(lambda one: tf.TensorSpec(one.shape[1:], one.dtype), dataset.element_spec)
    flat = tf.nest.flatten(spec)
    variant = tf.raw_ops.UnbatchDataset(
        input_dataset=tf.data.experimental.to_variant(dataset),
        output_types=[one.dtype for one in flat],
        output_shapes=[one.shape for one in flat],
    )
    rows = tf.data.experimental.from_variant(variant, spec)
    rows.kept = dataset  # TensorFlow removes functions that no Python object refers to
    return rows
