import numpy as np
import pytest
import tensorflow as tf

from shardkit.order import sampling, schedule
from shardkit.reader.operations.arrays import GraphArray, in_graph

WEIGHTS = {
    "ten alike": [1] * 10,  # no shared slots
    "more classes than slots": [1] * 1500,  # no own slots
    "three alike": [1, 1, 1],
    "one alone": [0, 1, 0],
    "shares that no circle has": [2**0.5, 3**0.5, 5**0.5, 0.001],
}
STARTS = [0, 999_000, 2**61 - 150]


def compiled(draw):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)], autograph=False)
    def drawn(positions):
        return [one.tensor for one in draw(GraphArray(positions))]

    return drawn


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_the_graph_draws_as_numpy_does(weights):
    made = schedule.make_schedule(weights, seed=1)
    drawn, given = compiled(lambda positions: schedule.draw(given, positions)), in_graph(made)
    for start in STARTS:
        positions = np.arange(start, start + 2500)
        for found, expected in zip(drawn(positions), schedule.draw(made, positions), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("largest", [40, 5000])  # rounds of small classes, and of large
def test_the_graph_samples_as_numpy_does(largest):
    labels = np.repeat(np.arange(20), np.linspace(largest // 4, largest, 20).astype(int))
    labels = np.random.default_rng(0).permutation(labels).astype(np.int32)
    made = sampling.class_balanced(labels, num_classes=21, seed=5)
    drawn, given = compiled(lambda positions: sampling.sample(positions, given, seed=5)), in_graph(made)
    for start in STARTS:
        positions = np.arange(start, start + 1000)
        for found, expected in zip(drawn(positions), sampling.sample(positions, made, seed=5), strict=True):
            np.testing.assert_array_equal(found, expected)
