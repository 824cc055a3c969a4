"""A start step that every worker draws for itself, when its copy of the pipeline is started."""

import math
from typing import Any

import tensorflow as tf

# Twice this is still an int64, so no stream ends.
MAX_POSITION = 1 << 60


class RandomStart:
    """In the place of a start step: a random one where an epoch begins, another one for each iterator.

    The k-th choice is position k * lcm(num_examples, global_batch_size); there are at least 50 million for 20 million
    examples in batches of 1,024, so that two of 100 workers start alike in at most one of 10,000 runs.
    """

    def __init__(self, num_examples: int, global_batch_size: int) -> None:
        self._stride = num_examples // math.gcd(num_examples, global_batch_size)
        self._num_choices = MAX_POSITION // (self._stride * global_batch_size)
        self.end_step = 2 * MAX_POSITION // global_batch_size

    def as_dataset(self) -> Any:
        """Return a dataset of one element, the step, drawn anew for each iterator."""
        return tf.data.Dataset.from_tensors(0).map(lambda _: self.read_value())

    def read_value(self) -> Any:
        """An int64 step, drawn anew each time that this op runs."""
        # The op itself: tf.random.uniform puts tf.random.set_seed's seed of the coordinator into the graph, and all
        # workers would draw the same numbers. With both seeds 0 each kernel takes its seed from the system.
        drawn = tf.raw_ops.RandomUniformInt(
            shape=tf.constant([], tf.int32),
            minval=tf.constant(0, tf.int64),
            maxval=tf.constant(self._num_choices, tf.int64),
            seed=0,
            seed2=0,
        )
        return drawn * self._stride
