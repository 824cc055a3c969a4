"""The ``full`` order is as good as chance: each statistic against the distribution that true shuffling would give it.

Seeds are fixed, so a test passes always or never. Bounds are derived: a z-score beyond 4.5 has a chance of 7e-6, and
there are a few thousand of them here; Poisson bounds are given where they are used.
"""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from shardkit.order.keyed_permutations import permute_ranges
from shardkit.order.permutation import num_rounds, permute

Z = 4.5


def some(numbers, *slow):
    """Numbers of examples, and those that are worth a run before a release only."""
    return pytest.mark.parametrize("num_examples", [*numbers, *(pytest.param(n, marks=pytest.mark.slow) for n in slow)])


def epochs_of(num_examples, seed, first_epoch, num_epochs):
    start = first_epoch * num_examples
    ids = permute(np.arange(start, start + num_epochs * num_examples), num_examples=num_examples, seed=seed)
    return ids.reshape(num_epochs, num_examples)


def rank_correlation_z(*rows):
    """Spearman's rho of each two permutations times sqrt(N - 1), which is standard normal for independent ones."""
    n = len(rows[0])
    centred = np.stack(rows) - (n - 1) / 2
    return (centred @ centred.T) / (n * (n * n - 1) / 12) * math.sqrt(n - 1)


def chi_square_z(counts, degrees=None, scale=1.0):
    """Standardised chi-square of counts whose expectations are equal."""
    expected = counts.sum() / counts.size
    degrees = degrees or counts.size - 1
    return (scale * ((counts - expected) ** 2 / expected).sum() - degrees) / math.sqrt(2 * degrees)


@some([10, 100, 1_000, 10_000, 100_000], 1_000_000)
def test_epochs_and_seeds_are_no_more_alike_than_chance(num_examples):
    # Of a million three seeds and epochs, of fewer four.
    number = 3 if num_examples == 1_000_000 else 4
    keyed = {(s, e): row for s in range(number) for e, row in enumerate(epochs_of(num_examples, s, 0, number))}
    # All pairs, so also (0, 1) against (1, 0), which `seed + epoch` makes the same, and (0, 2), (1, 1), (2, 0).
    scores = np.abs(np.triu(rank_correlation_z(*keyed.values()), 1))
    worst = [list(keyed)[i] for i in np.unravel_index(scores.argmax(), scores.shape)]
    assert scores.max() < Z, worst


@pytest.mark.slow
def test_epochs_of_ten_million_are_no_more_alike_than_chance():
    first, second = (epochs_of(10_000_000, 0, e, 1)[0] for e in (0, 1))
    assert np.abs(np.triu(rank_correlation_z(first, second, np.arange(10_000_000)), 1)).max() < Z


def test_many_consecutive_epochs_are_uncorrelated_on_the_whole():
    # 400 z-scores of consecutive epochs: their sum of squares is chi-square with 400 degrees of freedom.
    rows = epochs_of(1_000, 3, 0, 401)
    squares = (np.diagonal(rank_correlation_z(*rows), 1) ** 2).sum()
    assert abs(squares - 400) / math.sqrt(800) < Z


@pytest.mark.parametrize("num_examples", [1_000, 5_000, 100_000])
def test_neighbours_in_one_epoch_are_not_neighbours_in_the_next(num_examples):
    # Unordered pairs adjacent in both of two independent shuffles: Poisson with mean 2. Over 20 transitions, 40.
    rows = epochs_of(num_examples, 11, 0, 21)
    shared = 0
    for a, b in pairwise(rows):
        place = np.empty(num_examples, np.int64)
        place[b] = np.arange(num_examples)
        shared += int((np.abs(place[a[:-1]] - place[a[1:]]) == 1).sum())
    assert abs(shared - 40) / math.sqrt(40) < Z


@some([10, 100, 5_000], 20_000)
def test_fixed_points_come_as_often_as_chance_has_them(num_examples):
    # An example keeps its place from one epoch to the next, or its place on disk: Poisson with mean 1 each time.
    num_epochs = 200
    rows = epochs_of(num_examples, 2, 0, num_epochs + 1)
    kept = int((rows[:-1] == rows[1:]).sum())
    on_disk = int((rows[:-1] == np.arange(num_examples)).sum())
    for count in (kept, on_disk):
        assert abs(count - num_epochs) / math.sqrt(num_epochs) < Z


