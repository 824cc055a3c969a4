"""The first step of an iterator: the value of `start_step` at `iter()`, in training and in evaluation."""

import logging
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.order.batches import MAX_STEP
from shardkit.reader.iterators.iterator_start import dataset_per_iterator

_LOG = logging.getLogger(__name__)


def check_start(step: int, num_steps: int | None) -> None:
    """Check that a step exists.

    Args:
        step: First step of an iterator.
        num_steps: Number of steps of an evaluation; None in training, which does not end.

    Raises:
        CallError: The step is below 0 or not below the end.
    """
    if 0 <= step < (MAX_STEP if num_steps is None else num_steps):
        return
    raise CallError(_refusal(num_steps).format(step))


def _refusal(num_steps: int | None) -> str:
    if num_steps is None:
        return f"start_step must be from 0 to {MAX_STEP - 1}; found {{}}"
    return (
        f"start_step {{}} leaves nothing to read: this evaluation has {num_steps:,} steps, from 0 to "
        f"{num_steps - 1:,}; leave it out to evaluate every example"
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

    An assignment to the variable takes effect in the next iterator.
    """

    def __init__(self, variable: Any, num_steps: int | None) -> None:
        """Wrap a variable.

        Args:
            variable: An int64 `tf.Variable`.
            num_steps: Number of steps of an evaluation; None in training, which does not end.
        """
        self._variable, self._num_steps = variable, num_steps

    def __int__(self) -> int:
        """Return the current value."""
        return int(self._variable.numpy())

    def as_dataset(self) -> Any:
        """Return a dataset of one element, the int64 step.

        `iter()` raises InvalidArgumentError if the step does not exist.
        """
        return dataset_per_iterator(
            lambda: tf.data.Dataset.from_tensors(self.read_value()), tf.TensorSpec([], tf.int64), keep=self._variable
        )

    def read_value(self) -> Any:
        """Return the current value, as an op."""
        step = self._variable.read_value()
        within = tf.logical_and(step >= 0, step < (MAX_STEP if self._num_steps is None else self._num_steps))
        before, after = _refusal(self._num_steps).split("{}")
        msg = tf.strings.join([before, tf.strings.as_string(step), after])
        with tf.control_dependencies([tf.debugging.Assert(within, [msg])]):
            return tf.identity(step)
