"""Datasets that a function makes when an iterator is made, and not when its first element is asked for.

`flat_map` calls its function at the first `next`: what it reads may have been changed since `iter()`. Of TensorFlow's
datasets only `LoadDataset` calls a function while its iterator is initialised, to let users choose how files are read.
Here it has no files to read, only the record about them that it asks for, in TensorFlow's file system in memory.
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
    """Return a dataset that is made anew by each `iter()`, of it or of what is derived from it.

    Args:
        make: Returns the dataset; traced once. What it raises in the graph is raised by `iter()`.
        spec: The dataset's `element_spec`.
        keep: An object that has to exist as long as the dataset, such as a variable that `make` reads.
        num_elements: The cardinality that the dataset says it has, without holding `make` to it.
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
    dataset.kept = traced, keep  # what is derived from a dataset refers to it
    return dataset
