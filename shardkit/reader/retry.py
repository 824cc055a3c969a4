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
from shardkit.reader.python_calls import without_autograph

_RESTORED = (
    "an iterator of shardkit's reader cannot be restored from a checkpoint: leave it out, save the number of steps, "
    "and make the input with start_step=that number; the next batch of this iterator would have been that of step "
)
_FOREVER = np.iinfo(np.int64).max
_NO_TRY = np.int64(-1)
_UNKNOWN = np.array([0, -1], np.int64)  # of a try that is not in the table


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
    # By the number of a try: the number of its first batch, and whether the try before it has failed, 0 or 1. Each
    # iterator numbers its tries from a random number on. A table for all iterators, not a variable for each, because
    # TensorFlow takes longer to the first batch the deeper functions are nested.
    with tf.device("CPU:0"):
        tries = tf.raw_ops.AnonymousMutableHashTableOfTensors(key_dtype=tf.int64, value_dtype=tf.int64, value_shape=[2])

    def read(number: Any) -> Any:
        values = tf.raw_ops.LookupTableFindV2(table_handle=tries, keys=number, default_value=_UNKNOWN)
        values.set_shape([2])
        return tf.unstack(values)

    def write(number: Any, *values: Any) -> None:
        tf.raw_ops.LookupTableInsertV2(table_handle=tries, keys=number, values=tf.stack(values))

    def step_of(batch_number: Any) -> Any:
        return batch_number // batches_per_step if batches_per_step > 1 else batch_number

    def tries_from(first: Any) -> Any:
        start = drawn_number()
        write(start, first * batches_per_step, np.int64(0))
        numbers = tf.data.Dataset.range(start, _FOREVER)
        if end_step == MAX_STEP:  # training does not come to its end
            return numbers
        return numbers.take_while(without_autograph(lambda number: read(number)[0] < end_step * batches_per_step))

    def attempt(number: Any) -> Any:
        first, has_failed = read(number)
        # Restoring an iterator calls this function again, and a try begins once. The iterator that was saved may go on.
        is_restored, is_plain = has_failed < 0, has_failed > 0
        following = tf.where(is_restored, _NO_TRY, number + 1)
        tf.raw_ops.LookupTableRemoveV2(table_handle=tries, keys=tf.stack([number]))
        write(following, first, np.int64(1))
        step = step_of(first)
        if steps_per_element == 1:
            count, again = np.int64(1), batches(step)
            if batches_per_step > 1:
                again = again.skip(first % batches_per_step)
        else:
            count = tf.where(is_plain, np.int64(1), steps_per_element)
            again = batches(step, count)

        def is_next(batch_number: Any) -> Any:
            return tf.equal(read(following)[0], batch_number) | is_restored

        def after_causes(batch_number: Any) -> Any:
            with tf.control_dependencies([find_causes(step)]):
                return tf.identity(batch_number)

        # Ends after an error: its batch was not counted, so the next number differs from the expected one. If errors
        # were only ignored, a map_fn that always fails would be called for ever.
        numbers = tf.data.Dataset.range(first, _FOREVER, count).take_while(without_autograph(is_next))
        watched = tf.data.Dataset.zip(numbers, again).ignore_errors(log_warning=False)
        only = tf.data.Dataset.range(first, first + 1).map(without_autograph(after_causes))
        # Not by empty ranges: a zip that comes to the end of one input reads from the others.
        watched = watched.take(tf.where(is_plain, np.int64(0), np.int64(-1)))
        plain = tf.data.Dataset.zip(only, again).take(tf.where(is_plain, np.int64(1), np.int64(0)))

        def counted(number: Any, batch: Any) -> Any:
            message = tf.strings.join([_RESTORED, tf.strings.as_string(step_of(number))])
            # Not tf.debugging.Assert, which adds a branch: this runs for every batch.
            with tf.control_dependencies([tf.raw_ops.Assert(condition=tf.logical_not(is_restored), data=[message])]):
                write(following, number + count, 1 - has_failed)
            return give(batch, number)

        return watched.concatenate(plain).map(without_autograph(counted))

    options = tf.data.Options()
    # This runs in the thread that asks for a batch: a thread of its own could call find_causes while the interpreter
    # exits, which would wait for that thread for ever. `batches` does its own prefetching.
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    return first_step.flat_map(without_autograph(tries_from)).flat_map(without_autograph(attempt)).with_options(options)
