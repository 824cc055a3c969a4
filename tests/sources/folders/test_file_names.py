import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.testing import listed, opened, write_tree

NAME = r"^([a-z]+)_\d+"


def read(root, pattern=NAME, batch_rows=1000, **options):
    return listed(opened(root, layout="file-names", label_pattern=pattern, **options), batch_rows)


# name: the pattern, the paths of a source, and (key, split, label or reason) of what is listed
TREES = {
    "flat": (NAME, ["cat_1.jpg", "dog_22.png"], [("cat_1.jpg", None, "cat"), ("dog_22.png", None, "dog")]),
    "nested; folders are no part of the name": (
        NAME,
        ["a/b/cat_1.jpg", "dog_1/2.jpg"],
        [("a/b/cat_1.jpg", None, "cat"), ("dog_1/2.jpg", None, "no_label")],
    ),
    "the ending is part of the name": (
        r"(\w+)\.jpe?g$",
        ["x.jpg", "x.png"],
        [("x.jpg", None, "x"), ("x.png", None, "no_label")],
    ),
    "searched anywhere": (
        "(cat|dog)",
        ["my dog.jpg", "1cat2.jpg"],
        [("1cat2.jpg", None, "cat"), ("my dog.jpg", None, "dog")],
    ),
    "no match": (NAME, ["cat.jpg", "CAT_1.jpg"], [("CAT_1.jpg", None, "no_label"), ("cat.jpg", None, "no_label")]),
    "a group that takes no part": (
        "(cat)?_",
        ["_1.jpg", "cat_1.jpg"],
        [("_1.jpg", None, "no_label"), ("cat_1.jpg", None, "cat")],
    ),
    "an empty group": ("^(.*)_", ["_1.jpg"], [("_1.jpg", None, "no_label")]),
    "a group named label that is not the first": (
        r"^(\d+)_(?P<label>[a-z]+)",
        ["7_cat.jpg"],
        [("7_cat.jpg", None, "cat")],
    ),
    "a split in the name": (
        r"^(?P<split>[a-z]*)_(\w+?)_",
        ["train_cat_1.jpg", "val_cat_2.jpg", "_cat_3.jpg", "unassigned_cat_4.jpg", "other_cat_5.jpg"],
        [
            ("_cat_3.jpg", None, "bad_split"),
            ("other_cat_5.jpg", "other", "cat"),
            ("train_cat_1.jpg", "train", "cat"),
            ("unassigned_cat_4.jpg", None, "bad_split"),
            ("val_cat_2.jpg", "validation", "cat"),
        ],
    ),
    "a split that cannot be one": (
        r"(?P<split>\d+)_(\w+)_",
        ["1_cat_1.jpg"],
        [("1_cat_1.jpg", None, "bad_split")],
    ),
    "split folders": (
        NAME,
        ["train/cat_1.jpg", "Val/x/dog_1.jpg", "cat_2.jpg"],
        [
            ("Val/x/dog_1.jpg", "validation", "dog"),
            ("cat_2.jpg", None, "bad_split"),
            ("train/cat_1.jpg", "train", "cat"),
        ],
    ),
    "split folders beside another one are folders": (
        NAME,
        ["train/cat_1.jpg", "bus/cat_2.jpg"],
        [("bus/cat_2.jpg", None, "cat"), ("train/cat_1.jpg", None, "cat")],
    ),
    "the split in the name before the folder's": (
        r"(?P<split>test)?_([a-z]+)",
        ["train/test_cat.jpg", "train/_cat.jpg"],
        [("train/_cat.jpg", None, "bad_split"), ("train/test_cat.jpg", "test", "cat")],
    ),
    "odd names": (
        "(?s)^(.+?)_",
        ["\u732b \U0001f600\n_1.jpg"],
        [("\u732b \U0001f600\n_1.jpg", None, "\u732b \U0001f600\n")],
    ),
    "hidden and junk": (
        NAME,
        ["cat_1.jpg", "._cat_1.jpg", ".git/cat_2.jpg", "__MACOSX/cat_3.jpg"],
        [("cat_1.jpg", None, "cat")],
    ),
    "a dataset converted earlier": (
        NAME,
        ["cat_1.jpg", "OUT/manifest.json", "OUT/run-log.jsonl", "OUT/cat_2.jpg"],
        [("cat_1.jpg", None, "cat")],
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_labels_in_the_names_of_a_tree(tmp_path, name):
    pattern, paths, expected = TREES[name]
    root = write_tree(tmp_path / "source", paths)
    assert read(root, pattern).labels == expected
    assert read(root, pattern, batch_rows=1).labels == expected


def test_groups_in_names_are_listed(tmp_path):
    root = write_tree(tmp_path / "source", ["cat_p7_1.jpg", "cat_1.jpg", "x.jpg"])
    found = read(root, r"^([a-z]+)_(?:p(?P<group>\d+)_)?\d").rows
    assert [(row["key"], row["label_name"], row["group"]) for row in found] == [
        ("cat_1.jpg", "cat", None),
        ("cat_p7_1.jpg", "cat", "7"),
        ("x.jpg", None, None),
    ]
    assert "group" not in read(root).table.column_names


def test_what_is_listed_of_a_file(tmp_path):
    root = write_tree(tmp_path / "source", ["cat_1.jpg", "notes.txt", "a/x.TXT", "a/cat.jpg"])
    found = read(root)
    assert found.skipped == {".txt": 2}
    bad, good = found.rows
    assert (good["source_bytes"], good["mtime_ns"]) == (7, (root / "cat_1.jpg").stat().st_mtime_ns)
    assert bad["message"].startswith("the file's name has no label: '^([a-z]+)_\\\\d+' is not found in it; ")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("cat_(", r"regular expression: missing \), unterminated subpattern at position 4; "),
        ("(?P<label>a)(?P<label>b)", "redefinition of group name .* at position"),
        ("*", "nothing to repeat at position 0"),
        ("cat", "has no group for the label"),
        ("(?:cat)", "has no group for the label"),
        ("(?P<split>a)_(?P<group>b)", "has no group for the label"),
        ("", "has no group for the label"),
        (None, "give one with label_pattern"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_its_place(tmp_path, pattern, found):
    with pytest.raises(CallError, match=found):
        read(tmp_path, pattern)


def test_names_that_are_not_utf_8_are_reported(tmp_path):
    root = write_tree(tmp_path / "source", ["cat_1\udcff.jpg"])
    assert read(root).labels == [("cat_1\\xff.jpg", None, "bad_name")]


def test_the_output_folder_is_left_out_and_does_not_hide_split_folders(tmp_path):
    root = write_tree(tmp_path / "source", ["OUT/cat_1.jpg", "train/cat_2.jpg", "train/deep/cat_3.jpg"])
    assert read(root, output=root / "OUT").labels == [
        ("train/cat_2.jpg", "train", "cat"),
        ("train/deep/cat_3.jpg", "train", "cat"),
    ]
    assert [row["key"] for row in read(root, output=root / "train/deep").rows] == ["OUT/cat_1.jpg", "train/cat_2.jpg"]


def test_links_that_lead_back_up_are_not_followed(tmp_path):
    root = write_tree(tmp_path / "source", ["a/cat_1.jpg"])
    (root / "a/loop").symlink_to(root)
    (root / "b").symlink_to("a")
    assert [row["key"] for row in read(root).rows] == ["a/cat_1.jpg", "b/cat_1.jpg"]


def test_a_source_survives_the_trip_to_a_worker_and_says_how_it_was_read(tmp_path):
    root = write_tree(tmp_path / "source", ["train/cat_1.jpg"])
    source = pickle.loads(pickle.dumps(read(root).source))  # noqa: S301 - our own
    assert listed(source).labels == [("train/cat_1.jpg", "train", "cat")]
    assert source.describe() == f"{root}: read as file names: label from name:{NAME}; split from path:0"
    groups = read(root, "(?P<split>a)(b)(?P<group>c)").source.reading
    assert (groups.split.group, groups.group.group) == ("split", "group")


names = st.text(st.characters(codec="ascii", exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda name: not name.startswith(".")
)


@given(st.lists(names, min_size=1, max_size=6, unique=True))
def test_every_image_is_listed_once_with_what_the_pattern_finds(tmp_path_factory, found):
    paths = [f"{name}.jpg" for name in found]
    root = write_tree(tmp_path_factory.mktemp("names"), dict.fromkeys(paths, b""))
    expected = [(path, match[1] if (match := re.search("([a-z]+)[0-9]", path)) else "no_label") for path in paths]
    assert [(key, label) for key, _, label in read(root, "([a-z]+)[0-9]").labels] == sorted(expected)
