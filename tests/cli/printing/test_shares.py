"""The table of shares, as text."""

from fractions import Fraction

from rich.console import Console

from shardkit.cli.printing.splits_table import SplitRow
from shardkit.cli.printing.summary import shares_parts

WANTED = {"train": Fraction(4, 5), "test": Fraction(1, 5)}


def lines_of(*given):
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        for part in shares_parts(*given):
            console.print(part)
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def split(name, num_examples, class_counts):
    return SplitRow(name, class_counts, [num_examples], 0, None, 0)


def counts(train, test):
    return [split("train", sum(train), train), split("test", sum(test), test)]


def test_few_classes_are_all_listed_next_to_the_shares_wanted():
    lines = lines_of(counts([8, 3, 0], [2, 1, 0]), ["a", "b", "none"], WANTED)
    assert lines[1:3] == ["share of train test", "wanted 80.0% 20.0% examples"]
    assert lines[4:] == ["all 78.6% 21.4% 14", "'a' 80.0% 20.0% 10", "'b' 75.0% 25.0% 4", "'none' 0"]


def test_of_many_classes_the_worst_are_listed_and_the_others_counted():
    train, test = [80] * 100, [20] * 100
    for label, moved in ((70, 30), (3, 20), (50, 15), (20, 12), (90, 11), (40, 10), (41, 5)):
        train[label], test[label] = 80 - moved, 20 + moved
    lines = lines_of(counts(train, test), [f"c{i:02d}" for i in range(100)], WANTED)
    assert [line.split()[0] for line in lines[5:-1]] == ["'c03'", "'c20'", "'c50'", "'c70'", "'c90'"]
    assert lines[-1] == "… 95 other classes, each within 10.0% of the shares wanted"


def test_the_sources_own_splits_are_compared_with_all_images():
    lines = lines_of(counts([8] * 11 + [0], [2] * 12), [f"c{i:02d}" for i in range(12)], None)
    assert lines[1] == "share of train test examples"
    assert any(line.startswith("'c11' 0.0% 100.0%") for line in lines)
    assert lines[-1].endswith("of all images")


def test_splits_that_were_not_divided_have_no_share_and_a_single_split_has_no_table():
    splits = [*counts([8], [2]), split("extra", 90, [90])]
    lines = lines_of(splits, ["a"], WANTED, ["train"])
    assert lines[1:3] == ["share of train train test", "wanted 80.0% 20.0% examples"]
    assert "'a' 80.0% 20.0% 10" in lines
    masks = [split("train", 8, [0, 0]), split("test", 2, [0, 0])]
    assert lines_of(masks, ["sky", "road"], WANTED)[-1] == "all 80.0% 20.0% 10", "classes of masks are not counted"
    assert shares_parts([split("train", 8, [8])], ["a"], None) == []


def test_a_long_class_name_wraps_and_hides_no_number():
    lines = lines_of(counts([8], [2]), ["x" * 300], WANTED)
    assert any(line.endswith(" 80.0% 20.0% 10") and line.startswith("'xxx") for line in lines)
