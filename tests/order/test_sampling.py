"""Shares of classes and data sets over any 1,000 positions, each example once before any again."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.order.sampling import class_balanced, class_weighted, sample
from shardkit.order.schedule import MAX_CIRCLE, PERIOD, draw, make_schedule

GOLDEN = json.loads((Path(__file__).parent / "golden" / "sampling.json").read_text(encoding="utf-8"))

LABELS = np.array([0, 0, 2])  # nobody has class 1

seeds = st.integers(0, MAX_SEED)
weights_of = st.one_of(
    st.lists(st.integers(0, 20), min_size=1, max_size=40),  # shares with a small circle
    st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=40),  # shares that must be rounded
    st.integers(1, 1500).map(lambda n: [1] * n),
).filter(any)


def expand(runs):
    return [value for number, value in runs for _ in range(number)]


def labels_of(runs):
    counts = expand(runs)
    return np.repeat(np.arange(len(counts)), counts)


def counts_in_windows(classes, num_classes, length):
    seen = np.zeros((len(classes) + 1, num_classes), np.int32)
    seen[np.arange(1, len(classes) + 1), classes] = 1
    seen = np.cumsum(seen, axis=0)
    return seen[length:] - seen[:-length]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: f"{c['classes'][0]}-seed={c['seed']}-t={c['start']}")
def test_what_a_seed_samples_never_changes(case):
    labels, weights = labels_of(case["classes"]), dict(enumerate(expand(case["weights"])))
    sampling = class_weighted(labels, weights, num_classes=len(weights), seed=case["seed"])
    positions = np.arange(case["start"], case["start"] + len(case["ids"]))
    ids, epochs = sample(positions, sampling, seed=case["seed"])
    assert ids.dtype == epochs.dtype == np.int64
    assert ids.tolist() == case["ids"]
    assert epochs.tolist() == case["epochs"]


@settings(deadline=None, max_examples=60)
@given(weights_of, seeds, st.integers(0, 1 << 50))
def test_any_1000_positions_have_every_class_less_than_one_from_its_share(weights, seed, start):
    schedule = make_schedule(weights, seed=seed)
    classes, _ = draw(schedule, np.arange(start, start + 3 * PERIOD))
    counts = counts_in_windows(classes, len(weights), PERIOD)
    wanted = PERIOD * np.array(weights) / sum(weights)
    assert np.abs(counts - PERIOD * schedule.shares).max() < 1
    assert np.abs(counts - wanted).max() < 1 + 2e-3  # the share itself may be rounded, see below


@settings(deadline=None, max_examples=30)
@given(weights_of, seeds, st.integers(1, PERIOD))
def test_shorter_stretches_come_within_three(weights, seed, length):
    schedule = make_schedule(weights, seed=seed)
    classes, _ = draw(schedule, np.arange(2 * PERIOD))
    assert np.abs(counts_in_windows(classes, len(weights), length) - length * schedule.shares).max() < 3


@settings(deadline=None, max_examples=60)
@given(weights_of, seeds)
def test_long_run_shares_are_those_asked_for_and_no_weight_is_rounded_to_nothing(weights, seed):
    schedule = make_schedule(weights, seed=seed)
    wanted = np.array(weights) / sum(weights)
    finest = schedule.num_shared / MAX_CIRCLE / PERIOD
    assert np.abs(schedule.shares - wanted).max() <= 2 * finest + 1e-15
    assert ((schedule.shares > 0) == (wanted > 0)).all()


@pytest.mark.parametrize("weights", [[1] * 3, [1] * 7, [1] * 1500, [5, 3, 2], [2, 2, 3]])
def test_whole_numbers_have_their_exact_shares_over_one_turn_of_the_circle(weights):
    schedule = make_schedule(weights, seed=0)
    turn = PERIOD * len(schedule.points)
    classes, _ = draw(schedule, np.arange(turn))
    exact = np.bincount(classes, minlength=len(weights))
    assert (exact * sum(weights) == turn * np.array(weights)).all()
    again, more = draw(schedule, np.arange(turn, turn + 5000))
    np.testing.assert_array_equal(again, classes[:5000] if turn >= 5000 else draw(schedule, np.arange(5000))[0])
    np.testing.assert_array_equal(more - exact[again], draw(schedule, np.arange(5000))[1])


@settings(deadline=None, max_examples=60)
@given(weights_of, seeds, st.integers(0, 1 << 50))
def test_the_count_of_a_position_is_how_often_its_class_came_before(weights, seed, start):
    schedule = make_schedule(weights, seed=seed)
    classes, counts = draw(schedule, np.arange(2 * PERIOD))
    later, counts_later = draw(schedule, np.arange(start, start + 2 * PERIOD))
    for c in range(len(weights)):
        assert (counts[classes == c] == np.arange((classes == c).sum())).all()
        # From any start: each count follows the last.
        assert (np.diff(counts_later[later == c]) == 1).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any), seeds)
def test_every_example_of_a_class_comes_once_before_any_comes_again(counts, seed):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    sampling = class_balanced(labels, num_classes=len(counts), seed=seed)
    ids, epochs = sample(np.arange(2000), sampling, seed=seed)
    for c, count in enumerate(counts):
        of_class = ids[labels[ids] == c]
        assert bool(len(of_class)) == bool(count)
        for lap in range(len(of_class) // count if count else 0):
            assert sorted(of_class[lap * count : (lap + 1) * count]) == np.flatnonzero(labels == c).tolist()
    for i in np.unique(ids):
        assert epochs[ids == i].tolist() == list(range((ids == i).sum()))


def test_a_class_comes_in_another_order_each_time_and_classes_of_a_size_in_orders_of_their_own():
    labels = np.repeat(np.arange(4), 50)
    sampling = class_balanced(labels, num_classes=4, seed=0)
    ids, _ = sample(np.arange(4 * 50 * 20), sampling, seed=0)
    laps = np.stack([ids[labels[ids] == c].reshape(20, 50) - 50 * c for c in range(4)]).reshape(80, 50)
    correlation = np.corrcoef(laps) - np.eye(80)
    # 3,160 pairs of standard normal z-scores: beyond 5.5 lies a chance of 1e-4 for all of them together.
    assert np.abs(correlation).max() * np.sqrt(49) < 5.5
    assert abs((correlation**2).sum() / 2 * 49 - 3160) < 6 * np.sqrt(2 * 3160)


def test_another_seed_gives_classes_their_turns_in_another_order():
    turns = [draw(make_schedule([1] * 100, seed=seed), np.arange(100))[0].tolist() for seed in range(3)]
    assert all(sorted(row) == list(range(100)) for row in turns)
    assert turns[0] != turns[1] != turns[2] != list(range(100))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: class_balanced(np.array([0, -1]), num_classes=2, seed=0), "example 1 has no class"),
        (lambda: class_balanced(LABELS, num_classes=2, seed=0), "example 2 has class 2, but classes go from 0 to 1"),
        (lambda: class_balanced(LABELS[:0], num_classes=2, seed=0), "there are no examples to sample from"),
        (lambda: class_weighted(LABELS, {3: 1}, num_classes=3, seed=0), "class 3 has a weight, but classes go from 0"),
        (lambda: class_weighted(LABELS, {1: 1}, num_classes=3, seed=0), "class 1 has weight 1, but no examples"),
        (lambda: class_weighted(LABELS, {0: 0}, num_classes=3, seed=0), "no weight is above 0"),
        (lambda: class_weighted(LABELS, {0: -1, 2: 2}, num_classes=3, seed=0), "weight -1.0 of number 0"),
    ],
)
def test_what_cannot_be_sampled_is_refused_in_a_sentence(call, says):
    with pytest.raises(CallError, match=says):
        call()
