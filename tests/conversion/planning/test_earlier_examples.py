"""What the plan of appended examples takes from the dataset: splits, classes, duplicates."""

from fractions import Fraction

import pyarrow as pa
import pytest

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.choosing import NothingNewError
from shardkit.conversion.planning.earlier_examples import EARLIER_SCHEMA, EarlierExamples, joined_mask_classes
from shardkit.conversion.planning.plan import make_plan
from shardkit.errors import CallError
from shardkit.options.groups import ConvertOptions
from shardkit.testing import inventory_table

HALVES = {"train": Fraction(1, 2), "test": Fraction(1, 2)}
CONTENTS = [f"c{number}".encode().rjust(32, b"\0") for number in range(40)]


def planned(earlier, *, contents=CONTENTS, own=None, **options):
    """The plan of 40 images, keys 00 to 39: the plan, its splits by number, and the messages of rejected keys."""
    keys = [f"{i:02d}.png" for i in range(40)]
    table = inventory_table(["ant", "bee"] * 20, keys=keys, contents=contents, splits=own)
    plan = make_plan(
        Inventory(table, "table", {}),
        ConvertOptions.of({"seed": 3} | options, appended_to="0" * 64),
        earlier=earlier,
    )
    written = plan.rows(0, plan.num_examples)["key"].to_pylist()
    names = [split.name for split in plan.splits for _ in range(split.num_examples)]
    messages = dict(zip(plan.rejected["key"].to_pylist(), plan.rejected["message"].to_pylist(), strict=True))
    return plan, dict(zip((key[:2] for key in written), names, strict=True)), messages


def old(*rows, **facts):
    """The earlier examples with these columns."""
    return EarlierExamples(rows=pa.Table.from_pylist(list(rows), EARLIER_SCHEMA), **facts)


def twins(split, *numbers, label="ant"):
    contents = {number: CONTENTS[number] for number in numbers}
    return [
        {"key": f"old/{n}.png", "split": split, "label_name": label, "content_sha256": contents[n]} for n in contents
    ]


def of_group(name, split):
    return {"key": "old/of group.png", "split": split, "group": name, "content_sha256": bytes(32)}


def test_new_classes_come_after_those_of_the_dataset():
    plan, _, _ = planned(EarlierExamples(("zebra", "bee")))
    assert plan.classes == ["zebra", "bee", "ant"]
    assert plan.splits[0].class_counts == [0, 20, 20]


@pytest.mark.parametrize("split_by", ["hash", "stratified"])
def test_a_duplicate_of_an_old_example_lands_in_its_split(split_by):
    for name in ("train", "test", "holdout"):
        plan, found, rejected = planned(old(*twins(name, 4, 5, 6, 7)), splits=HALVES, split_by=split_by)
        assert {found[f"{number:02d}"] for number in (4, 5, 6, 7)} == {name}
        assert not rejected
        assert plan.source.duplicates == 4
        assert set(found.values()) == {"train", "test", name}


def test_where_the_dataset_itself_has_a_leak_the_training_split_is_followed():
    _, found, rejected = planned(old(*twins("test", 4), *twins("train", 4)), splits=HALVES)
    assert (found["04"], rejected) == ("train", {})


def test_duplicates_are_left_out_where_the_dataset_drops_them_and_kept_where_it_ignores_them():
    earlier = old(*twins("test", 4, 5))
    plan, found, rejected = planned(earlier, dedupe="drop")
    assert rejected == {
        f"0{number}.png": f"it has the same bytes as old/{number}.png, which is in the dataset" for number in (4, 5)
    }
    assert len(found) == 38
    assert plan.source.duplicates == 2
    plan, found, rejected = planned(earlier, dedupe="ignore")
    assert (len(found), rejected, found["04"]) == (40, {}, "train")


def test_a_duplicate_that_the_source_puts_into_another_split_is_left_out():
    _, found, rejected = planned(old(*twins("test", 4, 5)), own=["train", "test"] * 20)
    assert rejected == {"04.png": "it would be in 'train'; the dataset has the same bytes in 'test': old/4.png"}
    assert found["05"] == "test"


def test_a_group_follows_the_dataset_and_takes_its_duplicates_along():
    # Keys 00 to 09 are group 0, and so on; 12 and 35 have the same bytes, so groups 1 and 3 are tied.
    contents = list(CONTENTS)
    contents[35] = contents[12]
    for name in ("train", "test"):
        plan, found, _ = planned(old(of_group("1", name)), contents=contents, group_by=r"^(\d)", splits=HALVES)
        assert {found[f"{number:02d}"] for number in (*range(10, 20), *range(30, 40))} == {name}
        assert plan.source.groups == 3, "group 1 is counted in the dataset"


def test_a_twin_in_another_split_than_its_group_is_left_out():
    earlier = old(*twins("test", 12), of_group("1", "train"))
    plan, found, rejected = planned(earlier, group_by=r"^(\d)", splits=HALVES)
    assert list(rejected) == ["12.png"]
    assert {found[str(number)] for number in (10, 11, 13)} == {"train"}
    assert plan.source.duplicates == 1


def test_what_the_user_should_check_is_found():
    earlier = old(*twins("train", 4, 5, label="bee"), of_group("1", "holdout"))
    plan, _, _ = planned(earlier, own=["train"] * 40, group_by=r"^(\d)")
    found = {one.code: one for one in plan.findings}
    assert set(found) == {"duplicate_with_other_label", "group_in_several_splits"}
    assert found["duplicate_with_other_label"].examples == ("04.png and old/4.png",)
    assert found["group_in_several_splits"].sentence == "1 group with images of the dataset in another split"


def test_known_keys_are_left_out_and_do_not_count_as_duplicates():
    plan, found, rejected = planned(
        old(*({**one, "key": one["key"][4:].rjust(6, "0")} for one in twins("train", 0, 1)))
    )
    assert rejected == {}
    assert (plan.source.duplicates, len(found)) == (0, 38)
    assert (plan.source.num_files, plan.source.skipped) == (38, {"already in the dataset": 2})
    with pytest.raises(NothingNewError) as raised:
        planned(old(*({"key": f"{i:02d}.png", "split": "train"} for i in range(39)), withdrawn={"39.png"}))
    assert raised.value.facts["left_out"] == {"already in the dataset": 39, "removed from the dataset before": 1}


@pytest.mark.parametrize(
    ("old", "new", "numbers", "joined"),
    [
        (("sky", "cat"), (), ("0", "1", "2"), ["sky", "cat"]),
        (("sky", "cat"), ("sky", "cat", "dog"), (), ["sky", "cat", "dog"]),
        (("sky", "cat"), ("sky",), (), ["sky", "cat"]),
        (("sky", "cat"), ("cat", "sky"), (), None),
        (("0", "1"), (), ("0", "1", "2"), ["0", "1", "2"]),
        (("0", "1", "2"), (), ("0", "1"), ["0", "1", "2"]),
        (("0", "1", "2"), ("sky", "cat"), ("0", "1"), ["sky", "cat", "2"]),
        ((), ("sky", "cat"), ("0", "1"), ["sky", "cat"]),
        ((), (), ("0", "1"), []),
    ],
)
def test_the_numbers_of_masks_keep_their_meaning(old, new, numbers, joined):
    if joined is not None:
        assert joined_mask_classes(EarlierExamples(old), new, numbers) == joined
        return
    with pytest.raises(CallError, match="0 is 'sky' in the dataset and 'cat' in SOURCE"):
        joined_mask_classes(EarlierExamples(old), new, numbers)
