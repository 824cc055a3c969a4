from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA, Reject
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.inventory.table import compact
from shardkit.conversion.planning.plan import make_plan, plan_schema
from shardkit.conversion.planning.plan_file import PlannedDataset
from shardkit.errors import CallError, DataError
from shardkit.options.groups import ConvertOptions
from shardkit.sources.columns import GROUP
from shardkit.storage import open_folder
from shardkit.testing import inventory_table

SPLITS = {"train": Fraction(4, 5), "validation": Fraction(1, 10), "test": Fraction(1, 10)}


def whole(plan):
    """All rows of a plan, in the order written."""
    return plan.rows(0, plan.num_examples)


def plan_of(table, *, skipped=None, layout="class folders", **options):
    return make_plan(Inventory(table, layout, skipped or {}), ConvertOptions.of(options))


def shards_of(plan):
    """[(split, [row of the plan, ...])] of every shard, in the order written."""
    rows = whole(plan).to_pylist()
    shards, start = [], 0
    for split in plan.splits:
        for count in split.shard_counts:
            shards.append((split.name, rows[start : start + count]))
            start += count
    assert start == len(rows)
    return shards


def splits_of(plan):
    """Split by key."""
    return {row["key"]: name for name, rows in shards_of(plan) for row in rows}


def spread(counters):
    """The most of anything over the shards, less the least."""
    kinds = set().union(*counters)
    return max((max(c[kind] for c in counters) - min(c[kind] for c in counters) for kind in kinds), default=0)


