"""Each finding by what is printed of it, and its absence where there is nothing to find."""

import re
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning import checks
from shardkit.conversion.planning.checks.finding import findings_text, refuse_stopping
from shardkit.conversion.planning.plan import make_plan
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import written_as
from shardkit.refusals import RefusalError
from shardkit.testing import inventory_table

from ....pages import CHECKOUT

SHARES = {"train": Fraction(4, 5), "validation": Fraction(1, 5)}


def plan_of(table, *, is_explicit=False, skipped=None, layout="class folders", classes=None, **options):
    return make_plan(
        Inventory(table, layout, skipped or {}, classes), ConvertOptions.of(options), is_explicit=is_explicit
    )


def text_of(table, **given):
    return findings_text(plan_of(table, **given).findings)


def codes_of(table, **given):
    return {finding.code for finding in plan_of(table, **given).findings}


def refusal_of(table, **given):
    with pytest.raises(RefusalError) as raised:
        refuse_stopping(plan_of(table, **given).findings)
    return raised.value.refusal


def options_of(refusal):
    return [change.options for change in refusal.changes]


def balanced(*names, count=40):
    return [name for name in names for _ in range(count)]


def test_an_ordinary_source_has_nothing_to_check():
    table = inventory_table(balanced("cat", "dog"))
    assert text_of(table) == ""
    assert text_of(table, splits=SHARES) == ""


def test_one_class_stops_with_the_commands_of_other_readings():
    keys = [f"photos/{name}.{i}.jpg" for name in ("cat", "dog") for i in range(3)]
    found = refusal_of(inventory_table(["photos"] * 6, keys=keys))
    assert found.problem == "only one class was found: 'photos'; a classifier needs at least two"
    assert {"label_pattern": r"^([^\W\d_]+)"} in options_of(found)
    assert any("such as 'cat'" in change.meaning for change in found.changes)
    assert {"layout": "class-folders"} in options_of(found)


def test_one_class_whose_folder_has_folders_may_be_the_folder_above():
    keys = [f"all/{name}/{i}.jpg" for name in ("cat", "dog") for i in range(3)]
    found = refusal_of(inventory_table(["all"] * 6, keys=keys))
    assert "all" in [change.inside for change in found.changes]


def test_one_class_of_a_table_is_its_column():
    found = refusal_of(inventory_table(["0"] * 6), layout="table (CSV)")
    assert {"layout": "table"} in options_of(found)
    assert any("label_columns" in options for options in options_of(found))


def test_a_chosen_reading_may_have_one_class_and_classes_like_splits():
    refuse_stopping(plan_of(inventory_table(["photos"] * 6), is_explicit=True).findings)
    refuse_stopping(plan_of(inventory_table(balanced("train", "test")), is_explicit=True).findings)


@pytest.mark.parametrize(
    "names",
    [("train_images", "test_images"), ("Train_set", "Test_set"), ("train", "test1"), ("train", "val", "predict")],
)
def test_classes_that_are_all_named_like_splits_stop(names):
    found = refusal_of(inventory_table(balanced(*names)))
    assert all(repr(name) in found.problem for name in names)
    assert {"layout": "class-folders"} in options_of(found)


def test_some_classes_named_like_splits_or_leftovers_warn():
    said = text_of(inventory_table(balanced("train", "tram", "bus", "New folder")))
    assert "1 class name looks like splits: 'train'" in said
    assert "1 class name looks like temporary or system folders: 'New folder'" in said
    # Names that the source's own list has, such as COCO's 'train', are meant.
    table = inventory_table(balanced("train", "bus"))
    assert text_of(table, classes=("train", "bus")) == ""


@pytest.mark.parametrize(
    "names",
    [("Cat", "cat"), ("black cat", "blackcat"), ("black_cat", "Black Cat"), ("caf\u00e9", "cafe\u0301")],
    ids=ascii,
)
def test_classes_that_differ_only_in_their_writing_warn(names):
    said = text_of(inventory_table(balanced(*names)))
    assert "2 classes differ only by case, blanks, underscores or Unicode form" in said
    assert all(name in said for name in map(repr, names))


def test_classes_that_look_alike_are_shown_with_their_letters():
    said = text_of(inventory_table(balanced("cat", "c\u0430t")))  # a Cyrillic letter
    assert r"'cat' and 'c\u0430t'" in said


