import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shardkit.conversion.planning.splits.splitting import split_by_hash, split_stratified
from shardkit.errors import CallError
from shardkit.options.parsing import parse_ratios, parse_split_values

LAST = 2**64 - 1


@st.composite
def ratios_of_splits(draw):
    weights = draw(st.lists(st.integers(1, 20), min_size=1, max_size=6))
    return {f"s{place}": Fraction(weight, sum(weights)) for place, weight in enumerate(weights)}


@st.composite
def labelled(draw, max_size=120):
    labels = draw(st.lists(st.integers(-1, 25), max_size=max_size))
    hashes = draw(st.lists(st.integers(0, LAST), min_size=len(labels), max_size=len(labels), unique=True))
    return np.array(hashes, np.uint64), np.array(labels, np.int32)


def eighths(*shares):
    return {f"s{place}": Fraction(share, 8) for place, share in enumerate(shares)}


def as_hashes(*values):
    return np.array(values, np.uint64)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train=0.8,validation=0.1,test=0.1", {"train": (4, 5), "validation": (1, 10), "test": (1, 10)}),
        ("test=.5, train = 0.50", {"test": (1, 2), "train": (1, 2)}),  # order as given, blanks, no leading zero
        ("train=1", {"train": (1, 1)}),
        ("val=0.3,train=0.7", {"val": (3, 10), "train": (7, 10)}),  # aliases are the caller's
        ("a=0.000000001,b=0.999999999", {"a": (1, 10**9), "b": (10**9 - 1, 10**9)}),
        ("a=0.1,b=0.2,c=0.7", {"a": (1, 10), "b": (1, 5), "c": (7, 10)}),  # as floats: 0.9999999999999999
        ("train=80,val=20", {"train": (4, 5), "val": (1, 5)}),
        ("train=80%, test = 20 %", {"train": (4, 5), "test": (1, 5)}),
        ("train=100", {"train": (1, 1)}),
        ("80/10/10", {"train": (4, 5), "validation": (1, 10), "test": (1, 10)}),
        ("80,10,10", {"train": (4, 5), "validation": (1, 10), "test": (1, 10)}),
        ("80%,10%,10%", {"train": (4, 5), "validation": (1, 10), "test": (1, 10)}),
        ("0.8/0.1/0.1", {"train": (4, 5), "validation": (1, 10), "test": (1, 10)}),
        ("0.8, 0.2", {"train": (4, 5), "validation": (1, 5)}),
        ("99.5/0.5", {"train": (199, 200), "validation": (1, 200)}),
    ],
)
def test_ratios_are_read_exactly_and_in_order(text, expected):
    assert list(parse_ratios(text).items()) == [(name, Fraction(*parts)) for name, parts in expected.items()]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("train=0.8,test=0.3", r"adds to 1\.1: the shares must add to exactly 1 or 100"),
        ("train=0.8,test=0.199999999", r"adds to 0\.999999999:"),
        ("train=80,test=30", r"adds to 110: the shares must add to exactly 1 or 100"),
        ("0.8/20", r"adds to 20\.8:"),
        ("0.8%,0.2%", r"adds to 1: the shares must add to exactly 100 %"),
        ("80%,10%,9%", r"adds to 99: the shares must add to exactly 100 %"),
        ("100", r"is neither two numbers"),
        ("70/10/10/10", r"is neither two numbers"),
        ("80-20", r"is neither two numbers"),
        ("80 10 10", r"is neither two numbers"),
        ("80/", r"gives validation the share '': write a number"),
        ("100/0", r"gives validation the share 0: it must be above 0"),
        ("train/test", r"gives train the share 'train': write a number such as 0\.8 or 80"),
        ("train=0.8,test=0.2,train=0.0", r"names the split train twice, as 'train' and 'train'"),
        ("val=0.5,validation=0.5", r"names the split validation twice, as 'val' and 'validation'"),
        ("train=1,test=0", r"gives test the share 0: it must be above 0, or left out"),
        ("train=8e-1,test=0.2", r"'8e-1': write a number"),
        ("train=4/5,test=1/5", r"'4/5': write a number"),
        ("train=1.5,test=-0.5", r"'-0\.5': write a number"),
        ("train=٠.٨,test=0.2", r"'٠\.٨': write a number"),  # Fraction() would take Arabic digits
        ("train=0.8000000001,test=0.1999999999", r"share 0\.8000000001: write at most 9 decimals"),
        ("train=1,x", r"has the part 'x', which is not of the form name=value"),
        ("train=", r"has the part 'train=', which"),
        ("", r"is neither two numbers"),
        ("train=1,", r"has the part '', which"),
        ("../train=1", r"found '\.\./train'"),
    ],
)
def test_ratios_that_cannot_be_honoured_are_refused_with_what_was_found(text, says):
    with pytest.raises(CallError, match=says):
        parse_ratios(text)


