import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.report.collection import Batch
from shardkit.report.facts.bins import ASPECTS, BYTES, SIDES, LogBins, occupied
from shardkit.report.facts.choosing import (
    MAX_CLASSES,
    Chooser,
    choose_classes,
    evenly_spaced,
    pictures_of_splits,
)
from shardkit.report.facts.counting import count_examples
from shardkit.statistics.repeated import MEMBERS_SHOWN, equal_sets, label_codes


def batch(labels, *, split=0, start=0, contents=None, **columns):
    """A batch of examples with these lists of labels."""
    num = len(labels)
    filled = {
        "key_hash": np.arange(num, dtype=np.int64) * 7919 % 101,
        "labels": np.array([one for row in labels for one in row], np.int32),
        "num_labels": np.array([len(row) for row in labels], np.int64),
        "width": np.full(num, 640, np.int32),
        "height": np.full(num, 480, np.int32),
        "image_bytes": np.full(num, 1000, np.int64),
        "contents": np.arange(start, start + num, dtype=np.uint64) if contents is None else contents,
        "hashed": (np.zeros(0, np.int64), np.zeros((0, 2), np.uint64)),
        "groups": None,
        "targets": None,
        "formats": {"JPEG": num},
        "changes": {"": num},
    }
    return Batch(split=split, start=start, **(filled | columns))


@pytest.mark.parametrize("bins", [SIDES, BYTES, ASPECTS])
@given(value=st.floats(1e-3, 1e12))
def test_a_value_is_in_its_bin(bins, value):
    (number,) = bins.numbers(np.array([value]))
    low, high = bins.edges[number], bins.edges[number + 1]
    assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9) or number in {0, bins.num - 1}


def test_squares_are_in_the_middle_of_a_bin():
    (number,) = ASPECTS.numbers(np.array([1.0]))
    assert math.isclose(math.sqrt(ASPECTS.edges[number] * ASPECTS.edges[number + 1]), 1)