def test_a_class_with_a_blank_at_an_end_warns():
    assert "1 class named with a blank at an end: ' dog'" in text_of(inventory_table(balanced("cat", " dog")))


def test_a_class_that_a_split_lacks_is_named_with_the_remedy():
    table = inventory_table([*balanced("cat", "dog"), *(f"rare{i:02d}" for i in range(12) for _ in range(2))])
    plan = plan_of(table, splits=SHARES, split_by="hash")
    (found,) = [one for one in plan.findings if one.code == "class_absent_from_split"]
    lacking = [name for name, count in zip(plan.classes, plan.splits[1].class_counts, strict=True) if not count]
    assert found.sentence.startswith(f"{len(lacking)} of 14 classes have no image in 'validation': {lacking[0]!r}, ")
    assert options_of(found) == [{"split_by": "stratified"}]
    many = inventory_table([*balanced("cat"), *(f"rare{i:02d}" for i in range(12))])
    said = text_of(many, splits={"train": Fraction(99, 100), "test": Fraction(1, 100)})
    assert "and 2 more" in said, "only ten names"
    assert "add some, or raise the share" in said


def test_a_class_that_a_split_of_the_source_lacks_is_named():
    table = inventory_table(["cat", "cat", "dog", "dog", "cat"], splits=["train"] * 4 + ["test"])
    assert "1 of 2 classes has no image in 'test': 'dog'; the source's own split lacks them" in text_of(table)


def test_a_class_with_one_image_and_a_class_without_a_good_one_warn():
    table = inventory_table([*balanced("cat", "dog"), "one", "bad"], reasons=[None] * 81 + ["empty"])
    said = text_of(table)
    assert "1 of 3 classes with images has a single image: 'one'" in said
    assert "1 of 4 classes has no good image: 'bad'" in said


