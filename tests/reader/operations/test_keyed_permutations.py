import numpy as np
import pytest
import tensorflow as tf

from shardkit.order.keyed_permutations import permute_ranges
from shardkit.reader.operations.arrays import GraphArray


@pytest.mark.parametrize("rounds", [12, 24])
def test_the_graph_permutes_ranges_of_many_sizes_as_numpy_does(rounds):
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.arange(1, 400), rng.integers(1, 1 << 40, 600), [1 << 40]])
    # Sides of squares, where a rounded root would be off by one.
    sizes = np.concatenate([sizes, [n * n + d for n in (1000, 1 << 20) for d in (-1, 0)]])
    index = rng.integers(0, sizes)
    epochs, streams = rng.integers(0, 1 << 50, len(sizes)), rng.integers(0, 1 << 32, len(sizes))
    expected = permute_ranges(index, sizes, epochs, streams, seed=3, rounds=rounds)
    given = [GraphArray(tf.constant(one)) for one in (index, sizes, epochs, streams)]
    made = permute_ranges(*given, seed=3, rounds=rounds)
    np.testing.assert_array_equal(made.tensor, expected)