@pytest.mark.parametrize(("num_examples", "batch_size"), [(100, 10), (1_000, 100), (5_000, 500), (2_048, 64)])
def test_an_example_falls_into_every_batch_of_an_epoch_equally_often(num_examples, batch_size):
    num_epochs, num_batches = 400, num_examples // batch_size
    rows = epochs_of(num_examples, 17, 0, num_epochs)
    counts = np.zeros((num_examples, num_batches), np.int64)
    for row in rows:
        counts[row, np.arange(num_examples) // batch_size] += 1
    # Rows and columns have fixed sums, and within an epoch places are drawn without replacement: hence the degrees
    # of freedom and the factor, which makes the expectation exact.
    degrees = (num_examples - 1) * (num_batches - 1)
    assert abs(chi_square_z(counts, degrees, scale=(num_examples - 1) / num_examples)) < Z


@pytest.mark.parametrize(("num_examples", "batch_size"), [(1_000, 100), (5_000, 250)])
def test_examples_of_a_batch_are_spread_over_the_batches_of_the_next_epoch(num_examples, batch_size):
    num_batches, num_epochs = num_examples // batch_size, 200
    rows = epochs_of(num_examples, 23, 0, num_epochs + 1)
    counts = np.zeros((num_batches, num_batches))
    batch_of_place = np.arange(num_examples) // batch_size
    batch_of = np.empty((num_epochs + 1, num_examples), np.int64)
    for row, place in zip(batch_of, rows, strict=True):
        row[place] = batch_of_place
    for a, b in pairwise(batch_of):
        np.add.at(counts, (a, b), 1)
    assert abs(chi_square_z(counts, (num_batches - 1) ** 2, scale=(num_examples - 1) / num_examples)) < Z


# The smallest, a prime, a power of two and the largest; then the others.
@some([5, 20], *(n for n in range(2, 21) if n not in {5, 20}))
def test_each_place_of_a_small_epoch_holds_each_example_equally_often_over_seeds(num_examples):
    num_seeds = 2_000
    counts = np.zeros((num_examples, num_examples), np.int64)
    for seed in range(num_seeds):
        counts[np.arange(num_examples), epochs_of(num_examples, seed, 0, 1)[0]] += 1
    assert abs(chi_square_z(counts, (num_examples - 1) ** 2, scale=(num_examples - 1) / num_examples)) < Z


@some([5], 2, 3, 4, 6)
def test_all_orders_of_a_tiny_data_set_are_equally_frequent(num_examples):
    # Sharp enough to fail with 12 rounds at 5 and 6 examples (z of 16 and 35), hence 24 for small sizes.
    rows = epochs_of(num_examples, 1, 0, 200_000)
    code = rows @ (num_examples ** np.arange(num_examples))
    all_codes = np.array(list(permutations(range(num_examples)))) @ (num_examples ** np.arange(num_examples))
    counts = np.bincount(np.searchsorted(np.sort(all_codes), code), minlength=len(all_codes))
    assert chi_square_z(counts) < Z


@some([7, 64], 12, 25, 100)
def test_the_examples_at_two_places_are_independent(num_examples):
    starts = np.arange(60_000) * num_examples
    different = ~np.eye(num_examples, dtype=bool)
    for i, j in [(0, 1), (0, num_examples - 1), (num_examples // 2, num_examples // 2 + 1)]:
        first, second = (permute(starts + place, num_examples=num_examples, seed=6) for place in (i, j))
        pairs = np.bincount(first * num_examples + second, minlength=num_examples**2)
        assert abs(chi_square_z(pairs.reshape(different.shape)[different])) < Z, (i, j)


def is_odd(rows):
    """bool[m]: the parity of each permutation in int[m, n], by counting its inversions."""
    first, second = np.triu_indices(rows.shape[1], 1)
    return (rows[:, first] > rows[:, second]).sum(axis=1) % 2 == 1


def epochs_by_stream(num_examples, num_streams):
    streams, index = (numbers.ravel() for numbers in np.indices((num_streams, num_examples)))
    sizes = np.full_like(index, num_examples)
    made = permute_ranges(index, sizes, np.zeros_like(index), streams, seed=8, rounds=num_rounds(num_examples))
    return made.reshape(num_streams, num_examples)


# Sizes on a rectangle whose sides are both odd: whole squares, where a network alone gives even permutations only, and
# sizes below them, where it gives nearly always one parity. Then some with an even side.
@some([7, 8, 9, 25, 2, 3], 21, 22, 23, 24, 49, 81, 5, 10, 16, 20, 50)
@pytest.mark.parametrize("make", [lambda n, m: epochs_of(n, 4, 0, m), epochs_by_stream], ids=["epochs", "streams"])
def test_half_of_the_orders_of_any_size_are_odd_permutations(make, num_examples):
    number = 2_000
    odd = is_odd(make(num_examples, number))
    assert abs(2 * odd.sum() - number) / math.sqrt(number) < Z
    # The parity of one epoch, or class, says nothing of the next one's.
    assert abs(2 * (odd[1:] == odd[:-1]).sum() - (number - 1)) / math.sqrt(number - 1) < Z