@st.composite
def inventories(draw, *, least=1):
    """Classes of very different sizes, a tenth of the files bad, some contents twice."""
    count = draw(st.integers(least, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = (rng.random(count) ** draw(st.sampled_from([1, 4])) * draw(st.integers(1, 8))).astype(int)
    bad = rng.random(count) < draw(st.sampled_from([0, 0.1]))
    bad[0] = False
    return inventory_table(
        [f"class {label}" for label in labels],
        sizes=rng.lognormal(11, 0.6, count).astype(int).tolist(),
        contents=[b"%d" % number for number in rng.integers(0, count * 4, count)],
        reasons=["truncated" if one else None for one in bad],
        mtimes_ns=rng.integers(0, 10**18, count).tolist(),
    )


@given(inventories(), st.integers(1, 9), st.integers(0, 3))
def test_every_good_file_is_planned_once_and_no_bad_one(table, num_shards, seed):
    good = [row for row in table.to_pylist() if row["reason"] is None]
    plan = plan_of(table, shards=min(num_shards, len(good)), seed=seed)
    assert plan.schema == plan_schema(INVENTORY_SCHEMA)
    planned = {row["key"]: row for _, rows in shards_of(plan) for row in rows}
    assert len(planned) == plan.num_examples
    assert sorted(planned) == [row["key"] for row in good]
    for row in good:
        same = set(plan.schema.names) - {"label"}
        assert {name: planned[row["key"]][name] for name in same} == {name: row[name] for name in same}
        assert plan.classes[planned[row["key"]]["label"]] == row["label_name"]
    assert plan.rejected["key"].to_pylist() == [row["key"] for row in table.to_pylist() if row["reason"]]


@given(inventories(), st.integers(1, 9))
def test_shards_and_classes_are_within_one_though_a_tenth_is_bad(table, num_shards):
    num_shards = min(num_shards, pa.compute.sum(table["reason"].is_null()).as_py())
    plan = plan_of(table, shards=num_shards)
    assert len(plan.splits[0].shard_counts) == num_shards
    assert np.ptp(plan.splits[0].shard_counts) <= 1
    assert spread([Counter(row["label"] for row in rows) for _, rows in shards_of(plan)]) <= 1


@given(inventories(least=60), st.sampled_from(["hash", "stratified"]), st.integers(0, 2**63 - 1))
@settings(max_examples=40)
def test_every_split_is_balanced_by_itself_and_told_as_it_is(table, split_by, seed):
    plan = plan_of(
        table, splits={"train": Fraction(1, 2), "test": Fraction(1, 2)}, split_by=split_by, shards=3, seed=seed
    )
    assert [split.name for split in plan.splits] == ["train", "test"]
    for split in plan.splits:
        shards = [rows for name, rows in shards_of(plan) if name == split.name]
        labels = Counter(row["label"] for rows in shards for row in rows)
        assert split.class_counts == [labels[label] for label in range(len(plan.classes))]
        assert split.num_bytes == sum(row["source_bytes"] for rows in shards for row in rows)
        assert split.num_examples == sum(map(len, shards)) == sum(split.shard_counts)
        assert spread([Counter(row["label"] for row in rows) for rows in shards]) <= 1
        assert split.balance.class_spread <= 1
        assert split.balance.count_spread == np.ptp([len(rows) for rows in shards]) <= 1


@given(inventories(), st.integers(0, 3))
def test_the_plan_does_not_depend_on_times_or_on_how_the_inventory_is_chunked(table, seed):
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    later = chunked.set_column(
        INVENTORY_SCHEMA.get_field_index("mtime_ns"), INVENTORY_SCHEMA.field("mtime_ns"), pa.array([7] * len(table))
    )
    one, other = plan_of(table, seed=seed), plan_of(later, seed=seed)
    assert whole(one).equals(whole(other))
    assert one.description() == other.description()


def test_another_seed_changes_splits_and_shards():
    table = inventory_table(["cat"] * 50 + ["dog"] * 50)
    splits = {"train": Fraction(1, 2), "test": Fraction(1, 2)}
    plans = [plan_of(table, seed=seed, splits=splits, shards=2) for seed in (0, 1)]
    assert splits_of(plans[0]) != splits_of(plans[1])
    assert plans[0].description() != plans[1].description()


def test_inside_a_shard_the_order_is_neither_that_of_the_keys_nor_of_the_classes():
    plan = plan_of(inventory_table(["cat"] * 100 + ["dog"] * 100), shards=1)
    keys, labels = whole(plan)["key"].to_pylist(), whole(plan)["label"].to_numpy()
    assert keys != sorted(keys)
    assert 60 < np.count_nonzero(labels[1:] != labels[:-1]) < 140  # half of 199 are expected, give or take 7


def test_bytes_are_within_one_per_cent_from_a_thousand_examples_a_shard():
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(11.4, 0.6, 4000).astype(int).tolist()  # photographs: 50 kB to 300 kB
    plan = plan_of(inventory_table([f"{i % 10}" for i in range(4000)], sizes=sizes), shards=4)
    loads = [sum(row["source_bytes"] for row in rows) for _, rows in shards_of(plan)]
    assert max(loads) / min(loads) - 1 <= 0.01


def test_classes_are_sorted_names_unless_an_order_is_given():
    table = inventory_table(["dog", "cat", "\u00e4", "Cat"])
    assert plan_of(table).classes == ["Cat", "cat", "dog", "\u00e4"]
    table_of_splits = inventory_table(
        ["dog", "cat"], keys=["test/dog/1.jpg", "train/cat/1.jpg"], splits=["test", "train"]
    )
    assert plan_of(table_of_splits).classes == ["cat", "dog"]
    plan = plan_of(table, classes=("dog", "cat", "Cat", "\u00e4", "bird"))
    assert plan.classes == ["dog", "cat", "Cat", "\u00e4", "bird"]
    assert {row["key"].split("/")[0]: row["label"] for row in whole(plan).to_pylist()}["cat"] == 1
    assert plan.splits[0].class_counts == [1, 1, 1, 1, 0]
    assert "1 of 5 classes has no good image: 'bird'" in [finding.sentence for finding in plan.findings]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["10", "2", "0", "-1"], ["-1", "0", "2", "10"]),
        (["10", "2", "x"], ["10", "2", "x"]),  # one that is no number makes names of all
        (["10", "2", "007"], ["007", "10", "2"]),
        (["10", "2", "1.5"], ["1.5", "10", "2"]),
    ],
)
def test_classes_that_are_whole_numbers_are_in_their_order(names, wanted):
    plan = plan_of(inventory_table(names))
    assert plan.classes == wanted
    assert {row["key"].split("/")[0]: plan.classes[row["label"]] for row in whole(plan).to_pylist()} == {
        name: name for name in names
    }


