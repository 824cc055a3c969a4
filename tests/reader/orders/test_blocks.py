import numpy as np
import pytest
import tensorflow as tf

from shardkit.order import blocks, permutation
from shardkit.order.keyed_permutations import permute_ranges
from shardkit.reader.orders import blocks as block_ops
from shardkit.reader.orders import keyed_permutations

# counts of the shards, block_records, window_blocks, lanes
LAYOUTS = [
    ([1], 1, 1, 1),
    ([5], 64, 16, 8),  # fewer examples than lanes: an epoch lies within every batch
    ([64, 128], 64, 2, 2),  # no block is short: the tables are empty
    ([130, 131, 129], 10, 3, 4),
    ([1, 1, 1], 4, 2, 2),  # every block is short
    ([1281] * 1000 + [1280] * 130, 64, 16, 8),
    ([20_000_001] * 50, 64, 16, 8),  # a thousand million examples
]


def layout_of(case):
    counts, block_records, window_blocks, lanes = case
    return blocks.BlockLayout(np.cumsum([0, *counts]), block_records, window_blocks, lanes)


@pytest.mark.parametrize(
    ("case", "seed"),
    [
        pytest.param(case, seed, marks=[pytest.mark.slow] * (number % 2 != is_large))
        for number, case in enumerate(LAYOUTS)
        for is_large, seed in enumerate((0, 2**63 - 1))
    ],
    ids=lambda given: given if isinstance(given, int) else f"{len(given[0])}-shards-of-{given[0][0]}",
)
def test_the_graph_orders_blocks_as_numpy_does(case, seed):
    layout = layout_of(case)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def compiled(positions):
        return block_ops.block_order(positions, layout=layout, seed=seed)

    for start in (0, max(0, 5 * layout.num_examples - 100), 2**61 - 150):
        positions = np.arange(start, start + 300)
        expected = blocks.block_order(
            positions,
            starts=layout.starts,
            num_examples=layout.num_examples,
            seed=seed,
            block_records=layout.block_records,
            window_blocks=layout.window_blocks,
            lanes=layout.lanes,
        )
        ids, epochs = compiled(positions)
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_array_equal(epochs, positions // layout.num_examples)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] * (number % 3 > 0)) for number, case in enumerate(LAYOUTS)],
    ids=lambda case: f"{len(case[0])}-shards-of-{case[0][0]}",
)
def test_windows_of_a_lane_follow_each_other_in_the_order_of_numpy(case):
    layout = layout_of(case)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def compiled(position):
        return block_ops.rest_of_window(position, layout=layout, seed=3)

    position = max(0, 2 * layout.num_examples - 7)  # inside of a window, shortly before an epoch ends
    for _ in range(4):
        ids, epoch = compiled(position)
        positions = position + np.arange(len(ids)) * layout.lanes
        expected = blocks.block_order(
            positions,
            starts=layout.starts,
            num_examples=layout.num_examples,
            seed=3,
            block_records=layout.block_records,
            window_blocks=layout.window_blocks,
            lanes=layout.lanes,
        )
        assert len(ids) > 0
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_array_equal(np.broadcast_to(epoch, len(ids)), positions // layout.num_examples)
        position = positions[-1] + layout.lanes


@pytest.mark.parametrize("rounds", [12, 24])
def test_the_graph_permutes_ranges_of_many_sizes_as_numpy_does(rounds):
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.arange(1, 400), rng.integers(1, 1 << 40, 600), [1 << 40]])
    # Sides of squares, where a rounded root would be off by one.
    sizes = np.concatenate([sizes, [n * n + d for n in (1000, 1 << 20) for d in (-1, 0)]])
    index = rng.integers(0, sizes)
    epochs, streams = rng.integers(0, 1 << 50, len(sizes)), rng.integers(0, 1 << 32, len(sizes))
    expected = permute_ranges(index, sizes, epochs, streams, seed=3, rounds=rounds)
    given = map(tf.constant, (index, sizes, epochs, streams))
    made = keyed_permutations.permute_ranges(*given, seed=3, rounds=rounds)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("num_examples", [1, 2, 3, 1000, 10**6 + 3, 2**40])
def test_the_graph_inverts_what_numpy_permutes(num_examples):
    for start in (0, max(0, 5 * num_examples - 100), 2**61 - 150):
        positions = np.arange(start, start + 300)
        ids = permutation.permute(positions, num_examples=num_examples, seed=7)
        epochs = positions // num_examples
        places = keyed_permutations.invert(tf.constant(ids), tf.constant(epochs), num_examples=num_examples, seed=7)
        np.testing.assert_array_equal(places, positions % num_examples)
