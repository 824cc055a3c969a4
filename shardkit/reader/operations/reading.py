"""Plan and read the next examples as operations, for graphs that other processes run: they cannot call Python.

The plan is that of `shardkit.fetch.places`. One record is read by its offset, and a check like that of
`shardkit.fetch.sources` notices a dataset that is converted again.
"""

import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit import naming
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.stored_names import RECORD_DIGITS
from shardkit.fetch.places import EPOCH, ID, Places
from shardkit.fetch.sources import REMEDY, Sources
from shardkit.fetch.table.records import RecordTable
from shardkit.reader.operations.arrays import GraphArray, in_graph
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.python_calls import without_autograph
from shardkit.storage import LocalFolder

_LOCATION = {"path", "offset"}


def read_instructions(spec: PipelineSpec) -> Callable[[Any], dict[str, Any]]:
    """Return a graph function from a place, int64[], to the columns of the next ones and where to read them."""
    places = in_graph(_GraphPlaces(spec.table, spec.order, spec.layout, spec.wanted, spec.end_step))

    @without_autograph
    def instructions(first: Any) -> dict[str, Any]:
        places_of_block: Any = GraphArray(tf.range(first, tf.minimum(first + spec.block_size, places.end)))
        columns: dict[str, Any] = places.plan(places_of_block)
        columns |= places.locations(columns.pop(ID))
        return {name: column.tensor for name, column in columns.items() if name != EPOCH}

    return instructions


class _GraphPlaces(Places):
    """Places whose arrays become tensors; texts are operations of their own."""

    def locations(self, ids: Any) -> dict[str, Any]:
        shards: Any = self._table.shard_of(ids)
        return {
            "path": GraphArray(tf.gather(self._table.paths, shards.tensor)),
            "offset": self._table.offset[ids],
        }

    def _record_keys(self, ids: Any) -> Any:
        table: Any = self._table
        shards = table.shard_of(ids)
        numbers = (ids if table.record is None else table.record[ids]) - table.starts[shards]
        digits = tf.strings.as_string(numbers.tensor, width=RECORD_DIGITS, fill="0")
        return GraphArray(tf.strings.join([tf.gather(table.key_paths, shards.tensor), digits], "/"))


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
    return {name: one for name, one in instruction.items() if name not in _LOCATION} | {"record": record}


def _empty_strings(count: int) -> Any:
    """Return a dataset of one element of that many empty strings."""
    return tf.raw_ops.TensorDataset(components=[""] * count, output_shapes=[[]] * count)


_MAX_HASH = (1 << 63) - 1


def manifest_check(table: RecordTable) -> Callable[[Any], Any]:
    """Return a graph function that passes a batch on, and fails if a manifest was changed before it was read.

    It looks for the manifests of local folders where the graph runs, which takes about 0.2 ms. An append changes no
    shard, and keeps the manifest from before it: that one will do.
    """
    local = [root for root in Sources(table).roots if isinstance(root, LocalFolder)]
    paths = [f"{root.url}/{naming.MANIFEST}" for root in local]
    # ParameterServerStrategy calls the input function while it traces a graph: the hashes are values even then.
    with tf.init_scope(), tf.device("CPU:0"):
        expected = [int(_hash(tf.constant(path))) for path in paths]
    kept = [f"{root.url}/{naming.earlier_manifest(read_manifest(root.url).digest)}" for root in local]

    def checked(batch: Any) -> Any:
        nothing, assertions = _empty_text(batch), list[Any]()
        for path, number, before in zip(paths, expected, kept, strict=True):
            msg = (
                f"{path}: the manifest was removed or replaced while the dataset was read: it was removed, or is "
                f"converted again; {REMEDY}"
            )
            same = tf.equal(_hash_or_zero(tf.strings.join([path, nothing])), number)
            is_kept = tf.cond(
                same,
                lambda: True,
                lambda before=before: tf.size(tf.io.matching_files(tf.strings.join([_glob(before), nothing]))) > 0,
            )
            assertions.append(tf.debugging.Assert(is_kept, [msg]))
        with tf.control_dependencies(assertions):
            return tf.nest.map_structure(tf.identity, batch)

    return checked


def _empty_text(batch: Any) -> Any:
    """Return an empty string[] that TensorFlow cannot compute before it has the batch."""
    values = tf.reshape(tf.nest.flatten(batch, expand_composites=True)[0], [-1])[:1]
    text = values if values.dtype == tf.string else tf.strings.as_string(values)
    return tf.strings.reduce_join(tf.strings.substr(text, 0, 0))


def _hash(path: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.io.read_file(path), _MAX_HASH) + 1


def _hash_or_zero(path: Any) -> Any:
    """Return the hash of a file; 0 if it cannot be read."""
    found = tf.data.Dataset.from_tensors(path).map(_hash).ignore_errors(log_warning=False)
    return found.concatenate(tf.data.Dataset.from_tensors(tf.constant(0, tf.int64))).take(1).get_single_element()


def _glob(path: str) -> str:
    """Return the pattern that only a path matches: the only op that finds out whether a file exists takes a pattern."""
    return re.sub(r"([*?\[\\])", r"\\\1", path)
