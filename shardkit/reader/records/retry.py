"""Restart the batches at a failed step after its causes were found, at no cost to the steps that succeed.

TensorFlow can ignore an error, but it cannot tell which element had it, or replace the element. Decoding each image in
a dataset of its own, which could, takes 30 to 50 microseconds more per image. So the pipeline as a whole is watched: it
ends at the first error, Python checks the examples of the failed step, and the pipeline starts again at that step, like
a resumed training.

    watched ──error──► find causes ──one is found──► informed ──error at the same batch──►┐
       ▲                    └──────────none is found─────────────────────────────► one plain batch
       └────────────────────────────the batch succeeds──────────────────────────────────────┘

The error of a plain batch is raised. The next call for a batch starts again with that batch: no position moves,
however many errors a trainer catches.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.reader.column_lookup import ANONYMOUS
from shardkit.reader.python_calls import without_autograph

_FOREVER = np.iinfo(np.int64).max
_WATCHED, _INFORMED, _PLAIN = 0, 1, 2


class _State:
    """State of one iterator: batches given, batches given before the current attempt, and the attempt's kind."""

    # The same as after a plain batch that succeeded.
    INITIAL = (0, -1, _PLAIN)

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @staticmethod
    def make() -> Any:
        """Make the variable in the graph, so that each iterator has its own; it exists as long as its handle."""
        handle = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[3], shared_name=ANONYMOUS)
        tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(_State.INITIAL, tf.int64))
        return handle

    def read(self) -> Any:
        """Return the three numbers."""
        # An iterator that was restored from a checkpoint has a handle without a variable. `refuse_restore` stops it
        # before it gives a batch, and tells the reason; an error raised here would hide that.
        values = tf.cond(
            tf.raw_ops.VarIsInitializedOp(resource=self._handle),
            lambda: tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=tf.int64),
            lambda: tf.constant(_State.INITIAL, tf.int64),
        )
        values.set_shape([3])
        return tf.unstack(values)

    def write(self, *values: Any) -> None:
        """Set the three numbers."""
        tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.stack(values))


def retry_failed_steps(
    first_step: Any,
    batches: Callable[[Any], Any],
    find_causes: Callable[[Any], Any],
    check: Callable[[Any, Any], Any],
    end_step: int,
    batches_per_step: int,
) -> Any:
    """Return the batches of some steps; after an error, its step starts again if its causes were found.

    Errors without a known cause are raised unchanged.

    Args:
        first_step: Dataset of one int64[].
        batches: Function from a step, int64[], to the dataset of the batches from that step on.
        find_causes: Function from a step, int64[], to the number of causes found among its examples, int64[]; the same
            batches do not fail again for these. It may raise.
        check: Function from a batch and whether it is the last, bool[], to the batch that is given; it may fail.
        end_step: End of the steps, exclusive.
        batches_per_step: Number of batches that the dataset gives for every step.
    """

    def attempts(first: Any) -> Any:
        def is_left(handle: Any, first: Any) -> Any:
            given, _, _ = _State(handle).read()
            return first + given // batches_per_step < end_step

        return tf.data.Dataset.from_tensors((_State.make(), first)).repeat().take_while(is_left)

    def attempt(handle: Any, first: Any) -> Any:
        state = _State(handle)
        given, began, last_kind = state.read()
        step = first + given // batches_per_step
        kind = _next_kind(tf.equal(given, began), last_kind, lambda: find_causes(step))
        state.write(given, given, kind)
        again = batches(step).skip(given % batches_per_step)
        # Ends after an error: its batch was not counted, so the next number differs from the expected one. If errors
        # were only ignored, a map_fn that always fails would be called for ever.
        numbers = tf.data.Dataset.range(given, _FOREVER).take_while(lambda number: tf.equal(state.read()[0], number))

        def checked(number: Any, batch: Any) -> Any:
            left = end_step * batches_per_step - (first * batches_per_step + number)
            return number, check(batch, tf.equal(left, 1))

        numbered = tf.data.Dataset.zip(numbers, again).map(without_autograph(checked))
        is_plain = tf.equal(kind, _PLAIN)
        watched = numbered.ignore_errors(log_warning=False).take(tf.where(is_plain, tf.constant(0, tf.int64), -1))
        plain = numbered.take(tf.where(is_plain, tf.constant(1, tf.int64), 0))

        def counted(number: Any, batch: Any) -> Any:
            state.write(number + 1, given, kind)
            return batch

        return watched.concatenate(plain).map(without_autograph(counted))

    options = tf.data.Options()
    # This runs in the thread that asks for a batch: a thread of its own could call find_causes while the interpreter
    # exits, which would wait for that thread for ever. `batches` does its own prefetching.
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    states = first_step.flat_map(without_autograph(attempts))
    return states.flat_map(without_autograph(attempt)).with_options(options)


def _next_kind(is_unmoved: Any, last_kind: Any, find_causes: Callable[[], Any]) -> Any:
    """Return the kind of the next attempt, int64[].

    Args:
        is_unmoved: Whether the last attempt failed at its first batch.
        last_kind: Kind of the last attempt.
        find_causes: See retry_failed_steps.
    """
    watched, informed, plain = (tf.constant(kind, tf.int64) for kind in (_WATCHED, _INFORMED, _PLAIN))
    is_new = ~is_unmoved & tf.equal(last_kind, _PLAIN)
    is_known = is_new | (is_unmoved & tf.equal(last_kind, _INFORMED))
    return tf.cond(
        is_known,
        lambda: tf.where(is_new, watched, plain),
        lambda: tf.where(find_causes() > 0, informed, plain),
    )
