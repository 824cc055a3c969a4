"""Which positions a step, a worker and a replica take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.order import BatchLayout, steps_per_epoch

# Each row: the global batch size, the number of workers and what each worker must get of every batch.
WORKER_TABLE = [
    (64, 1, 64),
    (64, 2, 32),
    (64, 4, 16),
    (64, 8, 8),
    (64, 32, 2),
    (32, 32, 1),  # one example a worker
    (1, 1, 1),
    (96, 32, 3),  # no power of two
]


@pytest.mark.parametrize(("global_batch_size", "num_workers", "per_worker"), WORKER_TABLE)
def test_the_slots_of_the_workers_tile_the_global_batch_in_order(global_batch_size, num_workers, per_worker):
    slots = [BatchLayout(global_batch_size, num_workers, w).slots for w in range(num_workers)]
    assert [slot for part in slots for slot in part] == list(range(global_batch_size))
    assert {len(part) for part in slots} == {per_worker}


@given(st.integers(1, 40), st.integers(1, 16), st.integers(1, 8))
def test_replicas_of_workers_hold_the_same_global_batch(per_replica, num_workers, replicas_per_worker):
    size = per_replica * num_workers * replicas_per_worker
    layouts = [BatchLayout(size, num_workers, w, replicas_per_worker) for w in range(num_workers)]
    starts = [r for layout in layouts for r in layout.slots[:: layout.per_replica_batch_size]]
    assert starts == list(range(0, size, per_replica))
    assert layouts[0].per_worker_batch_size == per_replica * replicas_per_worker


@pytest.mark.parametrize(
    ("num_examples", "global_batch_size", "steps"),
    [(100, 10, 10), (101, 10, 11), (99, 10, 10), (1, 1024, 1), (1_281_167, 1024, 1252)],
)
def test_an_epoch_of_steps_holds_all_examples_and_less_than_a_batch_more(num_examples, global_batch_size, steps):
    assert steps_per_epoch(num_examples, global_batch_size) == steps
    assert num_examples <= steps * global_batch_size < num_examples + global_batch_size


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: BatchLayout(100, 8),
            "global_batch_size 100 cannot be divided evenly among 8 workers; use 96 or 104, or another multiple of 8",
        ),
        (
            lambda: BatchLayout(1000, 4, 0, 8),
            r"global_batch_size 1000 cannot be divided evenly among 32 replicas \(4 workers of 8\); use 992 or 1024",
        ),
        (lambda: BatchLayout(7, 1, 0, 2), r"among 2 replicas \(1 worker of 2\); use 6 or 8"),
        # No multiple lies below, so one size is named and not a batch of 0.
        (lambda: BatchLayout(3, 8), "3 cannot be divided evenly among 8 workers; use 8, or another multiple of 8"),
        (lambda: BatchLayout(64, 2, 2), "worker_index 2 does not exist; with 2 workers it must be from 0 to 1"),
        (lambda: BatchLayout(64, 1, 1), "worker_index 1 does not exist; with 1 worker it must be from 0 to 0"),
        (lambda: BatchLayout(64, 2, -1), "worker_index -1 does not exist"),
        (lambda: BatchLayout(64, 0, 0), "num_workers is 0; it must be at least 1"),
        (lambda: BatchLayout(64, 1, 0, 0), "replicas_per_worker is 0; it must be at least 1"),
        (lambda: BatchLayout(0), "global_batch_size is 0; it must be at least 1"),
        (lambda: steps_per_epoch(0, 64), "there are 0 examples; an epoch needs at least 1"),
        (lambda: steps_per_epoch(10, 0), "global_batch_size is 0; it must be at least 1"),
    ],
)
def test_what_cannot_be_dealt_is_refused_with_numbers_and_a_remedy(call, says):
    with pytest.raises(CallError, match=says):
        call()