def test_a_label_that_the_given_order_lacks_is_named():
    with pytest.raises(CallError, match="1 labels that classes does not name: 'dog'; add them to the file"):
        plan_of(inventory_table(["dog", "cat"]), classes=("cat",))


def test_a_class_keeps_its_label_when_its_last_good_image_goes_bad():
    plan = plan_of(inventory_table(["bat", "cat"], reasons=["empty", None]))
    assert plan.classes == ["bat", "cat"]
    assert whole(plan)["label"].to_pylist() == [1]


def test_without_splits_everything_is_train():
    plan = plan_of(inventory_table(["cat"] * 5))
    assert [split.name for split in plan.splits] == ["train"]


def test_the_sources_own_splits_are_kept_in_the_usual_order():
    given_splits = ["test", "train", "validation", "train"]
    table = inventory_table(["cat"] * 4, splits=given_splits)
    plan = plan_of(table)
    assert [split.name for split in plan.splits] == ["train", "validation", "test"]
    assert splits_of(plan) == {f"cat/{i:06d}.jpg": split for i, split in enumerate(given_splits)}


@pytest.mark.parametrize("is_compact", [False, True])
def test_images_without_a_split_are_rejected_where_others_have_one(is_compact):
    table = inventory_table(
        ["a"] * 6, splits=["train", None, "val", None, "train", None], reasons=[None] * 5 + ["empty"]
    )
    plan = plan_of(compact(table) if is_compact else table)
    assert {split.name: sum(split.shard_counts) for split in plan.splits} == {"train": 2, "val": 1}
    rejected = plan.rejected.to_pylist()
    assert [(row["key"][-5], row["reason"]) for row in rejected] == [
        ("1", "bad_split"),
        ("3", "bad_split"),
        ("5", "empty"),
    ]
    assert "'train'" in rejected[0]["message"]


def test_a_split_that_only_bad_images_have_rejects_no_good_one():
    plan = plan_of(inventory_table(["a"] * 3, splits=["val", None, None], reasons=["empty", None, None]))
    assert [split.name for split in plan.splits] == ["train"]
    assert plan.num_examples == 2


def test_splits_cannot_be_asked_for_where_the_source_has_its_own():
    with pytest.raises(CallError, match=r"the source has its own splits \(train, test\), and splits would mix them"):
        plan_of(inventory_table(["cat"] * 2, splits=["train", "test"]), splits=SPLITS)


@pytest.mark.parametrize("split_by", ["hash", "stratified"])
def test_shares_are_kept(split_by):
    plan = plan_of(inventory_table([f"{i % 7}" for i in range(7000)]), splits=SPLITS, split_by=split_by)
    counts = {split.name: split.num_examples for split in plan.splits}
    slack = 0 if split_by == "stratified" else 4 * (7000 * 0.8 * 0.2) ** 0.5
    for name, share in SPLITS.items():
        assert abs(counts[name] - 7000 * share) <= slack


def test_stratified_splits_have_their_share_of_every_class():
    plan = plan_of(inventory_table(["cat"] * 90 + ["dog"] * 10), splits=SPLITS, split_by="stratified")
    assert [split.class_counts for split in plan.splits] == [[72, 8], [9, 1], [9, 1]]


@given(st.integers(2, 30), st.integers(0, 5))
@settings(max_examples=30)
def test_exact_duplicates_share_a_split_under_hash(copies, seed):
    contents = [b"twin"] * copies + [b"%d" % i for i in range(200)]
    table = inventory_table(["cat"] * len(contents), contents=contents)
    plan = plan_of(table, splits={"train": Fraction(1, 2), "test": Fraction(1, 2)}, seed=seed)
    splits = splits_of(plan)
    assert len({splits[f"cat/{i:06d}.jpg"] for i in range(copies)}) == 1
    assert plan.source.duplicates == copies - 1