def test_values_of_splits_keep_their_order_and_errors_name_the_option():
    assert list(parse_split_values("b=x, a=y=z", option="--it").items()) == [("b", "x"), ("a", "y=z")]
    with pytest.raises(CallError, match="--it 'b' has"):
        parse_split_values("b", option="--it")


@pytest.mark.parametrize(
    ("ratios", "starts"),  # the first hash of each split, by hand
    [
        ("a=0.5,b=0.5", [0, 2**63]),
        ("a=0.8,b=0.2", [0, 14757395258967641293]),  # 0.8 * 2**64 = …292.8; as a float it is 14757395258967642112
        ("a=0.1,b=0.2,c=0.7", [0, 1844674407370955162, 5534023222112865485]),
        ("a=0.999999999,b=0.000000001", [0, 2**64 - 18446744073]),
        ("a=1", [0]),
    ],
)
def test_hash_thresholds_are_exact_to_the_last_bit(ratios, starts):
    for split, start in enumerate(starts):
        assert split_by_hash(as_hashes(start), parse_ratios(ratios)) == [split]
        if start:
            assert split_by_hash(as_hashes(start - 1), parse_ratios(ratios)) == [split - 1]
    assert split_by_hash(as_hashes(LAST), parse_ratios(ratios)) == [len(starts) - 1]


@given(st.lists(st.integers(0, LAST), max_size=50), ratios_of_splits())
def test_split_by_hash_is_where_the_hash_falls_among_the_cumulative_ratios(hashes, ratios):
    splits = split_by_hash(np.array(hashes, np.uint64), ratios)
    assert splits.dtype == np.int32
    for value, split in zip(hashes, splits, strict=True):
        start = sum(list(ratios.values())[:split])
        assert start <= Fraction(value, 2**64) < start + list(ratios.values())[split]


@given(st.lists(st.integers(0, LAST), min_size=1, max_size=50), ratios_of_splits(), st.data())
def test_an_example_never_changes_split_by_hash_when_data_grows(hashes, ratios, data):
    grown = np.array(hashes, np.uint64)
    kept = np.array(data.draw(st.lists(st.integers(0, len(hashes) - 1), unique=True)), np.int64)
    np.testing.assert_array_equal(split_by_hash(grown[kept], ratios), split_by_hash(grown, ratios)[kept])


def test_split_by_hash_gives_the_shares_asked_for_on_uniform_hashes():
    hashes = np.random.default_rng(0).integers(0, LAST, 100_000, np.uint64, endpoint=True)
    counts = np.bincount(split_by_hash(hashes, parse_ratios("a=0.8,b=0.15,c=0.05")))
    np.testing.assert_allclose(counts, [80_000, 15_000, 5_000], atol=500)  # four standard deviations


def assert_within_one(counts, total, ratios):
    for count, ratio in zip(counts, ratios.values(), strict=True):
        assert math.floor(ratio * total) <= count <= math.ceil(ratio * total)


