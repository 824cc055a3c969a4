import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.naming import DATASET_FILES
from shardkit.sources.unlisted_images import count_unlisted_images
from shardkit.sources.walking import parent_of
from shardkit.storage import LocalFolder, open_folder
from shardkit.testing import write_tree


def counted(root, **more):
    return count_unlisted_images(open_folder(str(root)), "of no use", **more)


def tree(tmp_path, *paths):
    return write_tree(tmp_path / "s", dict.fromkeys(paths, b"x"))


def test_images_are_counted_by_the_topmost_folder_that_has_nothing_covered_in_it(tmp_path):
    root = tree(
        tmp_path, "a/read/1.jpg", "a/2.jpg", "a/more/3.jpg", "a/more/deep/4.png", "b/c/5.gif", "6.jpg", "b/x.txt"
    )
    assert counted(root, covered={"a/read"}) == {
        "image in the top folder of no use": 1,
        "image in a/ of no use": 1,
        "images in a/more/ of no use": 2,
        "image in b/ of no use": 1,
    }


def test_what_is_hidden_or_a_dataset_or_named_is_not_counted(tmp_path):
    root = tree(tmp_path, ".git/1.jpg", "__MACOSX/2.jpg", "._3.jpg", "a/4.jpg", "out/shardkit.json", "out/5.jpg")
    assert counted(root, named={"a/4.jpg"}, covered={"out"}) == {}
    assert counted(root, named={"a/4.jpg"}) == {"image in out/ of no use": 1}
    write_tree(root / "out", dict.fromkeys(DATASET_FILES, b""))
    assert counted(root, named={"a/4.jpg"}) == {}


def test_links_to_what_is_covered_and_links_that_lead_up_add_nothing(tmp_path):
    root = tree(tmp_path, "train/1.jpg", "rest/2.jpg")
    (root / "latest").symlink_to("train")
    (root / "rest/up").symlink_to("..")
    (root / "rest/self").symlink_to(".")
    assert counted(root, covered={"train"}) == {"image in rest/ of no use": 1}
    assert counted(root, below=["rest/up"], covered={"train"}) == {}


def test_of_many_folders_the_first_are_named_and_the_others_counted_together(tmp_path):
    root = tree(tmp_path, "read/1.jpg", *(f"{i:02}/{j}.jpg" for i in range(12) for j in range(2)))
    found = counted(root, covered={"read"})
    assert list(found.values()) == [2] * 8 + [8]
    assert list(found)[-1] == "images in 4 more folders of no use"


def test_names_that_cannot_be_printed_are_escaped(tmp_path):
    root = tree(tmp_path, "a\n\udcff/1.jpg")
    assert counted(root, covered={"x"}) == {"image in a\\n\\udcff/ of no use": 1}


def test_covered_folders_are_not_listed(tmp_path, monkeypatch):
    root = tree(tmp_path, "a/read/deep/1.jpg", "a/2.jpg", "b/3.jpg")
    scanned, scan = [], LocalFolder.scan
    monkeypatch.setattr(LocalFolder, "scan", lambda self, path="": scanned.append(path) or scan(self, path))
    counted(root, covered={"a/read"})
    assert scanned == ["", "a", "b"]


@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_of_an_inner_folder_nothing_above_it_is_looked_at(below, tmp_path):
    root = tree(tmp_path, "1.jpg", "a/2.jpg", "a/b/3.jpg", "c/4.jpg")
    assert sum(counted(root, below=[below]).values()) == {"": 4, "a": 2, "a/b": 1}[below]


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".jpg")


@given(st.sets(PATHS, max_size=12), st.sets(PATHS, max_size=4))
def test_every_image_is_covered_or_named_or_counted_once(files, chosen):
    covered, named = {parent_of(path) for path in chosen} - {""}, chosen & files
    left = [path for path in files - named if not any(f"{path}/".startswith(f"{place}/") for place in covered)]
    with tempfile.TemporaryDirectory() as name:
        write_tree(Path(name), dict.fromkeys(files, b"x"))
        found = counted(name, covered=covered, named=named)
    assert sum(Counter(found).values()) == len(left)
