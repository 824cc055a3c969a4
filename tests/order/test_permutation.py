"""The ``full`` order: a bijection each epoch, held by a golden file, with errors that say what to do."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.order import permutation
from shardkit.order.permutation import MAX_NUM_EXAMPLES, key_words, mix32, permute, rectangle

GOLDEN = json.loads((Path(__file__).parent / "golden" / "permutation.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "case", GOLDEN["cases"], ids=lambda c: f"N={c['num_examples']}-seed={c['seed']}-t={c['start']}"
)
def test_the_order_of_a_seed_never_changes(case):
    positions = np.arange(case["start"], case["start"] + len(case["ids"]))
    ids = permute(positions, num_examples=case["num_examples"], seed=case["seed"])
    assert ids.dtype == np.int64
    assert ids.tolist() == case["ids"]


def test_the_keys_of_a_seed_never_change():
    words = key_words(5, np.array([0, 1, 1 << 40]), 2)
    assert np.moveaxis(words, -1, 0).tolist() == GOLDEN["key_words(5, [0, 1, 2**40], 2)"]


@pytest.mark.parametrize("seed", [0, 1, MAX_SEED])
def test_every_epoch_of_every_small_size_holds_every_example_once(seed):
    for num_examples in range(1, 301):
        epochs = permute(np.arange(3 * num_examples), num_examples=num_examples, seed=seed).reshape(3, num_examples)
        assert (np.sort(epochs, axis=1) == np.arange(num_examples)).all(), num_examples


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200_000), st.integers(0, MAX_SEED), st.integers(0, 1 << 40))
def test_every_epoch_of_a_large_size_holds_every_example_once(num_examples, seed, epoch):
    start = epoch * num_examples
    ids = permute(np.arange(start, start + num_examples), num_examples=num_examples, seed=seed)
    assert (np.bincount(ids, minlength=num_examples) == 1).all()


@settings(deadline=None)
@given(st.integers(1, MAX_NUM_EXAMPLES), st.integers(0, MAX_SEED), st.lists(st.integers(0, (1 << 62) - 1), max_size=50))
def test_a_position_has_one_example_whatever_is_asked_with_it(num_examples, seed, positions):
    together = permute(np.array(positions, np.int64), num_examples=num_examples, seed=seed)
    alone = [permute(np.array([t]), num_examples=num_examples, seed=seed)[0] for t in positions]
    assert together.tolist() == alone
    assert all(0 <= i < num_examples for i in alone)


def test_the_positions_given_are_left_as_they_were():
    positions = np.arange(100)
    permute(positions, num_examples=7, seed=0)
    assert (positions == np.arange(100)).all()


@given(st.integers(1, MAX_NUM_EXAMPLES))
def test_the_rectangle_covers_all_and_exceeds_by_less_than_its_longer_side(num_examples):
    rows, columns = rectangle(num_examples)
    assert 0 <= rows * columns - num_examples < rows
    assert columns <= rows <= 1 << 20


def test_mixing_is_a_bijection_that_stays_in_32_bits():
    x = np.arange(1 << 16) * 65_537 % (1 << 32)
    mixed = mix32(x)
    assert mixed.min() >= 0
    assert mixed.max() < 1 << 32
    assert len(np.unique(mixed)) == len(x)


def test_no_product_leaves_int64():
    # The promise that TensorFlow and NumPy agree rests on this: neither multiplication may wrap around.
    for multiplier in (permutation.MULTIPLIER_1, permutation.MULTIPLIER_2, rectangle(MAX_NUM_EXAMPLES)[0]):
        assert int(permutation.LOW_32) * int(multiplier) < 1 << 63


@pytest.mark.parametrize(
    ("num_examples", "seed", "position", "says"),
    [
        (0, 0, 0, r"cannot order 0 examples; the number must be from 1 to 1,099,511,627,776"),
        ((1 << 40) + 1, 0, 0, r"cannot order 1,099,511,627,777 examples"),
        (5, -1, 0, r"seed -1 is out of range; it must be from 0 to 9223372036854775807"),
        (5, 1 << 63, 0, r"seed 9223372036854775808 is out of range"),
        (5, 0, -3, r"position -3 is negative; positions count from 0"),
    ],
)
def test_numbers_out_of_range_are_refused_in_a_sentence(num_examples, seed, position, says):
    with pytest.raises(CallError, match=says):
        permute(np.array([position]), num_examples=num_examples, seed=seed)
