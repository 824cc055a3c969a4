"""Numbers that are drawn when an iterator starts, among them the start step of an independent worker."""

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
        return drawn_number() % self._num_choices * self._stride


def drawn_number() -> Any:
    """Return an int64 number from 0 to 2**63 - 1 from the operating system, another one each time this op runs.

    Not one of TensorFlow's random ops: under `enable_op_determinism` they refuse to run without a seed, and with
    `tf.random.set_seed` all iterators and all workers would draw the same number.
    """
    drawn = tf.raw_ops.NonDeterministicInts(shape=tf.constant([], tf.int64), dtype=tf.int64)
    return tf.bitwise.bitwise_and(drawn, tf.int64.max)
