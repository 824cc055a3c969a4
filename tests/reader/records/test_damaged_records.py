import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError, RecordError
from shardkit.reader.records.damaged_records import DamagedRecord, DamagedRecords, replacement

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


def fault(number, key="a/b.jpg"):
    return DamagedRecord(number, "train-00001-of-00003.tfrecord", number, key, "the CRC does not match")


def test_a_bad_record_counts_once_however_often_it_comes_round():
    budget = DamagedRecords(2)
    assert budget.add(fault(5))
    assert not budget.add(fault(5))
    assert budget.add(fault(3))
    assert [one.example_id for one in budget.faults] == [3, 5]


def test_one_more_than_the_budget_is_told_with_shard_record_and_key():
    budget = DamagedRecords(1)
    budget.add(fault(5))
    sentence = r"train-00001-of-00003\.tfrecord: record 7, key 'a/b\.jpg': the CRC .* bad record 2, and 1 are allowed"
    for _ in range(2):  # a trainer that tries again is told again
        with pytest.raises(RecordError, match=sentence):
            budget.add(fault(7))


def test_a_budget_of_none_allows_none():
    with pytest.raises(RecordError, match="bad record 1, and 0 are allowed"):
        DamagedRecords(0).add(fault(1))
    with pytest.raises(CallError, match="at least 0; found -1"):
        DamagedRecords(-1)


def test_the_report_names_shard_record_and_key_and_stays_short():
    budget = DamagedRecords(100)
    assert not budget.report()
    budget.add(fault(4, key="new\nline"))
    expected = r"train-00001-of-00003.tfrecord: record 4, key 'new\\nline': the CRC does not match"
    assert budget.report().splitlines() == ["1 bad record was replaced:", f"  {expected}"]
    for number in range(20):
        budget.add(fault(number))
    lines = budget.report().splitlines()
    assert lines[0] == "20 bad records were replaced by others:"
    assert lines[-1] == "  and 10 more"
    assert len(lines) == 12


def test_threads_spend_one_budget():
    budget, refused = DamagedRecords(50), []

    def work(start):
        for number in range(start, start + 30):
            try:
                budget.add(fault(number))
            except RecordError:  # noqa: PERF203 - each may be refused
                refused.append(number)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(budget.faults) == 50
    assert len(set(refused)) == 20
