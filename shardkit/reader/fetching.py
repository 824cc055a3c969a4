"""Fetch one record by its offset inside the graph; a damaged one is named by shard, record and key."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit import tfrecord
from shardkit.errors import DataError, RecordError
from shardkit.reader.faults import Fault, FaultBudget, replacement
from shardkit.reader.table import RecordTable

_LOG = logging.getLogger(__name__)
_TWO_STRINGS: dict[str, Any] = {"output_types": [tf.string] * 2, "output_shapes": [[]] * 2}


def _nothing(num_strings: int) -> Any:
    return tf.raw_ops.TensorDataset(components=[""] * num_strings, output_shapes=[[]] * num_strings)


class Fetcher:
    """The data of one record, its CRCs checked.

    `TFRecordDatasetV2` with `byte_offsets` (TensorFlow 2.14 and later) seeks inside a TFRecord. It is made anew for
    every record, inside a parallel map: about 100 microseconds, a tenth of what decoding a photograph takes.
    TensorFlow's own error names neither file nor record, hence the empty string in place of a damaged record.
    """

    def __init__(self, table: RecordTable, budget: FaultBudget | None, seed: int, *, remote: bool = False) -> None:
        """Make one.

        Args:
            table: of the split.
            budget: of damaged records that are replaced; None to stop at the first.
            seed: of the conversion's readers, 0 to 2**63 - 1; decides which example takes a damaged one's place.
            remote: the graph runs in another process, where no function of Python's can be called.
        """
        self._table, self._budget, self._seed, self._remote = table, budget, seed, remote

    def __call__(self, place: dict[str, Any], place_of: Callable[[Any, Any], dict[str, Any]]) -> tuple[Any, Any]:
        """The data of a record, and the place of the example that it is: another one's where it is damaged.

        Args:
            place: scalars, among them `path`, `offset`, `id` and, where damaged records are replaced, `epoch`; and
                `record`, where its data was read already, which is empty where that failed.
            place_of: the columns of examples by ids and epochs, int64[n] each.
        """
        record = self._given(place) if "record" in place else self._sound(place)
        is_damaged = tf.equal(tf.strings.length(record), 0)
        if self._budget is None:
            data = tf.cond(is_damaged, lambda: self._explained(place), lambda: record)
            data.set_shape([])  # numpy_function knows no shape
            return data, place

        def replaced() -> tuple[Any, dict[str, Any]]:
            other, found = tf.numpy_function(self._replace, [place["id"]], [tf.int64, tf.string])
            other.set_shape([])
            found.set_shape([])
            columns = place_of(other[tf.newaxis], place["epoch"][tf.newaxis])
            # What belongs to the position stays; in evaluation, an example that steps in weighs nothing.
            kept = place | {name: column[0] for name, column in columns.items()}
            if "weight" in place and "weight" not in columns:
                kept["weight"] = tf.zeros_like(place["weight"])
            return found, kept

        found, kept = tf.cond(is_damaged, replaced, lambda: (record, place))
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
        if not self._remote:
            return tf.numpy_function(self._explain, [place["id"]], tf.string)
        where = tf.strings.join([place["path"], ": the record at byte ", tf.strings.as_string(place["offset"])])
        msg = where + " is damaged; run `shardkit verify`, then restore the shard or convert again"
        with tf.control_dependencies([tf.debugging.Assert(condition=False, data=[msg])]):
            return tf.constant(b"")

    def _explain(self, example_id: int) -> bytes:
        """Raise what is wrong with a record; the data if a second reading finds nothing wrong with it."""
        try:
            return self._read(int(example_id))
        except RecordError as error:
            fault = self._fault(int(example_id), str(error))
            url = self._table.root(int(example_id)).url
            msg = f"{url}/{fault}; run `shardkit verify`, then restore the shard or convert again"
            raise RecordError(msg) from None

    def _replace(self, example_id: int) -> tuple[np.int64, bytes]:
        """The example that takes the place of a damaged one, and its data; every damaged one met is counted."""
        assert self._budget is not None  # noqa: S101 - else nobody asks
        candidate, attempt = int(example_id), 0
        while True:
            try:
                return np.int64(candidate), self._read(candidate)
            except RecordError as error:
                if self._budget.spend(fault := self._fault(candidate, str(error))):
                    _LOG.warning("%s/%s; another example takes its place", self._table.root(candidate).url, fault)
            attempt += 1
            candidate = replacement(int(example_id), attempt, self._seed, self._table.num_examples)

    def _read(self, example_id: int) -> bytes:
        shard, _ = self._table.place(example_id)
        try:
            with self._table.root(example_id).open(shard.path) as file:
                file.seek(int(self._table.offset[example_id]))
                data: bytes = next(tfrecord.read_records(file, name="read again"))[1]
        except StopIteration:
            msg = "the file ends before it"
            raise RecordError(msg) from None
        except OSError as error:
            raise RecordError(str(error)) from error
        return data

    def _fault(self, example_id: int, found: str) -> Fault:
        shard, number = self._table.place(example_id)
        try:
            key = self._table.keys(np.asarray([example_id]))[0]
        except (OSError, DataError) as error:
            key, found = "unknown", f"{found}; {error}"
        return Fault(example_id, shard.path, number, key, found)
