"""Call a function when an iterator is made, and not when its first element is requested.

`flat_map` calls its function at the first `next`: a variable that it reads may have changed since `iter()`. Of
TensorFlow's datasets, only `LoadDataset` calls a function while its iterator is initialised, to let users choose how
files are read. Here it reads no files, only the metadata record that it requires, in TensorFlow's file system in
memory.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf.snapshot_pb2 import SnapshotMetadataRecord

from shardkit.reader.autograph import without_autograph

_FOLDER = "ram://shardkit/iterator_start"


def dataset_per_iterator(
    make: Callable[[], Any], spec: Any, *, keep: Any = None, num_elements: int = tf.data.UNKNOWN_CARDINALITY
) -> Any:
    """Return a dataset that each `iter()`, of it or of a dataset derived from it, makes again.

    Args:
        make: Function that returns the dataset; traced once. `iter()` raises the errors of its graph.
        spec: The dataset's `element_spec`.
        keep: Object that must exist as long as the dataset, such as a variable that `make` reads.
        num_elements: Cardinality of the dataset; not checked.
    """

    @without_autograph
    def read(files: Any) -> Any:
        return tf.data.experimental.to_variant(make())

    with tf.device("CPU:0"):
        record = SnapshotMetadataRecord(version=2, num_elements=num_elements)
        folder = f"{_FOLDER}/{num_elements}"
        tf.io.write_file(f"{folder}/snapshot.metadata", record.SerializeToString())
        traced = tf.function(read, autograph=False).get_concrete_function(tf.TensorSpec([], tf.variant))
        specs = tf.nest.flatten(spec)
        variant = tf.raw_ops.LoadDataset(
            path=folder,
            reader_func_other_args=traced.captured_inputs,
            # A dataset holds ragged and sparse tensors as variants.
            output_types=[one.dtype if isinstance(one, tf.TensorSpec) else tf.variant for one in specs],
            output_shapes=[one.shape if isinstance(one, tf.TensorSpec) else tf.TensorShape(None) for one in specs],
            reader_func=traced,
        )
    dataset = tf.data.experimental.from_variant(variant, spec)
    dataset.kept = traced, keep  # derived datasets refer to this one
    return dataset