# A remainder must move on for the totals, but never to a split of which the class has a whole number already.
@example((np.arange(3, dtype=np.uint64), np.array([0, 1, 1], np.int32)), eighths(3, 1, 4))
@example((np.arange(4, dtype=np.uint64), np.array([0, 1, 1, 1], np.int32)), eighths(1, 4, 1, 2))
@given(labelled(), ratios_of_splits())
def test_every_class_and_the_whole_are_shared_out_within_one(examples, ratios):
    hashes, labels = examples
    splits = split_stratified(hashes, labels, ratios)
    assert splits.dtype == np.int32
    assert splits.shape == labels.shape
    assert_within_one(np.bincount(splits, minlength=len(ratios)), len(labels), ratios)
    for label in np.unique(labels):
        of_class = splits[labels == label]
        assert_within_one(np.bincount(of_class, minlength=len(ratios)), len(of_class), ratios)


@given(labelled(), ratios_of_splits(), st.randoms())
def test_stratified_splits_depend_neither_on_row_order_nor_on_class_numbers(examples, ratios, random):
    hashes, labels = examples
    rows = np.array(random.sample(range(len(labels)), len(labels)), np.int64)
    renumbered = np.array(random.sample(range(-1, 100), 101), np.int32)
    splits = split_stratified(hashes, labels, ratios)
    np.testing.assert_array_equal(split_stratified(hashes[rows], labels[rows], ratios), splits[rows])
    # Classes of equal count and equal smallest hash do not occur: hashes are unique.
    np.testing.assert_array_equal(split_stratified(hashes, renumbered[labels + 1], ratios), splits)


@given(labelled(), ratios_of_splits())
def test_a_class_goes_to_the_splits_in_hash_order(examples, ratios):
    hashes, labels = examples
    splits = split_stratified(hashes, labels, ratios)
    for label in np.unique(labels):
        of_class = labels == label
        assert (np.diff(splits[of_class][np.argsort(hashes[of_class])]) >= 0).all()


@pytest.mark.parametrize(
    ("counts", "ratios", "expected"),
    [
        ([1] * 250, "train=0.8,test=0.2", [200, 50]),  # each class rounded alone: 250 and 0
        ([1] * 250, "a=0.4,b=0.3,c=0.3", [100, 75, 75]),  # alone: 250, 0, 0
        ([5] * 100, "train=0.8,validation=0.1,test=0.1", [400, 50, 50]),  # alone: one of two equal remainders, always
        ([3] * 7 + [2] * 3, "a=0.5,b=0.5", [14, 13]),  # 13.5 each
        ([10] * 4, "a=0.5,b=0.3,c=0.2", [20, 12, 8]),
        ([1], "a=0.1,b=0.9", [0, 1]),
        ([], "a=0.1,b=0.9", [0, 0]),
    ],
)
def test_totals_over_classes_are_the_ratios_of_the_whole(counts, ratios, expected):
    labels = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    hashes = np.random.default_rng(0).permutation(len(labels)).astype(np.uint64)
    splits = split_stratified(hashes, labels, parse_ratios(ratios))
    assert np.bincount(splits, minlength=len(expected)).tolist() == expected


def test_rare_classes_get_their_share_of_the_rare_split_though_larger_ones_could_fill_it():
    # 1,000 classes of one image and 1,000 of seven (1.4 for the test split): the sevens alone could give the 600.
    labels = np.concatenate((np.arange(1000), np.repeat(np.arange(1000, 2000), 7))).astype(np.int32)
    hashes = np.random.default_rng(0).permutation(8000).astype(np.uint64)
    splits = split_stratified(hashes, labels, parse_ratios("train=0.8,test=0.2"))
    assert abs(np.count_nonzero(splits[:1000]) - 200) <= 5
    assert np.count_nonzero(splits) == 1600


@pytest.mark.parametrize("split", [split_by_hash, lambda hashes, ratios: split_stratified(hashes, hashes, ratios)])
@pytest.mark.parametrize(
    "ratios",
    [
        {"a": Fraction(1, 2)},
        {"a": Fraction(3, 2), "b": Fraction(-1, 2)},
        {"a": Fraction(1, 10**10), "b": 1 - Fraction(1, 10**10)},  # would overflow 64 bits
    ],
)
def test_ratios_that_did_not_come_from_text_are_checked_too(split, ratios):
    with pytest.raises(CallError, match=r"the ratios a=.* must be above 0, add to 1 and have at most 9 decimals"):
        split(as_hashes(), ratios)