@given(st.lists(st.integers(16, 1 << 30), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_of_bytes_is_right_within_five_percent(values, share):
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert BYTES.quantile(BYTES.count(np.array(values)), share) == pytest.approx(exact, rel=0.05)


def test_occupied_bins_have_a_margin_inside_the_bins():
    assert occupied(np.array([0, 0, 3, 0, 1, 0, 0]), 1) == slice(1, 6)
    assert occupied(np.array([5, 0]), 1) == slice(0, 2)
    assert occupied(np.zeros(4)) == slice(0, 4)


def test_log_bins_count_what_is_outside_at_the_ends():
    assert LogBins(8, 2, 1).count(np.array([1, 8, 16, 1000])).tolist() == [2, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30))
def test_equal_sets_are_those_of_a_plain_search(rows):
    values, codes = np.array([one for one, _ in rows], np.uint64), np.array([one for _, one in rows], np.int64)
    wanted = {one for one, _ in rows if len({code for other, code in rows if other == one}) > 1}
    found = equal_sets(values, codes)
    assert found.num == len(wanted)
    sets = [(found.members(at), found.shown(at)) for at in range(found.num)]
    assert {int(values[members[0]]) for members, _ in sets} == wanted
    for members, shown in sets:
        assert members == np.flatnonzero(values == values[members[0]]).tolist()
        assert len({int(codes[row]) for row in shown}) == len(shown) > 1


def test_sets_are_in_the_order_of_examples_and_few_members_of_each_are_shown():
    values = np.repeat(np.arange(40, dtype=np.uint64)[::-1], 9)
    found = equal_sets(values, np.tile(np.arange(9), 40))
    assert found.num == 40
    assert [found.shown(at)[0] for at in range(40)] == [9 * at for at in range(40)]
    assert {len(found.shown(at)) for at in range(40)} == {MEMBERS_SHOWN}
    assert {len(found.members(at)) for at in range(40)} == {9}


def test_a_value_that_means_nothing_is_ignored():
    values, codes = np.array([0, 0, 5, 5], np.uint64), np.array([1, 2, 1, 2])
    found = equal_sets(values, codes, ignored=0)
    assert [found.members(at) for at in range(found.num)] == [[2, 3]]


@given(st.lists(st.sets(st.integers(0, 5), max_size=3), min_size=1, max_size=12))
def test_label_codes_are_equal_for_equal_labels_only(rows):
    labels = [sorted(row) for row in rows]
    one = batch(labels)
    codes = label_codes(one.labels, one.num_labels)
    for at, left in enumerate(labels):
        for other, right in enumerate(labels):
            assert (codes[at] == codes[other]) == (left == right)


def test_duplicates_are_found_over_batches_and_splits():
    contents = np.array([11, 12, 13], np.uint64)
    batches = [
        batch([[0], [1], [2]], contents=contents),
        batch([[0], [2], [2]], split=1, start=3, contents=contents),
    ]
    found = count_examples(batches, 2, resize=256, paired=[], choosers=[])
    assert found.leaks.num == 3
    assert found.conflicts.num == 1
    assert found.conflicts.members(0) == [1, 4]


def test_without_contents_nothing_is_known_about_duplicates():
    columns = {"contents": None, "width": np.zeros(1, np.int32), "height": np.zeros(1, np.int32)}
    plain = batch([[0]])
    unknown = Batch(**{name: getattr(plain, name) for name in plain.__slots__} | columns)
    found = count_examples([unknown], 1, resize=256, paired=[], choosers=[])
    assert found.conflicts is found.leaks is None
    assert found.sizes[0].num_measured == 0
    assert found.sizes[0].width is None


def test_megapixels_after_a_reduction_are_those_of_each_image():
    width, height = np.array([1000, 100], np.int32), np.array([500, 100], np.int32)
    one = batch([[0], [0]], width=width, height=height)
    found = count_examples([one], 1, resize=250, paired=[], choosers=[]).sizes[0]
    assert found.megapixels == pytest.approx(0.51)
    assert found.resized_megapixels == pytest.approx(0.125 + 0.01)
    assert found.width == (100, 100, 1000)


def test_pairs_of_labels_are_counted():
    found = count_examples([batch([[0, 2], [0, 2], [0], [1, 2]])], 1, resize=9, paired=[2, 0], choosers=[])
    assert found.pairs.tolist() == [[3, 2], [2, 3]]
    assert found.labels_per_image[:3].tolist() == [0, 1, 3]


def test_few_classes_are_all_shown_and_of_many_three_kinds():
    (group,) = choose_classes(np.array([5, 0, 9]))
    assert group.labels == (2, 0)  # not the one without examples
    largest, smallest, others = choose_classes(np.arange(20_000)[::-1])
    assert largest.labels[:2] == (0, 1)
    assert smallest.labels[-1] == 19_998
    chosen = {*largest.labels, *smallest.labels, *others.labels}
    assert len(chosen) == MAX_CLASSES
    assert choose_classes(np.zeros(0, np.int64)) == []


def test_the_chosen_examples_do_not_depend_on_the_batches():
    hashes = np.random.default_rng(0).permutation(60).astype(np.int64)
    labels = [[at % 3] for at in range(60)]

    def chosen(size):
        chooser = Chooser([0, 2], [4])
        for start in range(0, 60, size):
            part = slice(start, start + size)
            chooser.add(batch(labels[part], start=start, key_hash=hashes[part]))
        return chooser.chosen(0), chooser.chosen(2), chooser.chosen(1)

    of_one = [at for at in np.argsort(hashes).tolist() if at % 3 == 0][:4]
    assert chosen(60) == chosen(7) == chosen(1)
    assert chosen(60)[0] == of_one
    assert chosen(60)[2] == []


@pytest.mark.parametrize(
    ("splits", "total", "wanted"), [(1, 8, [8]), (2, 8, [4, 4]), (3, 8, [4, 2, 2]), (12, 8, [1] * 8 + [0] * 4)]
)
def test_every_split_has_pictures(splits, total, wanted):
    assert pictures_of_splits(splits, total) == wanted


def test_a_sample_is_evenly_spaced():
    assert evenly_spaced(10, 5).tolist() == [1, 3, 5, 7, 9]
    assert evenly_spaced(3, 5).tolist() == [0, 1, 2]
    assert evenly_spaced(0, 5).tolist() == []
