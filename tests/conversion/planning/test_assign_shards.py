import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.planning import assign_shards as module
from shardkit.conversion.planning.assign_shards import assign_shards, measure_balance, sort_by
from shardkit.dataset.manifest import Balance
from shardkit.errors import CallError


@st.composite
def examples_of_a_split(draw):
    """Labels, sizes and unique hashes; few classes, many, one; sizes equal, zero or far apart."""
    num_examples = draw(st.integers(0, 200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    num_classes = draw(st.sampled_from([1, 2, 5, 40, 300]))
    labels = (rng.random(num_examples) ** draw(st.sampled_from([1, 4])) * num_classes).astype(np.int32) - 1
    sizes = draw(
        st.sampled_from(
            [
                np.zeros(num_examples, np.int64),
                np.full(num_examples, 7),
                rng.integers(0, 4, num_examples),  # many ties
                rng.lognormal(11.4, 0.6, num_examples).astype(np.int64),
                rng.lognormal(11.4, 3.0, num_examples).astype(np.int64),
            ]
        )
    )
    return labels, sizes, rng.permutation(2**16)[:num_examples].astype(np.uint64)


shard_counts = st.integers(1, 40)


def assigned(labels, sizes, hashes, num_shards):
    """The shard of each row, whatever the order of the rows: sorted first, as planning does."""
    rows = np.arange(len(labels), dtype=np.uint32)
    sort_by(rows, labels, hashes)
    shards = np.empty(len(labels), np.int32)
    shards[rows] = assign_shards(labels[rows], sizes[rows], num_shards)
    return shards


def table_of(labels, shards, num_shards):
    """Examples by class and shard, dense and slow."""
    return np.array([np.bincount(shards[labels == label], minlength=num_shards) for label in np.unique(labels)])


@given(examples_of_a_split(), shard_counts)
def test_counts_and_the_counts_of_every_class_are_within_one_over_shards(split, num_shards):
    labels, sizes, hashes = split
    shards = assigned(labels, sizes, hashes, num_shards)
    assert shards.dtype == np.int32
    assert shards.shape == labels.shape
    if len(labels):
        assert 0 <= shards.min() <= shards.max() < num_shards
        assert np.ptp(np.bincount(shards, minlength=num_shards)) <= 1
        assert np.ptp(table_of(labels, shards, num_shards), axis=1).max() <= 1


@given(examples_of_a_split(), shard_counts, st.randoms())
def test_the_shard_of_an_example_does_not_depend_on_the_order_of_the_rows(split, num_shards, random):
    labels, sizes, hashes = split
    rows = np.array(random.sample(range(len(labels)), len(labels)), np.int64)
    expected = assigned(labels, sizes, hashes, num_shards)
    np.testing.assert_array_equal(assigned(labels[rows], sizes[rows], hashes[rows], num_shards), expected[rows])


@given(examples_of_a_split(), shard_counts)
def test_assigning_leaves_its_arguments_alone(split, num_shards):
    before = [column.copy() for column in split]
    assigned(*split, num_shards)
    for column, copy in zip(split, before, strict=True):
        np.testing.assert_array_equal(column, copy)


NUM_EXAMPLES, NUM_SHARDS = 20_000, 20


@pytest.mark.parametrize(
    "labels_of",
    [
        pytest.param(lambda rng: rng.integers(0, 10, NUM_EXAMPLES), id="ten classes"),
        pytest.param(lambda rng: (1000 * rng.random(NUM_EXAMPLES) ** 3).astype(int), id="a long tail of classes"),
        pytest.param(lambda rng: np.where(rng.random(NUM_EXAMPLES) < 0.99, 0, rng.integers(1, 50)), id="one dominates"),
        pytest.param(lambda _: np.full(NUM_EXAMPLES, -1), id="unlabelled"),
        # No shard shares a class with another: same-class swaps cannot help, the laps alone stay 1-5 % apart.
        pytest.param(lambda _: np.arange(NUM_EXAMPLES), id="a class each"),
        pytest.param(lambda _: np.arange(NUM_EXAMPLES) // 3, id="three of each class"),
    ],
)
@pytest.mark.parametrize(
    "sizes_of",
    [
        pytest.param(lambda rng, _: rng.lognormal(11.4, 0.6, NUM_EXAMPLES), id="photographs"),
        pytest.param(lambda rng, _: rng.lognormal(11.4, 1.5, NUM_EXAMPLES), id="thumbnails and scans"),
        pytest.param(lambda rng, labels: (labels % 7 + 2) * rng.lognormal(10, 0.4, NUM_EXAMPLES), id="by class"),
        pytest.param(lambda *_: np.full(NUM_EXAMPLES, 150_528), id="equal"),
    ],
)
def test_bytes_are_within_one_percent_from_a_thousand_examples_a_shard(labels_of, sizes_of):
    rng = np.random.default_rng(0)
    labels = labels_of(rng).astype(np.int32)
    sizes = sizes_of(rng, labels).astype(np.int64)
    hashes = rng.permutation(NUM_EXAMPLES).astype(np.uint64)
    shards = assigned(labels, sizes, hashes, NUM_SHARDS)
    loads = np.bincount(shards, weights=sizes)
    assert loads.max() / loads.min() - 1 <= 0.01
    assert np.ptp(np.bincount(shards)) == 0
    if labels.max() < 1000:
        assert np.ptp(table_of(labels, shards, NUM_SHARDS), axis=1).max() <= 1
    else:  # fewer of each class than shards
        assert len(np.unique(labels.astype(np.int64) * NUM_SHARDS + shards)) == NUM_EXAMPLES


def test_one_file_of_a_tenth_of_a_shard_is_made_up_for_by_the_others():
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(11.4, 0.6, NUM_EXAMPLES).astype(np.int64)
    sizes[123] = sizes.sum() // NUM_SHARDS // 10
    shards = assigned(
        rng.integers(0, 5, NUM_EXAMPLES).astype(np.int32), sizes, np.arange(NUM_EXAMPLES).astype(np.uint64), 20
    )
    loads = np.bincount(shards, weights=sizes)
    assert loads.max() / loads.min() - 1 <= 0.01


def test_two_hundred_and_fifty_classes_of_one_image_fill_four_shards_evenly():
    rng = np.random.default_rng(0)
    labels, sizes = np.arange(250, dtype=np.int32), rng.lognormal(11.4, 0.6, 250).astype(np.int64)
    balance = measure_balance(labels, sizes, assigned(labels, sizes, rng.permutation(250).astype(np.uint64), 4), 4)
    assert (balance.count_spread, balance.class_spread) == (1, 1)
    assert balance.bytes_spread < 0.01


def test_a_shard_that_finds_nothing_to_swap_with_its_opposite_tries_others():
    # Ten examples a shard leave few swaps: with opposites only, the worst of these fifty stays 27 % apart.
    rng = np.random.default_rng(0)
    for _ in range(50):
        labels, sizes = rng.integers(0, 30, 100).astype(np.int32), rng.lognormal(11.4, 0.6, 100).astype(np.int64)
        shards = assigned(labels, sizes, rng.permutation(100).astype(np.uint64), 10)
        assert measure_balance(labels, sizes, shards, 10).bytes_spread < 0.02


def plain_best_exchange(heavy, light, gap, span):
    """The most bytes-halving of all allowed swaps, one by one; None where none narrows the gap."""
    lone_in_heavy, lone_in_light = set(heavy // span) - set(light // span), set(light // span) - set(heavy // span)
    misses = []
    for mine in heavy.tolist():
        for theirs in light.tolist():
            swappable = mine // span == theirs // span or (
                mine // span in lone_in_heavy and theirs // span in lone_in_light
            )
            moved = mine % span - theirs % span
            if swappable and 0 < moved < gap:
                misses.append(abs(gap - 2 * moved))
    return min(misses, default=None)


@given(st.data(), st.integers(1, 6), st.integers(1, 60), st.sampled_from([4096, 3, 1]))
def test_the_swap_found_is_the_best_of_all_and_still_one_when_candidates_are_bounded(
    data, num_classes, max_bytes, max_candidates
):
    span = 2 * max_bytes + 1
    members = st.lists(st.tuples(st.integers(0, num_classes), st.integers(0, max_bytes)), min_size=1, max_size=12)
    heavy, light = (
        np.array(sorted(label * span + size for label, size in data.draw(members)), np.int64) for _ in range(2)
    )
    gap = data.draw(st.integers(1, 3 * max_bytes))  # beyond what one swap can move, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_CANDIDATES", max_candidates)
        found = module._best_exchange(heavy, light, gap, span, good_enough=0)
    best = plain_best_exchange(heavy, light, gap, span)
    if max_candidates == 4096:
        assert (None if found is None else abs(gap - 2 * found.moved)) == best
    if found is not None:
        mine, theirs = heavy[found.heavy_at], light[found.light_at]
        assert found.moved == mine % span - theirs % span
        assert mine // span == theirs // span or (
            mine // span not in light // span and theirs // span not in heavy // span
        )


@pytest.mark.parametrize(
    ("num_examples", "num_shards", "counts"),
    [
        (0, 3, [0, 0, 0]),
        (5, 1, [5]),
        (4, 4, [1, 1, 1, 1]),
        (2, 4, [0, 0, 1, 1]),  # sizing never asks for it, yet it must not fail
    ],
)
def test_borders(num_examples, num_shards, counts):
    rows = np.arange(num_examples)
    shards = assigned(rows.astype(np.int32) % 2, rows + 1, rows.astype(np.uint64), num_shards)
    assert sorted(np.bincount(shards, minlength=num_shards)) == counts


def test_impossible_calls_are_refused():
    one = np.ones(2, np.int64)
    with pytest.raises(CallError, match="the number of shards is 0: it must be at least 1"):
        assigned(one.astype(np.int32), one, one.astype(np.uint64), 0)
    with pytest.raises(CallError, match="2 examples of up to 4,611,686,018,427,387,904 bytes"):
        assigned(one.astype(np.int32), one << 62, one.astype(np.uint64), 2)


@given(examples_of_a_split(), shard_counts, st.integers(0, 2**32))
def test_balance_measured_is_that_of_the_dense_table(split, num_shards, seed):
    labels, sizes, _ = split
    shards = np.random.default_rng(seed).integers(0, num_shards, len(labels)).astype(np.int32)
    balance = measure_balance(labels, sizes, shards, num_shards)
    if not len(labels):
        assert balance == Balance(count_spread=0, class_spread=0, bytes_spread=0.0)
        return
    assert balance.count_spread == np.ptp(np.bincount(shards, minlength=num_shards))
    assert balance.class_spread == np.ptp(table_of(labels, shards, num_shards), axis=1).max()
    loads = [sum(sizes[shards == shard].tolist()) for shard in range(num_shards)]
    if min(loads):
        assert balance.bytes_spread == pytest.approx(max(loads) / min(loads) - 1)
    else:
        assert balance.bytes_spread == (math.inf if max(loads) else 0)
