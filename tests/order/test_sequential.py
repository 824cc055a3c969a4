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


def test_without_padding_replicas_share_the_last_batch_evenly_and_in_order():
    options = {"num_examples": 17, "global_batch_size": 10, "num_replicas": 2}
    assert sequential.short_ranges(0, **options) == [range(5), range(5, 10)]
    assert sequential.short_ranges(1, **options) == [range(10, 13), range(13, 17)]


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 8))
def test_without_padding_each_example_comes_once_in_order(num_examples, per_replica, num_replicas):
    size = per_replica * num_replicas
    options = {"num_examples": num_examples, "global_batch_size": size, "num_replicas": num_replicas}
    steps = [sequential.short_ranges(step, **options) for step in range(steps_per_epoch(num_examples, size))]
    assert [position for parts in steps for part in parts for position in part] == list(range(num_examples))
    for parts in steps:
        counts = [len(part) for part in parts]
        assert max(counts) <= per_replica
        assert max(counts) - min(counts) <= 1


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
    for step in range(steps_per_epoch(num_examples, size)):
        positions = np.arange(step * size, (step + 1) * size)
        ids, is_example = sequential.short_ids(positions, num_examples=num_examples, layout=layout)
        parts = sequential.short_ranges(step, num_examples=num_examples, global_batch_size=size, num_replicas=replicas)
        for replica, part in enumerate(parts):
            rows = slice(replica * per_replica, (replica + 1) * per_replica)
            assert ids[rows][is_example[rows]].tolist() == list(part)
            assert is_example[rows].tolist() == [True] * len(part) + [False] * (per_replica - len(part))
            assert set(ids[rows]) == set(part)  # what is cut off reads no other record
