"""Batches up to the first that fails, then whatever is to be done about it, at no cost to those that do not.

TensorFlow can ignore an error, but not say which element had it, nor put another there; and what decodes images inside
a dataset of its own, where that can be told, takes 30 to 50 microseconds more an image. So here the whole pipeline is
watched, for some microseconds a batch: it is left at the first error, Python looks into the examples of the step that
failed, and the pipeline begins anew at that step, as a resumed training does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.gathering import ANONYMOUS

_FOREVER = np.iinfo(np.int64).max


class _Counter:
    """Batches that one iterator has given; made in the graph, so that each iterator has its own."""

    def __init__(self) -> None:
        self._handle = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name=ANONYMOUS)
        self.assign(tf.constant(0, tf.int64))

    def assign(self, value: Any) -> Any:
        return tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def read(self) -> Any:
        value = tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=tf.int64)
        value.set_shape([])
        return value


def guarded(
    batches: Callable[[Any], Any],
    look_into: Callable[[Any], Any],
    first_step: Any,
    last_step: int,
    batches_per_step: int,
) -> Any:
    """The batches of some steps; after an error those of its step again, once what is at fault is known.

    Errors that `look_into` finds no cause for are raised as they are.

    Args:
        batches: the dataset from a step on, int64[].
        look_into: int64[] number of causes, newly found among the examples of a step, for which the same batches will
            not fail again; it may raise.
        first_step: int64[].
        last_step: ends before it.
        batches_per_step: that the dataset gives for every step.
    """
    given = _Counter()

    def step_of(number: Any) -> Any:
        return first_step + number // batches_per_step

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # see `pipeline`
    def attempt(index: Any) -> Any:
        start = given.read()
        step = step_of(start)
        is_watched = tf.cond(tf.equal(index, 0), lambda: tf.equal(index, 0), lambda: look_into(step) > 0)
        again = batches(step).skip(start % batches_per_step)
        numbers = tf.data.Dataset.range(start, _FOREVER)
        # Ends behind an error: its batch was not counted, so the next number is not what it would be. Were errors just
        # ignored, a map_fn that always fails would be called for ever.
        in_step = numbers.take_while(lambda number: tf.equal(given.read(), number))
        watched = tf.data.Dataset.zip(in_step, again).ignore_errors(log_warning=False)
        plain = tf.data.Dataset.zip(numbers, again)
        every = tf.constant(-1, tf.int64)
        nothing = tf.constant(0, tf.int64)
        either = watched.take(tf.where(is_watched, every, nothing)).concatenate(
            plain.take(tf.where(is_watched, nothing, every))
        )
        return either.map(counted)

    def counted(number: Any, batch: Any) -> Any:
        given.assign(number + 1)
        return batch

    attempts = tf.data.Dataset.range(_FOREVER).take_while(lambda _: step_of(given.read()) < last_step)
    return attempts.flat_map(attempt)
