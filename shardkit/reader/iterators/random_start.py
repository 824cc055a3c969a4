"""A start step that each worker draws when its copy of the pipeline starts."""

import math
from typing import Any

import tensorflow as tf

# Twice this is still an int64, so no stream ends.
MAX_POSITION = 1 << 60


class RandomStart:
    """A random start step at the beginning of an epoch, another one for each iterator.

    Choice k is position k * lcm(num_examples, global_batch_size). There are at least 50 million choices for 20 million
    examples in batches of 1,024, so two of 100 workers have the same one in at most one of 10,000 runs.
    """

    def __init__(self, num_examples: int, global_batch_size: int) -> None:
        self._stride = num_examples // math.gcd(num_examples, global_batch_size)
        self._num_choices = MAX_POSITION // (self._stride * global_batch_size)
        self.end_step = 2 * MAX_POSITION // global_batch_size

    def as_dataset(self) -> Any:
        """Return a dataset of one element, the int64 step, which each iterator draws."""
        return tf.data.Dataset.from_tensors(0).map(lambda _: self.read_value())

    def read_value(self) -> Any:
        """Return an int64 step, drawn each time this op runs."""
        # The raw op: tf.random.uniform would put the coordinator's tf.random.set_seed into the graph, and all workers
        # would draw the same numbers. If both seeds are 0, each kernel takes its seed from the system.
        drawn = tf.raw_ops.RandomUniformInt(
            shape=tf.constant([], tf.int32),
            minval=tf.constant(0, tf.int64),
            maxval=tf.constant(self._num_choices, tf.int64),
            seed=0,
            seed2=0,
        )
        return drawn * self._stride
