import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.fetch.recovery import replacement

seeds = st.integers(0, 2**63 - 1)


@given(st.integers(2, 300), st.data(), seeds)
def test_every_other_example_comes_once_before_any_comes_again(num_examples, data, seed):
    example_id = data.draw(st.integers(0, num_examples - 1))
    found = [replacement(example_id, attempt, seed, num_examples) for attempt in range(1, num_examples)]
    assert sorted(found) == sorted(set(range(num_examples)) - {example_id})


@given(st.integers(2, 2**40), st.data(), st.integers(1, 20), seeds)
def test_a_replacement_is_another_example_of_the_split(num_examples, data, attempt, seed):
    example_id = data.draw(st.integers(0, num_examples - 1))
    attempt = min(attempt, num_examples - 1)
    found = replacement(example_id, attempt, seed, num_examples)
    assert 0 <= found < num_examples
    assert found != example_id


@pytest.mark.parametrize(
    ("example_id", "attempt", "seed", "num_examples", "expected"),
    [
        (0, 1, 0, 2, 1),  # the only other
        (1, 1, 7, 2, 0),
        (0, 1, 0, 1_281_167, 998_255),
        (0, 2, 0, 1_281_167, 1_167_920),
        (0, 1, 1, 1_281_167, 1_251_689),
        (1_281_166, 1, 0, 1_281_167, 634_534),
    ],
)
def test_replacements_never_change_for_a_given_seed(example_id, attempt, seed, num_examples, expected):
    """Computed by hashlib's BLAKE2b and the formula alone, on ImageNet's number of examples."""
    assert replacement(example_id, attempt, seed, num_examples) == expected


def test_a_damaged_stretch_is_replaced_from_all_over_the_split():
    """A bad block of a disk hits neighbours: their replacements must not be neighbours again."""
    found = [replacement(i, 1, 0, 100_000) for i in range(1000)]
    assert len(set(found)) > 980
    assert sum(i < 1000 for i in found) < 40
    assert all(sum(i // 10_000 == tenth for i in found) > 50 for tenth in range(10))
