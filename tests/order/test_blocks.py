"""The ``block`` order: every record once an epoch, few blocks at a time, each read once, whatever the workers."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.order import blocks, permutation
from shardkit.order.blocks import BLOCKS_PURPOSE, WINDOWS_PURPOSE, BlockLayout, Epochs, block_order, windows_of
from shardkit.order.keyed_permutations import derived_seed, permute_ranges
from shardkit.order.training import check_lanes, lane_positions

GOLDEN = json.loads((Path(__file__).parent / "golden" / "blocks.json").read_text(encoding="utf-8"))

layouts = st.builds(
    lambda counts, *numbers: BlockLayout(np.cumsum([0, *counts]), *numbers),
    st.lists(st.integers(1, 60), min_size=1, max_size=8),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(1, 9),
)
seeds = st.integers(0, MAX_SEED)


def order(positions, layout, seed):
    return block_order(
        positions,
        starts=layout.starts,
        num_examples=layout.num_examples,
        seed=seed,
        block_records=layout.block_records,
        window_blocks=layout.window_blocks,
        lanes=layout.lanes,
    )


def epoch_of(layout, seed, epoch):
    start = epoch * layout.num_examples
    return order(np.arange(start, start + layout.num_examples), layout, seed)


def plain_epoch(layout, seed, epoch):
    """The definition, step by step, with lists of all blocks and records."""
    size, lanes = layout.block_records, layout.lanes
    blocks = [np.arange(a, min(a + size, z)) for s, z in pairwise(layout.starts) for a in range(s, z, size)]
    places = np.arange(epoch * len(blocks), (epoch + 1) * len(blocks))
    order_of_blocks = permutation.permute(places, num_examples=len(blocks), seed=derived_seed(seed, BLOCKS_PURPOSE))
    ids = np.concatenate([blocks[b] for b in order_of_blocks])
    block_of_rank = np.repeat(np.arange(len(blocks)), [len(blocks[b]) for b in order_of_blocks])
    made = np.empty_like(ids)
    for lane, ranks in enumerate(np.array_split(np.arange(len(ids)), lanes)):
        if not len(ranks):
            continue
        shift = lane * layout.window_blocks // lanes
        windows = (block_of_rank[ranks] - block_of_rank[ranks[0]] + shift) // layout.window_blocks
        shuffled = []
        for number in np.unique(windows):
            inside = ranks[windows == number]
            sizes = np.full(len(inside), len(inside))
            shuffled.append(
                inside[0]
                + permute_ranges(
                    np.arange(len(inside)),
                    sizes,
                    np.full_like(sizes, epoch),
                    np.full_like(sizes, number * lanes + lane),
                    seed=derived_seed(seed, WINDOWS_PURPOSE),
                    rounds=permutation.num_rounds(size * layout.window_blocks),
                )
            )
        made[lane::lanes] = ids[np.concatenate(shuffled)]
    return made


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['shards'][0]}-seed={c['seed']}-t={c['start']}")
def test_the_order_of_a_seed_never_changes(case):
    counts = [size for number, size in case["shards"] for _ in range(number)]
    layout = BlockLayout(np.cumsum([0, *counts]), case["block_records"], case["window_blocks"], case["lanes"])
    ids = order(np.arange(case["start"], case["start"] + len(case["ids"])), layout, case["seed"])
    assert ids.dtype == np.int64
    assert ids.tolist() == case["ids"]


@settings(deadline=None)
@given(layouts, seeds, st.integers(0, 1 << 40))
def test_the_arithmetic_gives_what_lists_of_all_blocks_give(layout, seed, epoch):
    assert epoch_of(layout, seed, epoch).tolist() == plain_epoch(layout, seed, epoch).tolist()


@settings(deadline=None)
@given(layouts, seeds)
def test_every_epoch_holds_every_example_once_with_no_tail_dropped(layout, seed):
    ids = order(np.arange(3 * layout.num_examples), layout, seed).reshape(3, -1)
    assert (np.sort(ids, axis=1) == np.arange(layout.num_examples)).all()


@settings(deadline=None)
@given(layouts, seeds, st.lists(st.integers(0, (1 << 62) - 1), max_size=20))
def test_a_position_has_one_example_whatever_is_asked_with_it(layout, seed, positions):
    together = order(np.array(positions, np.int64), layout, seed)
    assert together.tolist() == [order(np.array([t]), layout, seed)[0] for t in positions]


def test_epochs_and_seeds_are_no_more_alike_than_chance():
    # Blocks move together, so ids correlate as so many blocks would: 400 z-scores of their places.
    layout = BlockLayout(np.arange(0, 50 * 101, 101), 10, 4, 4)
    rows = {(seed, epoch): epoch_of(layout, seed, epoch) for seed in range(4) for epoch in range(4)}
    keys = list(rows)
    for i, a in enumerate(keys):
        for b in keys[:i]:
            assert abs(np.corrcoef(rows[a], rows[b])[0, 1]) < 4.5 / np.sqrt(layout.num_blocks), (a, b)
            # Equal examples at equal places: Poisson with mean 1, and 12 has a chance of 1e-9.
            assert (rows[a] == rows[b]).sum() < 12, (a, b)


@settings(deadline=None)
@given(layouts, seeds, st.integers(0, 3), st.integers(1, 4))
def test_every_number_of_workers_makes_the_same_batches_from_slots_of_its_own(layout, seed, step, per_lane):
    lanes, size = layout.lanes, layout.lanes * per_lane
    start = step * size
    whole = lane_positions(np.arange(start, start + size), global_batch_size=size, lanes=lanes)
    assert sorted(whole) == list(range(start, start + size))
    for num_workers in (w for w in range(1, lanes + 1) if lanes % w == 0):
        slots_of = np.arange(lanes).reshape(num_workers, -1)
        for worker, part in enumerate(whole.reshape(num_workers, -1)):
            assert set(part % lanes) == set(slots_of[worker])


@settings(deadline=None)
@given(layouts, seeds)
def test_at_any_position_a_lane_has_at_most_a_window_of_blocks_alive(layout, seed):
    ids = epoch_of(layout, seed, 0)
    shard = np.searchsorted(layout.starts, ids, side="right") - 1
    block = layout.first_block[shard] + (ids - layout.starts[shard]) // layout.block_records
    for lane in range(layout.lanes):
        mine = block[lane :: layout.lanes]
        alive = np.zeros(len(mine) + 1, np.int64)
        for b in np.unique(mine):
            at = np.flatnonzero(mine == b)
            alive[at[0]] += 1
            alive[at[-1] + 1] -= 1
        assert np.cumsum(alive).max(initial=0) <= layout.window_blocks


def test_lanes_start_their_next_windows_at_different_steps():
    layout, size = BlockLayout(np.arange(0, 64 * 1001, 64)), 64
    positions = lane_positions(np.arange(400 * size), global_batch_size=size, lanes=layout.lanes)
    window = windows_of(layout, Epochs.over(layout, np.zeros(1, np.int64), 0), positions)
    numbers = window.number.reshape(400, -1, size // layout.lanes)[:, :, 0]  # [step, lane]
    changed = np.diff(numbers, axis=0) != 0
    # A window serves 128 steps of 8 records per lane, so one of 8 lanes starts a window every 16 steps.
    assert changed.sum() >= 20
    assert changed.sum(axis=1).max() <= 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 1024, 5000])
@pytest.mark.parametrize("rounds", [12, 24])
def test_a_permutation_of_ones_own_is_a_bijection_for_each_epoch_and_stream(size, rounds):
    made = [
        permute_ranges(np.arange(size), np.full(size, size), np.full(size, e), np.full(size, s), seed=5, rounds=rounds)
        for e, s in [(0, 0), (0, 1), (1, 0), (1 << 40, (1 << 32) - 1)]
    ]
    assert (np.sort(made, axis=1) == np.arange(size)).all()
    if size >= 64:
        assert len({tuple(row) for row in made}) == len(made)


@settings(deadline=None)
@given(st.integers(1, 1 << 40), seeds, st.lists(st.integers(0, (1 << 62) - 1), max_size=30))
def test_the_inverse_finds_the_place_of_what_was_permuted(num_examples, seed, positions):
    positions = np.array(positions, np.int64)
    ids = permutation.permute(positions, num_examples=num_examples, seed=seed)
    epochs = positions // num_examples
    places = permutation.invert(ids, epochs, num_examples=num_examples, seed=seed)
    assert places.tolist() == (positions % num_examples).tolist()


ONE = BlockLayout(np.array([0, 10]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: BlockLayout(np.array([0, 5]), 0), "block_records is 0; it must be at least 1"),
        (lambda: BlockLayout(np.array([0, 5]), 4, 0), "window_blocks is 0; it must be at least 1"),
        (lambda: BlockLayout(np.array([0, 5]), 4, 4, 0), "lanes is 0; it must be at least 1"),
        (lambda: BlockLayout(np.array([0, 5, 5])), "at least one record in each shard"),
        (lambda: BlockLayout(np.array([0, 1 << 38]), 1), "blocks are too many; choose block_records above 1"),
        (
            lambda: block_order(np.array([0]), starts=ONE.starts, num_examples=9, seed=0),
            "num_examples is 9, but the shards have 10",
        ),
        (lambda: order(np.array([-1]), ONE, 0), "position -1 is negative"),
        (lambda: order(np.array([0]), ONE, -1), "seed -1 is out of range"),
        (lambda: check_lanes(8, 100), "100 cannot be divided evenly among 8 lanes; use 96 or 104"),
        (lambda: check_lanes(8, 96, 3), "3 workers cannot share 8 lanes; .* or lanes=9"),
        (lambda: check_lanes(8, 96, 16), "16 workers cannot share 8 lanes; .* or lanes=16"),
        (
            lambda: permutation.invert(np.array([5]), np.array([0]), num_examples=5, seed=0),
            "found ids from 5 to 5; they must be from 0 to 4",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(call, says):
    with pytest.raises(CallError, match=says):
        call()


# counts of the shards, block_records, window_blocks, lanes
WINDOW_LAYOUTS = [
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
    return BlockLayout(np.cumsum([0, *counts]), block_records, window_blocks, lanes)


@pytest.mark.parametrize("case", WINDOW_LAYOUTS, ids=lambda case: f"{len(case[0])}-shards-of-{case[0][0]}")
def test_windows_of_a_lane_follow_each_other_and_hold_its_examples(case):
    layout = layout_of(case)
    positions = max(0, 2 * layout.num_examples - 40) + np.arange(300)  # shortly before an epoch ends
    ids = blocks.block_order(
        positions,
        starts=layout.starts,
        num_examples=layout.num_examples,
        seed=3,
        block_records=layout.block_records,
        window_blocks=layout.window_blocks,
        lanes=layout.lanes,
    )
    starts = blocks.window_starts(layout, 3, positions)
    lanes = positions % layout.num_examples % layout.lanes
    for lane in range(layout.lanes):
        if not (lanes == lane).any():
            continue
        own, examples = starts[lanes == lane], ids[lanes == lane]
        start = own[0]
        for name in dict.fromkeys(own.tolist()):
            assert start == name  # the windows follow each other
            held, start = blocks.window_ids(layout, 3, name)
            assert set(examples[own == name].tolist()) <= set(held.tolist())
            assert len(set(held.tolist())) == len(held) <= layout.max_window_records
