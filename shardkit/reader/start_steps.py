"""The step that an iterator begins at, held against the steps that there are, whenever it is read."""

import logging
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader.options import MAX_STEP

_LOG = logging.getLogger(__name__)


def check_start(step: int, num_steps: int | None) -> None:
    """Refuse a step that there is not.

    Args:
        step: to begin at.
        num_steps: of an evaluation; None in training, which does not end.

    Raises:
        CallError: it is below 0, or behind the end.
    """
    if 0 <= step < (MAX_STEP if num_steps is None else num_steps):
        return
    msg = f"start_step must be from 0 to {MAX_STEP - 1}; found {step}"
    if num_steps is not None:
        msg = (
            f"start_step {step} leaves nothing to read: this evaluation has {num_steps:,} steps, from 0 to "
            f"{num_steps - 1:,}; leave it out to evaluate every example"
        )
    raise CallError(msg)


def warn_of_left_out(step: int, num_steps: int, split: str) -> None:
    """Say how much an evaluation leaves out that does not begin at 0: it may share its options with a training."""
    if step:
        _LOG.warning(
            "start_step=%d: this evaluation of %r leaves out the first %d of its %d steps; leave start_step out to "
            "evaluate every example",
            step,
            split,
            step,
            num_steps,
        )


class CheckedStart:
    """A variable's value as training reads it in the graph, whenever an iterator is made.

    Without this a negative step would give examples all the same: those of no step that there is.
    """

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def read_value(self) -> Any:
        """The int64 step; InvalidArgumentError where there is none such."""
        step = self._variable.read_value()
        within = tf.logical_and(step >= 0, step < MAX_STEP)
        msg = tf.strings.join(
            [f"start_step must be from 0 to {MAX_STEP - 1}; it was assigned ", tf.strings.as_string(step)]
        )
        with tf.control_dependencies([tf.debugging.Assert(within, [msg])]):
            return tf.identity(step)
