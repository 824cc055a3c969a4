"""The ``sequential`` order: every example once, then padding of weight 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.order import BatchLayout, sequential, steps_per_epoch


def test_a_pass_is_all_examples_as_they_lie_and_the_last_again_with_weight_0():
    ids, weights = sequential.padded_ids(np.arange(8), num_examples=5)
    assert ids.tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
    assert weights.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]
    assert (ids.dtype, weights.dtype) == (np.int64, np.float32)


@given(st.integers(1, 500), st.integers(1, 600))
def test_each_example_has_weight_1_exactly_once_over_whole_batches(num_examples, global_batch_size):
    size = sequential.num_positions(num_examples, global_batch_size)
    assert size == steps_per_epoch(num_examples, global_batch_size) * global_batch_size
    ids, weights = sequential.padded_ids(np.arange(size), num_examples=num_examples)
    assert (np.bincount(ids, weights=weights, minlength=num_examples) == 1).all()
    assert len(ids) - num_examples < global_batch_size


@pytest.mark.parametrize(
    ("position", "num_examples", "says"),
    [(0, 0, "cannot order 0 examples; there must be at least 1"), (-1, 5, "position -1 is negative")],
)
def test_numbers_out_of_range_are_refused_in_a_sentence(position, num_examples, says):
    with pytest.raises(CallError, match=says):
        sequential.padded_ids(np.array([position]), num_examples=num_examples)


@pytest.mark.parametrize(
    ("num_examples", "per_replica", "replicas"),
    [(17, 5, 2), (20, 5, 2), (17, 20, 1), (9, 4, 8), (2, 4, 2), (100, 7, 3)],
)
def test_the_parts_of_the_last_batch_begin_with_their_examples(num_examples, per_replica, replicas):
    layout = BatchLayout(per_replica * replicas, replicas_per_worker=replicas)
    size = layout.global_batch_size
    read: list[int] = []
    for step in range(steps_per_epoch(num_examples, size)):
        positions = np.arange(step * size, (step + 1) * size)
        ids, is_example = sequential.short_ids(positions, num_examples=num_examples, layout=layout)
        read += ids[is_example].tolist()
        counts = is_example.reshape(replicas, per_replica).sum(axis=1)
        assert counts.max() - counts.min() <= 1
        for replica, count in enumerate(counts):
            rows = slice(replica * per_replica, (replica + 1) * per_replica)
            assert is_example[rows].tolist() == [True] * count + [False] * (per_replica - count)
            assert set(ids[rows]) == set(ids[rows][is_example[rows]])  # what is cut off reads no other record
    assert read == list(range(num_examples))
