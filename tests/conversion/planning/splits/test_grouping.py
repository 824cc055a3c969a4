import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.planning.splits import grouping
from shardkit.errors import CallError

NAMES = st.sampled_from(["a", "b", "c", "d", None])


def column(values, type_=None):
    """In two chunks, as inventories are."""
    type_ = pa.string() if type_ is None else type_
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], type_), pa.array(values[half:], type_)])


def digests(letters):
    return column([letter.encode().ljust(32, b"\0") for letter in letters], pa.binary(32))


def components(groups, contents):
    """The same by closing over pairs until nothing changes: sets of rows."""
    sets = [{row} for row in range(len(contents))]
    for one in range(len(contents)):
        for other in range(one):
            same_group = groups[one] is not None and groups[one] == groups[other]
            if (same_group or contents[one] == contents[other]) and sets[one] is not sets[other]:
                sets[one] |= sets[other]
                for row in sets[one]:
                    sets[row] = sets[one]
    return {frozenset(found) for found in sets}


@given(st.lists(st.tuples(NAMES, st.sampled_from("uvwxyz")), max_size=12))
def test_atomic_groups_are_the_connected_components_of_groups_and_contents(rows):
    groups, contents = [group for group, _ in rows], [content for _, content in rows]
    atomic_groups = grouping.merge_atomic_groups(
        grouping.group_codes(column(groups)), grouping.duplicate_codes(digests(contents))
    )
    found = {}
    for row, number in enumerate(atomic_groups.tolist()):
        found.setdefault(("alone", row) if number < 0 else number, set()).add(row)
    assert {frozenset(one) for one in found.values()} == components(groups, contents)


def test_contents_that_share_only_64_bits_are_no_duplicates():
    alike = [b"\1" * 8 + b"\2" * 24, b"\1" * 8 + b"\3" * 24, b"\1" * 8 + b"\2" * 24, b"\4" * 32]
    codes = grouping.duplicate_codes(pa.chunked_array([pa.array(alike, pa.binary(32))]))
    assert codes.tolist() == [0, -1, 0, -1]
    # Sets are numbered by their first row, and a slice is read as what it is.
    assert grouping.duplicate_codes(digests("xbabaa").slice(1)).tolist() == [0, 1, 0, 1, 1]


@given(st.lists(st.tuples(NAMES, st.sampled_from("uvwxyz")), min_size=1, max_size=12), st.integers(0, 3))
def test_an_atomic_group_has_one_hash_of_its_own(rows, seed):
    groups, contents = [group for group, _ in rows], [content for _, content in rows]
    atomic_groups = grouping.merge_atomic_groups(
        grouping.group_codes(column(groups)), grouping.duplicate_codes(digests(contents))
    )
    hashes = grouping.atomic_group_hashes(atomic_groups, digests(contents), column(groups), seed=seed)
    for found in components(groups, contents):
        assert len({int(hashes[row]) for row in found}) == 1
    assert len(set(hashes.tolist())) == len(components(groups, contents))


def test_an_example_keeps_its_hash_when_a_duplicate_without_a_group_joins_its_group():
    def hashes(groups, contents):
        codes = grouping.group_codes(column(groups)), grouping.duplicate_codes(digests(contents))
        return grouping.atomic_group_hashes(
            grouping.merge_atomic_groups(*codes), digests(contents), column(groups), seed=0
        )

    for letter in "uvwxyz":
        before = hashes(["a", "b"], [letter, "t"])
        after = hashes(["a", "b", None, None], [letter, "t", letter, "s"])
        assert after[:3].tolist() == [*before.tolist(), before[0]]


def test_the_first_group_of_an_expression_names_the_group():
    keys = column(["p1/a.jpg", "p1/b.jpg", "p2/a.jpg", "other.jpg"])
    assert grouping.groups_by_pattern(keys, r"^p(\d+)/").to_pylist() == ["1", "1", "2", None]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "missing ), unterminated subpattern"),
        ("patient", "has no (group)"),
        ("(q)", "is found in none of the 2 keys, such as 'p1/a.jpg'"),
    ],
)
def test_an_expression_that_cannot_group_is_refused(pattern, said):
    with pytest.raises(CallError) as raised:
        grouping.groups_by_pattern(column(["p1/a.jpg", "p2/a.jpg"]), pattern)
    assert said in str(raised.value)


def test_straddling_groups_are_those_in_several_splits():
    codes, split_of = np.array([0, 0, 1, 1, -1, -1, 2]), np.array([0, 1, 1, 1, 0, 1, 0], np.int32)
    assert grouping.groups_in_several_splits(codes, split_of).tolist() == [0]
