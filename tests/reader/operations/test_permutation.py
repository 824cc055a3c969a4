import numpy as np
import pytest
import tensorflow as tf

from shardkit.order import permutation
from shardkit.reader.operations.arrays import GraphArray

SIZES = [
    1,
    2,  # the rectangle is 2 x 1: half of all hashes have one value
    3,  # 2 x 2, one place beyond the end
    10,
    1000,
    1023,  # the last size with 24 rounds
    1024,  # 12 rounds, and a rectangle without a remainder
    10**6 + 3,
    2**40,  # the most that may be ordered: sides of 2**20
]
SEEDS = [0, 1, 2**63 - 1]


def permuted(positions, num_examples, seed=7):
    return permutation.permute(GraphArray(positions), num_examples=num_examples, seed=seed).tensor


def blocks(num_examples):
    """Blocks of positions: from 0, over the border of an epoch, and near 2**61, where 32 bits hold no epoch."""
    border = 5 * num_examples
    for start in (0, max(0, border - 100), 2**61 - 150):
        yield np.arange(start, start + 300)


@pytest.mark.parametrize(
    ("num_examples", "seed"), [(size, SEEDS[number % len(SEEDS)]) for number, size in enumerate(SIZES)]
)
def test_tensors_are_permuted_as_numpy_does(num_examples, seed):
    for positions in blocks(num_examples):
        expected = permutation.permute(positions, num_examples=num_examples, seed=seed)
        np.testing.assert_array_equal(permuted(tf.constant(positions), num_examples, seed), expected)


def test_a_map_of_tf_data_permutes_as_numpy_does():
    num_examples = 10**6 + 3

    def one(start):
        return permuted(tf.range(start, start + 300), num_examples)

    starts = [int(positions[0]) for positions in blocks(num_examples)]
    dataset = tf.data.Dataset.from_tensor_slices(np.array(starts)).map(one, num_parallel_calls=2)
    for ids, positions in zip(dataset, blocks(num_examples), strict=True):
        np.testing.assert_array_equal(ids, permutation.permute(positions, num_examples=num_examples, seed=7))