def test_an_example_never_changes_split_by_hash_when_the_data_grows():
    contents = [b"%d" % i for i in range(1000)]
    keys = [f"cat/{i}.jpg" for i in range(1000)]
    options = {"splits": SPLITS, "split_by": "hash", "seed": 3}
    old = splits_of(plan_of(inventory_table(["cat"] * 500, keys=keys[::2], contents=contents[::2]), **options))
    new = splits_of(plan_of(inventory_table(["cat"] * 1000, keys=keys, contents=contents), **options))
    assert old.items() <= new.items()


def test_under_header_check_contents_are_unknown_and_keys_decide():
    table = inventory_table(["cat"] * 100)
    unknown = table.set_column(
        INVENTORY_SCHEMA.get_field_index("content_sha256"),
        INVENTORY_SCHEMA.field("content_sha256"),
        pa.nulls(100, pa.binary(32)),
    )
    plan = plan_of(unknown, splits=SPLITS, check="header")
    assert plan.source.duplicates is None
    assert set(splits_of(plan).values()) == set(SPLITS)


def test_a_split_that_would_get_nothing_is_named():
    with pytest.raises(CallError, match=r"split '\w+' would get none of the 2 examples; raise its share"):
        plan_of(inventory_table(["cat"] * 2), splits=SPLITS)


def test_shards_of_an_unknown_split_are_refused():
    with pytest.raises(CallError, match="shards names the split 'tset'; the conversion writes train"):
        plan_of(inventory_table(["cat"] * 2), shards={"tset": 1})


def test_shards_can_be_given_for_some_splits():
    table = inventory_table(["cat"] * 8, splits=["train"] * 4 + ["test"] * 4)
    assert [split.num_shards for split in plan_of(table, shards={"train": 3}).splits] == [3, 1]


def test_more_shards_than_examples_are_refused():
    with pytest.raises(CallError, match="3 shards were requested for train, which has only 2 examples"):
        plan_of(inventory_table(["cat"] * 2), shards=3)


@pytest.mark.parametrize(
    ("table", "skipped", "sentence"),
    [
        (inventory_table([]), {}, "there are no images in the source; its folders are empty"),
        (inventory_table([]), {f"label folder {n}/": 1 for n in range(90)}, r"1 label folder 11/ and 78 more kinds$"),
        (inventory_table([]), {".txt": 2, ".csv": 1}, r"no images to convert in the source; skipped: 2 \.txt, 1 \.csv"),
        (
            inventory_table(["cat", "cat"], reasons=["empty", "truncated"]),
            {},
            r"none of the 2 images is good; the first, cat/000000\.jpg: it is empty",
        ),
    ],
)
def test_nothing_to_convert_is_said_with_what_was_found(table, skipped, sentence):
    with pytest.raises(DataError, match=sentence):
        plan_of(table, skipped=skipped)


CHANGES = {
    "a name": {"name": "other"},
    "a seed": {"seed": 1},
    "shards": {"shards": 2},
    "pipelines": {"input_pipelines": 2},
    "shares": {"splits": {"train": Fraction(1, 2), "test": Fraction(1, 2)}},
    "a size": {"resize": 5},
    "a quality": {"quality": 5},
    "a check": {"check": "header"},
    "classes": {"classes": ("dog", "cat")},
}


