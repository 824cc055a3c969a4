"""Stop an iterator that was restored from a checkpoint, with the step to start a new one at.

`tf.train.Checkpoint(iterator=…)` saves the state of TensorFlow's datasets. The state about damaged images is in Python
and not part of it, so a restored iterator would return the batches of other steps without an error. Only the number of
the step has to be saved, see `start_step`.

TensorFlow itself refuses with a message that does not help ("DatasetToSingleElement is stateful"), and not at all if
the policy for external state is IGNORE. So saving is allowed here, and an iterator compares two copies of a random
number that each `iter()` draws: `flat_map` saves its input, and `repeat` of a tensor does not. The checkpoint also has
the batches that TensorFlow had read ahead. They are the right ones, and are returned before the iterator stops.

    iter() ─► number ─┬─► repeat                ─► the number of this iterator      ─┐
                      └─► flat_map: counter     ─► the number of the saved iterator ─┴─► equal, unless restored
"""

from typing import Any

import tensorflow as tf

from shardkit.reader.iterators.start_steps import StartStep, dataset_per_iterator, drawn_number
from shardkit.reader.python_calls import without_autograph

_SENTENCE = (
    "an iterator of shardkit's reader cannot be restored from a checkpoint: leave it out, save the number of steps, "
    "and make the input with start_step=that number; the next batch of this iterator would have been that of step "
)
_NUMBER = tf.TensorSpec([], tf.int64)


def refuse_restore(dataset: Any, start_step: StartStep, batches_per_step: int) -> Any:
    """Return the dataset, whose iterators raise InvalidArgumentError after they were restored.

    Args:
        dataset: The dataset of one input pipeline.
        start_step: First step of the dataset.
        batches_per_step: Number of elements of the dataset for each step.
    """

    def marks() -> Any:
        first_step, own = start_step.read_value(), drawn_number()
        saved = tf.data.Dataset.from_tensors((own, first_step)).flat_map(_counted)
        return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(own).repeat(), saved))

    @without_autograph
    def checked(mark: Any, element: Any) -> Any:
        own, (saved, first_step, count) = mark
        step = tf.strings.as_string(first_step + count // batches_per_step)
        msg = tf.strings.join([_SENTENCE, step])
        with tf.control_dependencies([tf.debugging.Assert(tf.equal(own, saved), [msg])]):
            return tf.nest.map_structure(tf.identity, element)

    made = dataset_per_iterator(marks, (_NUMBER, (_NUMBER,) * 3), keep=start_step)
    endless = made.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    return tf.data.Dataset.zip((endless, dataset)).map(checked).with_options(options)


def _counted(number: Any, first_step: Any) -> Any:
    return tf.data.Dataset.range(tf.int64.max).map(lambda count: (number, first_step, count))
