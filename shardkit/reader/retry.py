"""Restart the batches at a failed step after its causes were found, at no cost to the steps that succeed.

TensorFlow can ignore an error, but it cannot tell which element had it, or replace the element. Decoding each image in
a dataset of its own, which could, takes 30 to 50 microseconds more per image. So the pipeline as a whole is watched: it
ends at the first error, Python checks the examples of the failed step, and the pipeline starts again at that step, like
a resumed training.

    watched ──error──► find causes ──► one plain batch ──error──► raised; the next call finds causes again
       ▲                                     │
       └──────────────succeeds───────────────┘

No position moves, however many errors a trainer catches.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.order.batches import MAX_STEP
from shardkit.reader.iterators.start_steps import drawn_number
from shardkit.reader.python_calls import ANONYMOUS, without_autograph

_RESTORED = (
    "an iterator of shardkit's reader cannot be restored from a checkpoint: leave it out, save the number of steps, "
    "and make the input with start_step=that number; the next batch of this iterator would have been that of step "
)
_FOREVER = np.iinfo(np.int64).max
# Low bits of an element's number: the count of the iterator's batches. The others are drawn for each iterator.
_COUNT = (1 << 40) - 1


def retry_failed_steps(
    first_step: Any,  # its `flat_map` calls a function with the step, int64[], for each iterator
    batches: Callable[..., Any],  # a step, to the dataset of the batches from that step on
    find_causes: Callable[[Any], Any],  # a failed step, to the number of causes that will not fail again; may raise
    give: Callable[[Any, Any], Any],  # a batch and its number, to what is given of it
    end_step: int,
    batches_per_step: int,
    steps_per_element: int = 1,
) -> Any:
    """Return the batches of some steps; after an error, its step starts again after its causes were found.

    What fails again is raised unchanged. An iterator that was restored from a checkpoint raises
    InvalidArgumentError, which names the step to start at: the state of the reader is in Python, and would not be
    restored.

    With several steps per element, `batches` is called with their number, too. After an error it is 1, so that the
    steps before the failed one are given.
    """

    def attempts_from(first: Any) -> Any:
        # Restoring an iterator calls this function again, which draws another number, but restores the range of
        # numbers. So the two differ in a restored iterator.
        own = tf.bitwise.bitwise_and(drawn_number(), ~_COUNT)
        # Made in the graph, so that each iterator has its own; it exists as long as its handle.
        state = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[2], shared_name=ANONYMOUS)

        def read() -> Any:
            """Return the number of batches given, and whether an attempt that ends now has failed, 0 or 1."""
            values = tf.raw_ops.ReadVariableOp(resource=state, dtype=tf.int64)
            values.set_shape([2])
            return tf.unstack(values)

        def write(*values: Any) -> None:
            tf.raw_ops.AssignVariableOp(resource=state, value=tf.cast(tf.stack(values), tf.int64))

        def is_left(_: Any) -> Any:
            return first + read()[0] // batches_per_step < end_step

        def is_own(number: Any) -> Any:
            return tf.equal(tf.bitwise.bitwise_and(number, ~_COUNT), own)

        def is_next(number: Any) -> Any:
            return tf.equal(read()[0], number - own) | ~is_own(number)

        def attempt(_: Any) -> Any:
            given, has_failed = read()
            step, is_plain = first + given // batches_per_step, tf.equal(has_failed, 1)
            tf.cond(is_plain, lambda: find_causes(step), lambda: tf.constant(0, tf.int64))
            write(given, 1)
            if steps_per_element == 1:
                count, again = tf.constant(1, tf.int64), batches(step).skip(given % batches_per_step)
            else:
                count = tf.where(is_plain, tf.constant(1, tf.int64), steps_per_element)
                again = batches(step, count)
            # Ends after an error: its batch was not counted, so the next number differs from the expected one. If
            # errors were only ignored, a map_fn that always fails would be called for ever.
            numbers = tf.data.Dataset.range(own + given, _FOREVER, count)
            numbers = numbers.take_while(without_autograph(is_next))
            numbered = tf.data.Dataset.zip(numbers, again)
            watched = numbered.ignore_errors(log_warning=False).take(tf.where(is_plain, tf.constant(0, tf.int64), -1))
            # Not `has_failed - 1` and `has_failed`: optimising that crashes TensorFlow 2.21.
            plain = numbered.take(tf.where(is_plain, tf.constant(1, tf.int64), 0))

            def counted(number: Any, batch: Any) -> Any:
                place = tf.bitwise.bitwise_and(number, _COUNT)
                message = tf.strings.join([_RESTORED, tf.strings.as_string(first + place // batches_per_step)])
                # Not tf.debugging.Assert, which adds a branch: this runs for every batch.
                with tf.control_dependencies([tf.raw_ops.Assert(condition=is_own(number), data=[message])]):
                    write(place + count, 1 - has_failed)
                return give(batch, place)

            return watched.concatenate(plain).map(without_autograph(counted))

        tries = tf.data.Dataset.from_tensors(0).repeat()
        if end_step < MAX_STEP:  # training does not come to its end
            tries = tries.take_while(without_autograph(is_left))
        write(0, 0)
        return tries.flat_map(without_autograph(attempt))

    options = tf.data.Options()
    # This runs in the thread that asks for a batch: a thread of its own could call find_causes while the interpreter
    # exits, which would wait for that thread for ever. `batches` does its own prefetching.
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    return first_step.flat_map(without_autograph(attempts_from)).with_options(options)