def test_duplicates_with_different_labels_are_counted_and_the_first_ten_pairs_named():
    contents = [bytes([1 + i % 12]) * 32 for i in range(24)]
    keys = [f"{name}/{i:02d}.jpg" for name in ("cat", "dog") for i in range(12)]
    said = text_of(inventory_table(["cat"] * 12 + ["dog"] * 12, keys=keys, contents=contents))
    assert "12 images with exact duplicates that have different labels" in said
    assert "      cat/00.jpg and dog/00.jpg\n" in said
    assert said.count(" and dog/") == 10
    alike = inventory_table(
        ["cat"] * 12 + ["dog"] * 12, keys=keys, contents=[bytes([1 + i // 2]) * 32 for i in range(24)]
    )
    assert "duplicate_with_other_label" not in codes_of(alike)


def test_duplicates_with_different_numbers_are_counted():
    values = [0.25, 0.26, 0.5, 0.5, 9.0]  # the first two are in one decile
    table = inventory_table(
        [None] * 5, keys=list("abcde"), contents=[b"1" * 32, b"1" * 32, b"2" * 32, b"2" * 32, b"3" * 32]
    )
    target = pa.array([[value] for value in values], pa.list_(pa.float32(), 1))
    said = text_of(table.append_column("target", target), layout="table (CSV)")
    assert "1 image with exact duplicates that have different labels" in said
    assert "      a and b" in said


def test_duplicates_in_several_splits_of_the_source_are_a_leak():
    keys = ["test/cat/0.jpg", "test/dog/0.jpg", "train/cat/1.jpg", "train/dog/1.jpg"]
    table = inventory_table(
        ["cat", "dog"] * 2,
        keys=keys,
        splits=["test", "test", "train", "train"],
        contents=[b"same" * 8, b"a" * 32, b"same" * 8, b"b" * 32],
    )
    said = text_of(table)
    assert "1 image with exact duplicates in another split (a leak)" in said
    assert "      test/cat/0.jpg and train/cat/1.jpg\n" in said
    assert "dedupe='drop'" in said
    assert "dedupe='group'" not in said, "which cannot move images of the source's own splits"
    assert "duplicate_in_several_splits" not in codes_of(table, dedupe="drop")


def test_duplicates_that_shardkit_separates_can_be_kept_in_one_split():
    contents = [bytes([1 + i // 2]) * 32 for i in range(80)]
    said = text_of(inventory_table(balanced("cat", "dog"), contents=contents), splits=SHARES, dedupe="ignore")
    assert "with exact duplicates in another split (a leak)" in said
    assert "dedupe='drop'" in said
    assert "dedupe='group'" in said


def test_a_group_in_several_splits_of_the_source_is_named():
    keys = [f"{split}/{label}/p{i}.jpg" for split in ("test", "train") for label in ("cat", "dog") for i in range(4)]
    table = inventory_table(
        ["cat"] * 4 + ["dog"] * 4 + ["cat"] * 4 + ["dog"] * 4, keys=keys, splits=["test"] * 8 + ["train"] * 8
    )
    said = text_of(table, group_by="/(p[0-9])")
    assert "4 groups with images in more than one split" in said
    assert "      test/cat/p0.jpg and train/cat/p0.jpg\n" in said


def test_many_files_in_formats_that_are_not_read_are_counted_by_ending():
    table = inventory_table(
        balanced("cat", "dog"),
        reasons=["unsupported_format"] * 5 + [None] * 75,
        keys=[f"cat/{i:02d}.HEIC" for i in range(80)],
    )
    said = text_of(table, skipped={".mp4": 7, "(none)": 1, "images that train.csv does not name": 500})
    assert "13 of 88 files (15%) are not read: 7 .mp4, 5 .heic, 1 (none)" in said
    assert text_of(inventory_table(balanced("cat", "dog")), skipped={".txt": 8}) == "", "less than a tenth"


def test_a_split_of_the_source_without_a_good_image_is_named():
    table = inventory_table(
        ["cat", "dog", "cat", "dog"], splits=["train", "train", "test", "test"], reasons=[None, None, "empty", "empty"]
    )
    assert "all 2 images of the split 'test' were rejected, so the split is not written" in text_of(table)


@pytest.mark.parametrize(
    ("splits", "sentence", "added"),
    [
        (None, "all 4 images are in 'train'", "--splits train=0.9,validation=0.1"),
        (["train"] * 4, "all 4 images are in 'train'", "--splits-of train --splits train=0.9,validation=0.1"),
        (["train", "train", "test", "test"], "the splits are train and test", "--splits-of train --splits train=0.9,"),
        (["train", "train", "validation", "test"], None, None),
    ],
)
def test_a_missing_validation_split_is_a_hint_and_no_warning(splits, sentence, added):
    plan = plan_of(inventory_table(["cat", "dog"] * 2, splits=splits))
    hints = [finding for finding in plan.findings if finding.kind == "hints"]
    assert [hint.sentence for hint in hints] == ([] if sentence is None else [sentence])
    if sentence is not None:
        with written_as("command"):
            assert added in hints[0].commands[0]
    assert "validation split" not in findings_text(plan.findings)


def test_one_image_needs_no_validation_split():
    plan = plan_of(inventory_table(["cat"]))
    assert "no_validation_split" not in [finding.code for finding in plan.findings]


def test_findings_are_json_values():
    import json

    plan = plan_of(inventory_table(["photos"] * 3))
    (stop, *_) = [finding.as_json() for finding in plan.findings if finding.stops]
    assert json.loads(json.dumps(stop)) == stop
    assert (stop["code"], stop["kind"]) == ("one_class", "stops")
    assert stop["commands"] == ["shardkit convert SOURCE OUT --layout class-folders"]


def test_the_page_has_every_code_with_its_effect():
    package = Path(checks.__file__).parent
    found = set()
    for path in package.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= {*re.findall(r'Finding\(\s*"(\w+)",\s*"(\w+)"', text)}
        found |= {(code, "warns") for code in re.findall(r'\("(class_named_\w+)"', text)}
        of_copies = re.findall(r'Finding\(\s*f"\{code\}(\w+)",\s*"(\w+)"', text)
        found |= {(code + end, kind) for code in ("duplicate", "near_duplicate") for end, kind in of_copies}
    page = (CHECKOUT / "shardkit/sources/troubleshooting.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \| .* \| (.+) \|$", page.partition("\n## Check these\n")[2], re.MULTILINE
    )
    named = {code: effect for codes, effect in rows for code in re.findall(r"`(\w+)`", codes)}
    words = {"hints": "one line of the summary"}
    assert not {(code, kind) for code, kind in found if words.get(kind, kind) not in named.get(code, "")}
    assert len({code for code, _ in found}) == 40
