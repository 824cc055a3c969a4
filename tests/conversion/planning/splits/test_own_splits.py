"""Dividing one of the source's own splits: the others keep every key, and a misfit is refused with what fits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.plan import make_plan
from shardkit.errors import CallError
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import written_as
from shardkit.testing import inventory_table

SHARES = {"train": Fraction(3, 5), "validation": Fraction(2, 5)}


def splits_of(plan):
    """The split of each key."""
    found, start = {}, 0
    for split in plan.splits:
        keys = plan.rows(start, split.num_examples)["key"].to_pylist()
        found.update(dict.fromkeys(keys, split.name))
        start += split.num_examples
    return found


def plan_of(table, **options):
    return make_plan(Inventory(table, "split and class folders", {}), ConvertOptions.of(options))


@st.composite
def sources(draw):
    """Columns of a source of three splits, of which many contents and groups occur in several."""
    count = draw(st.integers(60, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = ["train", "test", "extra"]
    own = [*names, *rng.choice(names, count - 3, p=[0.7, 0.2, 0.1])]
    keys = [f"{split}/p{rng.integers(count // 3):03d}_{i:03d}.jpg" for i, split in enumerate(own)]
    contents = [b"%031d" % rng.integers(count * 2) for _ in range(count)]
    labels = [f"c{label}" for label in rng.integers(0, 4, count)]
    return {"keys": keys, "splits": list(map(str, own)), "contents": contents, "labels": labels}


def table_of(source, only=None):
    rows = [i for i, split in enumerate(source["splits"]) if only in {None, split}]
    taken = {name: [values[i] for i in rows] for name, values in source.items()}
    # Without a split, the same rows as a source of their own.
    splits = taken["splits"] if only is None else None
    return inventory_table(taken["labels"], keys=taken["keys"], splits=splits, contents=taken["contents"])


@settings(max_examples=30, deadline=None)
@given(
    sources(),
    st.sampled_from(["hash", "stratified"]),
    st.sampled_from([None, "/(p[0-9]+)_"]),
    st.sampled_from(["group", "ignore", "drop"]),
)
def test_the_other_splits_keep_their_keys_and_the_divided_one_is_split_as_if_alone(source, split_by, group_by, dedupe):
    options = {"split_by": split_by, "group_by": group_by, "dedupe": dedupe}
    table = table_of(source)
    before = splits_of(plan_of(table, group_by=group_by, dedupe=dedupe))
    try:
        after = splits_of(plan_of(table, splits=SHARES, splits_of=("train",), **options))
    except CallError as error:  # a few large groups that all fall into one split
        assume("would get none" not in str(error))
        raise
    assert {key: split for key, split in after.items() if split in {"test", "extra"}} == {
        key: split for key, split in before.items() if split != "train"
    }
    divided = {key: split for key, split in after.items() if key.startswith("train/")}
    assert set(divided) == {key for key, split in before.items() if split == "train"}
    assert set(divided.values()) == {"train", "validation"}
    if dedupe != "drop":  # it also drops the copies of other splits' images
        alone = splits_of(plan_of(table_of(source, "train"), splits=SHARES, **options))
        assert divided == alone
    if group_by is not None:
        by_group = {}
        for key, split in divided.items():
            by_group.setdefault(key[6:10], set()).add(split)
        assert all(len(found) == 1 for found in by_group.values())


def test_several_splits_can_be_mixed_and_one_class_list_is_for_all():
    table = inventory_table(
        ["a", "b"] * 20 + ["c", "d"] * 5, splits=["train", "train"] * 15 + ["test"] * 10 + ["kept"] * 10
    )
    plan = plan_of(table, splits=SHARES, splits_of=("train", "test"), split_by="stratified")
    assert {split.name: split.num_examples for split in plan.splits} == {"train": 24, "validation": 16, "kept": 10}
    assert plan.classes == ["a", "b", "c", "d"]


def test_a_group_in_the_divided_and_in_another_split_is_reported():
    keys = [f"{split}/p{i}.jpg" for split in ("test", "train") for i in range(30)]
    table = inventory_table(["a", "b"] * 30, keys=keys, splits=["test"] * 30 + ["train"] * 30)
    plan = plan_of(table, splits=SHARES, splits_of=("train",), group_by="/(p[0-9]+)")
    (found,) = [one for one in plan.findings if one.code == "group_in_several_splits"]
    assert found.sentence == "30 groups with images in more than one split"
    assert found.examples[0] == "test/p0.jpg and train/p0.jpg"


def test_images_without_a_split_are_rejected_as_without_the_option():
    table = inventory_table(["a", "b"] * 20, splits=["train"] * 30 + ["test"] * 5 + [None] * 5)
    plan = plan_of(table, splits=SHARES, splits_of=("train",))
    assert plan.rejected["reason"].to_pylist() == ["bad_split"] * 5


OWN = inventory_table(["a", "b"] * 20, splits=["train"] * 30 + ["test"] * 10)


@pytest.mark.parametrize(
    ("table", "options", "sentence", "commands"),
    [
        (
            OWN,
            {"splits": SHARES},
            "the source has its own splits (train, test), and splits would mix them",
            [
                "shardkit convert s OUT",
                "shardkit convert s OUT --splits-of train --splits train=0.6,validation=0.4",
                "shardkit convert s OUT --splits-of train,test --splits train=0.6,validation=0.4",
            ],
        ),
        (
            OWN,
            {"splits": {"train": Fraction(4, 5), "validation": Fraction(1, 10), "test": Fraction(1, 10)}},
            "the source has its own splits (train, test)",
            [
                "shardkit convert s OUT",
                "shardkit convert s OUT --splits-of train --splits train=0.9,validation=0.1",
                "shardkit convert s OUT --splits-of train,test --splits train=0.8,validation=0.1,test=0.1",
            ],
        ),
        (
            inventory_table(["a", "b"] * 20, splits=["train"] * 40),
            {"splits": SHARES},
            "the source already has the split 'train'; use splits_of='train' to divide it",
            [
                "shardkit convert s OUT",
                "shardkit convert s OUT --splits-of train --splits train=0.6,validation=0.4",
            ],
        ),
        (
            OWN,
            {"splits": {"train": Fraction(4, 5), "test": Fraction(1, 5)}, "splits_of": ("train",)},
            "splits contains 'test', an existing split that splits_of=['train'] does not list",
            ["shardkit convert s OUT --splits-of train,test --splits train=0.8,test=0.2"],
        ),
        (
            OWN,
            {"splits": SHARES, "splits_of": ("trian",)},
            "splits_of names the split 'trian'; the source has train, test",
            [],
        ),
        (
            inventory_table(["a", "b"] * 20),
            {"splits": SHARES, "splits_of": ("train",)},
            "the source has no splits of its own, so splits_of has nothing to divide",
            ["shardkit convert s OUT --splits train=0.6,validation=0.4"],
        ),
    ],
)
def test_splits_that_do_not_fit_the_sources_are_refused_with_the_commands_that_do(table, options, sentence, commands):
    given = ConvertOptions.of(options)
    with pytest.raises(CallError) as raised:
        make_plan(Inventory(table, "split and class folders", {}), given)
    assert str(raised.value).startswith(sentence)
    call = Call("convert", ("s",), None, {name: given.value(name) for name in options})
    offered = raised.value.refusal.changes if commands else ()
    with written_as("command"):
        assert [call.changed(change).line for change in offered] == commands