@pytest.mark.parametrize("options", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changes_bytes_changes_the_description(options):
    table = inventory_table(["cat", "dog"] * 10)
    assert plan_of(table, **options).description() != plan_of(table).description()


@given(st.permutations(list(SPLITS)))
@settings(max_examples=10)
def test_splits_given_in_another_order_are_the_same_conversion_or_another_one_but_nothing_between(order):
    table = inventory_table(["cat"] * 100)
    one, other = plan_of(table, splits=SPLITS), plan_of(table, splits={name: SPLITS[name] for name in order})
    same = whole(one).equals(whole(other)) and [s.name for s in one.splits] == [s.name for s in other.splits]
    # A resumed conversion trusts the description: it must not go on with another plan's shards.
    assert (one.description() == other.description()) == same


def test_a_changed_source_changes_the_description_and_a_copy_of_it_does_not():
    labels = ["cat", "dog"]
    plain = plan_of(inventory_table(labels)).description()
    assert plan_of(inventory_table(labels, mtimes_ns=[5, 6])).description() == plain
    for changed in (
        inventory_table(["cat", "cat"]),
        inventory_table(labels, keys=["cat/a.jpg", "dog/b.jpg"]),
        inventory_table(labels, sizes=[1000, 1001]),
        inventory_table(labels, contents=[b"a", b"b"]),
        inventory_table(labels, splits=["train", "train"]),
        inventory_table([*labels, "dog"]),
    ):
        assert plan_of(changed).description() != plain


def test_the_digest_names_what_is_written_whatever_the_layout_and_whatever_is_rejected():
    labels = ["cat", "dog"]
    plain = plan_of(inventory_table(labels))
    other = inventory_table([*labels, "dog"], reasons=[None, None, "empty"])
    other = other.append_column(GROUP, pa.nulls(3, pa.string()))
    others = plan_of(other, layout="Beam PCollection")
    assert others.digest == plain.digest
    assert {name for name, value in others.description().items() if value != plain.description()[name]} == {
        *("layout", "source")  # so that one does not go on with the other's shards
    }
    for changed in (
        inventory_table(["cat", "cat"]),
        inventory_table(labels, keys=["cat/a.jpg", "dog/b.jpg"]),
        inventory_table(labels, sizes=[1000, 1001]),
        inventory_table(labels, contents=[b"a", b"b"]),
        inventory_table(labels, splits=["train", "train"]),
        inventory_table(labels).append_column(GROUP, pa.array(["one", "other"])),
        inventory_table([*labels, "dog"]),
    ):
        assert plan_of(changed).digest != plain.digest
    assert plan_of(inventory_table(labels), seed=1).digest != plain.digest


def test_the_description_names_what_the_conversion_is():
    plan = plan_of(inventory_table(["cat", "dog"]), skipped={".txt": 1}, seed=5)
    described = plan.description()
    assert described["source"] == plan.source.fingerprint
    assert described["options"]["seed"] == 5
    assert described["classes"] == ["cat", "dog"]
    assert {"shardkit", "pyarrow", "pillow", "libjpeg_turbo"} <= set(described["software"])


def test_late_rejects_stand_among_the_early_ones_sorted_by_key():
    plan = plan_of(inventory_table(["a", "b", "c"], reasons=["empty", None, "truncated"]))
    table = PlannedDataset.of(open_folder("."), "", plan).with_late(
        [Reject("b/000001.jpg", "damaged", "it is damaged", 7)]
    )
    assert [(row["key"], row["reason"]) for row in table.to_pylist()] == [
        ("a/000000.jpg", "empty"),
        ("b/000001.jpg", "damaged"),
        ("c/000002.jpg", "truncated"),
    ]
    assert PlannedDataset.of(open_folder("."), "", plan).with_late([]).equals(plan.rejected)


def test_a_rejected_row_costs_no_second_inventory():
    reasons = [None, None, None, "truncated"] + [None] * 36
    table = inventory_table(["cat"] * 20 + ["dog"] * 20, reasons=reasons)
    plan = plan_of(table)
    assert (plan.num_examples, len(plan.rejected)) == (39, 1)
    assert table["key"][3].as_py() not in whole(plan)["key"].to_pylist()
    for name in ("key", "content_sha256"):
        planned, given = (one[name].chunk(0).buffers()[-1].address for one in (plan.examples, table))
        assert planned == given, name
