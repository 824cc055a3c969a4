"""Numbers in a table get the names that a file next to it has."""

import json

import pytest

from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.testing import listed, write_tree

ROWS = "image,label\n" + "".join(f"{number}.jpg,{number % 3}\n" for number in range(6))
IMAGES = dict.fromkeys([f"images/{number}.jpg" for number in range(6)], b"content")


def names_of(tmp_path, files, options=SourceOptions()):  # noqa: B008 - frozen
    source = open_source(str(write_tree(tmp_path / "source", {"train.csv": ROWS, **IMAGES, **files})), options)
    return listed(source).rows[1]["label_name"], source.classes


@pytest.mark.parametrize(
    "files",
    [
        {"label_map.json": json.dumps({"0": "ant", "1": "bee", "2": "cat"})},
        {"label_names.json": json.dumps(["ant", "bee", "cat"])},
        {"class_to_idx.json": json.dumps({"bee": 1, "cat": 2, "ant": 0})},
        {"style_class.txt": "0 ant\n1 bee\n2 cat\n"},
        {"classes.txt": "0;ant\n1;bee\n2;cat\n"},
        {"classes.txt": "class;number\nant;0\nbee;1\ncat;2\n"},
        {"classes.txt": "ant\nbee\ncat\n"},
    ],
    ids=["names by number", "a list", "numbers by name", "numbered lines", "semicolons", "names first", "lines"],
)
def test_names_in_a_file(files, tmp_path):
    assert names_of(tmp_path, files) == ("bee", ("ant", "bee", "cat"))


@pytest.mark.parametrize(
    "files",
    [
        {"label_map.json": json.dumps({"0": "ant", "2": "cat"})},
        {"label_map.json": json.dumps({"0": "ant", "1": "ant", "2": "cat"})},
        {"label_map.json": json.dumps({"0": "ant", "1": "bee", "version": "3"})},
        {"label_map.json": json.dumps(["ant", "bee", 2])},
        {"label_map.json": "{"},
        {"settings.json": json.dumps({"0": "ant", "1": "bee", "2": "cat"})},
        {"classes.txt": "ant\nbee\n"},
    ],
    ids=["a gap", "a name twice", "something else", "a list of something else", "no JSON", "another name", "too few"],
)
def test_other_files_name_no_classes(files, tmp_path):
    assert names_of(tmp_path, files) == ("1", None)


def test_a_number_without_a_name_is_rejected(tmp_path):
    root = write_tree(tmp_path / "source", {"train.csv": ROWS, **IMAGES, "label_map.json": '{"0": "ant", "1": "bee"}'})
    rows = listed(open_source(str(root))).rows
    assert [row["reason"] for row in rows] == [None, None, "bad_label"] * 2


def test_names_that_the_user_gives_count(tmp_path):
    given = SourceOptions(classes=("x", "y", "z"))
    files = {"label_map.json": json.dumps({"0": "ant", "1": "bee", "2": "cat"})}
    assert names_of(tmp_path, files, given) == ("y", ("x", "y", "z"))
