import json
import pickle

import pytest

from shardkit.sources.left_out import unmatched_notes
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.testing import listed, picture, write_tree

from ..cli.calling import call
from .folders.tree_sources import KINDS, made, read

BOX = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}
COCO = {
    "images": [{"id": i, "file_name": f"{i}.jpg", "width": 8, "height": 8} for i in (1, 2)],
    "annotations": [BOX, {**BOX, "id": 2, "image_id": 2}],
    "categories": [{"id": 1, "name": "cat"}],
}
X = b"content"
# Files, globs, the keys that are left, and what is skipped.
CASES = {
    "a class": (
        {"cat/1.jpg": X, "dog/2.jpg": X, "junk/3.jpg": X, "junk/deep/4.txt": X},
        ["junk/"],
        ["cat/1.jpg", "dog/2.jpg"],
        {"ignored by junk/": 2},
    ),
    "an ending, once by the first of two globs": (
        {"cat/1.jpg": X, "cat/2.webp": X, "dog/3.webp": X, "dog/4.jpg": X},
        ["cat/*.webp", "*.webp"],
        ["cat/1.jpg", "dog/4.jpg"],
        {"ignored by cat/*.webp": 1, "ignored by *.webp": 1},
    ),
    "a folder next to splits, which are splits without it": (
        {"train/cat/1.jpg": X, "train/dog/2.jpg": X, "extra/3.jpg": X},
        ["/extra"],
        ["train/cat/1.jpg", "train/dog/2.jpg"],
        {"ignored by /extra": 1},
    ),
    "a path below a folder around everything begins at SOURCE": (
        {"data/cat/1.jpg": X, "data/dog/2.jpg": X, "data/dog/3.jpg": X, "README.md": X},
        ["data/dog/3.jpg"],
        ["cat/1.jpg", "dog/2.jpg"],
        {"ignored by data/dog/3.jpg": 1},
    ),
    "an image that a table names": (
        {"labels.csv": b"image,label\n1.jpg,cat\n2.jpg,dog\n", "1.jpg": X, "2.jpg": X, "3.jpg": X},
        ["2.jpg", "3.jpg"],
        ["1.jpg"],
        {"ignored by 2.jpg": 1, "ignored by 3.jpg": 1},
    ),
    "an image that COCO names": (
        {"annotations/instances_train.json": json.dumps(COCO).encode(), "train/1.jpg": X, "train/2.jpg": X},
        ["train/2.jpg"],
        ["train/1.jpg"],
        {"ignored by train/2.jpg": 1},
    ),
    "an image and its mask": (
        {"images/1.jpg": X, "masks/1.png": X, "images/2.jpg": X, "masks/2.png": X},
        ["2.*"],
        ["images/1.jpg"],
        {"ignored by 2.*": 2},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "globs", "keys", "skipped"), CASES.values(), ids=CASES.keys())
def test_ignored_files_are_no_part_of_any_layout_and_are_counted(files, globs, keys, skipped, kind, tmp_path):
    _, good, bad, found = read(made(tmp_path, kind, files), ignore=tuple(globs))
    assert sorted(good) == keys
    assert bad == {}
    assert {name: count for name, count in found.items() if name not in {".md", ".csv"}} == skipped


def test_of_a_table_as_source_the_records_are_counted(tmp_path):
    files = {"labels.csv": b"image,label\na/1.jpg,cat\nb/2.jpg,dog\n", "a/1.jpg": X, "b/2.jpg": X}
    _, good, _, skipped = read(f"{made(tmp_path, 'folder', files)}/labels.csv", ignore=("b/",))
    assert (list(good), skipped) == (["a/1.jpg"], {"ignored by b/": 1})


def test_a_glob_that_matches_nothing_is_said(tmp_path):
    url = made(tmp_path, "folder", ["cat/1.jpg", "dog/2.jpg", "ant/3.jpg"])
    source = open_source(url, SourceOptions(ignore=("cat/", "bird/")))
    assert unmatched_notes(source, {"ignored by cat/": 1}, None) == ["ignore='bird/' matches nothing in the source"]


def test_an_ignoring_source_survives_the_trip_to_a_worker(tmp_path):
    url = made(tmp_path, "folder", ["cat/1.jpg", "dog/2.jpg", "bird/3.jpg"])
    source = pickle.loads(pickle.dumps(open_source(url, SourceOptions(ignore=("bird/",)))))  # noqa: S301 - our own
    assert [row["key"] for row in listed(source).rows] == ["cat/1.jpg", "dog/2.jpg"]


def test_ignoring_decides_what_is_converted_another_glob_is_another_conversion_and_none_the_same(tmp_path):
    files = {f"{name}/{i}.png": picture(10 * at + i) for at, name in enumerate("abc") for i in range(2)}
    source = write_tree(tmp_path / "source", files)
    out = tmp_path / "out"
    first = call("convert", source, out, "--ignore", "c/", "--ignore", "d/")
    assert first.exit_code == 0, first.output
    assert "note: --ignore d/ matches nothing in the source" in first.stderr
    assert "skipped: 2 ignored by c/" in first.stdout
    assert json.loads((out / "manifest.json").read_text())["classes"] == ["a", "b"]
    assert "nothing to do" in call("convert", source, out, "--ignore", "c").stderr
    again = call("convert", source, out)  # by the reading that it remembers
    assert "ignored: c/, d/" in again.stderr
    assert "nothing to do" in again.stderr
    other = call("convert", source, out, "--ignore", "b/1.png")
    assert other.exit_code == 1
    assert "converted differently" in other.stderr
