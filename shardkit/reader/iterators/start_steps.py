"""The first step of an iterator: the value of `start_step` at `iter()`, or one that is drawn for each iterator.

An iterator that was restored from a checkpoint is stopped, with the step to start a new one at.
"""

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.snapshot_pb2 import SnapshotMetadataRecord
from tensorflow.python.data.ops import debug_mode  # its state has no public name

from shardkit.errors import CallError
from shardkit.order.batches import MAX_STEP
from shardkit.reader.python_calls import callable_in_graph, without_autograph

_LOG = logging.getLogger(__name__)
_FOLDER = "ram://shardkit/iterator_start"
# Twice this is still an int64, so no stream ends.
MAX_POSITION = 1 << 60


def check_start(step: int, end_step: int) -> None:
    """Check that a step exists; training ends at MAX_STEP."""
    if not 0 <= step < end_step:
        raise CallError(_refusal(end_step).format(step))


def _refusal(end_step: int) -> str:
    if end_step == MAX_STEP:
        return f"start_step must be from 0 to {MAX_STEP - 1}; found {{}}"
    return (
        f"start_step {{}} leaves nothing to read: this evaluation has {end_step:,} steps, from 0 to "
        f"{end_step - 1:,}; leave it out to evaluate every example"
    )


def warn_of_skipped_steps(step: int, num_steps: int, split: str) -> None:
    """Warn of the steps that an evaluation skips: its start_step may be left over from training."""
    if step:
        _LOG.warning(
            "start_step=%d: this evaluation of %r skips the first %d of its %d steps; leave start_step out to "
            "evaluate every example",
            step,
            split,
            step,
            num_steps,
        )


class StartStep:
    """The value of a variable at `iter()`, for the graph of a pipeline.

    An assignment to the variable takes effect in the next iterator. Python reads the value: each operation of the graph
    takes up to a millisecond before the first batch.
    """

    def __init__(self, variable: Any, end_step: int, note: Callable[[], str]) -> None:
        """Wrap a variable; `note` is called for each iterator, and returns why it must not be made."""
        self._variable, self._end_step, self._note = variable, end_step, note

    def __int__(self) -> int:
        """Return the current value."""
        return int(self._variable.numpy())

    def flat_map(self, make: Callable[[Any], Any]) -> Any:
        """Return the dataset that a function makes of the step, int64[], at `iter()`.

        `iter()` raises InvalidArgumentError if the step does not exist.
        """
        read = callable_in_graph(self, StartStep._read, [tf.int64, tf.string])

        def from_step(make: Callable[[Any], Any]) -> Any:
            step, refusal = read()
            # Not tf.debugging.Assert, which adds two branches.
            is_given = tf.raw_ops.Assert(condition=tf.equal(refusal, ""), data=[refusal])
            with tf.control_dependencies([is_given]):
                step = tf.identity(step)
            return make(tf.ensure_shape(step, []))

        if debug_mode.DEBUG_MODE:  # functions of datasets run eagerly, and do not get tensors of a graph
            return dataset_per_iterator(lambda: from_step(tf.data.Dataset.from_tensors)).flat_map(make)
        return dataset_per_iterator(lambda: from_step(make))

    def _read(self) -> tuple[np.int64, bytes]:
        """Return the current value, and why no iterator may start there."""
        step = int(self)
        refusal = self._note() if 0 <= step < self._end_step else _refusal(self._end_step).format(step)
        return np.int64(step), refusal.encode()


def dataset_per_iterator(
    make: Callable[[], Any], *, keep: Any = None, num_elements: int = tf.data.UNKNOWN_CARDINALITY
) -> Any:
    """Return a dataset that each `iter()`, of it or of a dataset derived from it, makes again.

    `flat_map` calls its function at the first `next`: a variable that it reads may have changed since `iter()`. Of
    TensorFlow's datasets, only `LoadDataset` calls a function while its iterator is initialised, to let users choose
    how files are read. Here it reads no files, only the metadata record that it requires, in TensorFlow's file system
    in memory.
    """
    specs = list[Any]()

    def read(files: Any) -> Any:
        made = make()
        specs.append(made.element_spec)
        return tf.data.experimental.to_variant(made)

    traced = tf.function(read, autograph=False).get_concrete_function(tf.TensorSpec([], tf.variant))
    flat = tf.nest.flatten(specs[0])
    with tf.device("CPU:0"):
        record = SnapshotMetadataRecord(version=2, num_elements=num_elements)
        folder = f"{_FOLDER}/{num_elements}"
        tf.io.write_file(f"{folder}/snapshot.metadata", record.SerializeToString())
        variant = tf.raw_ops.LoadDataset(
            path=folder,
            reader_func_other_args=traced.captured_inputs,
            # A dataset holds ragged and sparse tensors as variants.
            output_types=[one.dtype if isinstance(one, tf.TensorSpec) else tf.variant for one in flat],
            output_shapes=[one.shape if isinstance(one, tf.TensorSpec) else tf.TensorShape(None) for one in flat],
            reader_func=traced,
        )
    dataset = tf.data.experimental.from_variant(variant, specs[0])
    dataset.kept = traced, keep  # derived datasets refer to this one
    return dataset


class RandomStart:
    """A random start step at the beginning of an epoch, another one for each iterator.

    Choice k is position k * lcm(num_examples, global_batch_size). There are at least 50 million choices for 20 million
    examples in batches of 1,024, so two of 100 workers have the same one in at most one of 10,000 runs.
    """

    def __init__(self, num_examples: int, global_batch_size: int) -> None:
        self._stride = num_examples // math.gcd(num_examples, global_batch_size)
        self._num_choices = MAX_POSITION // (self._stride * global_batch_size)
        self.end_step = 2 * MAX_POSITION // global_batch_size

    def flat_map(self, make: Callable[[Any], Any]) -> Any:
        """Return the dataset that a function makes of the step, int64[], which each iterator draws."""
        return tf.data.Dataset.from_tensors(0).flat_map(without_autograph(lambda _: make(self.read_value())))

    def read_value(self) -> Any:
        """Return an int64 step, drawn each time this op runs."""
        return drawn_number() % self._num_choices * self._stride


def drawn_number() -> Any:
    """Return an int64 number from 0 to 2**63 - 1 from the operating system, another one each time this op runs.

    Not one of TensorFlow's random ops: under `enable_op_determinism` they refuse to run without a seed, and with
    `tf.random.set_seed` all iterators and all workers would draw the same number.
    """
    drawn = tf.raw_ops.NonDeterministicInts(shape=tf.constant([], tf.int64), dtype=tf.int64)
    return tf.bitwise.bitwise_and(drawn, tf.int64.max)
