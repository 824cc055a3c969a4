"""The ops for the order of an evaluation give what `shardkit.order.sequential` defines."""

import numpy as np
import pytest
import tensorflow as tf

from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.order import sequential as definition
from shardkit.reader.orders import sequential


def test_padding_is_that_of_the_definition():
    positions = np.arange(24)
    ids, is_example = sequential.padded(tf.constant(positions), 17)
    expected, weights = definition.padded_ids(positions, num_examples=17)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(tf.cast(is_example, tf.float32), weights)


@pytest.mark.parametrize(
    ("num_examples", "per_replica", "replicas"),
    [(17, 5, 2), (20, 5, 2), (17, 20, 1), (9, 4, 8), (2, 4, 2), (100, 7, 3)],
)
def test_the_parts_of_the_last_batch_are_those_of_the_definition(num_examples, per_replica, replicas):
    layout = BatchLayout(per_replica * replicas, replicas_per_worker=replicas)
    for step in range(steps_per_epoch(num_examples, layout.global_batch_size)):
        positions = np.arange(step * layout.global_batch_size, (step + 1) * layout.global_batch_size)
        ids, is_example = (part.numpy() for part in sequential.short(tf.constant(positions), num_examples, layout))
        expected = definition.short_ranges(
            step, num_examples=num_examples, global_batch_size=layout.global_batch_size, num_replicas=replicas
        )
        for replica, part in enumerate(expected):
            rows = slice(replica * per_replica, (replica + 1) * per_replica)
            assert ids[rows][is_example[rows]].tolist() == list(part)
            assert is_example[rows].tolist() == [True] * len(part) + [False] * (per_replica - len(part))
            assert set(ids[rows]) == set(part)  # what is cut off reads no other record
