"""Lists of splits are laid over every layout; where their names do not tell images apart, the user is asked."""

import pytest

from shardkit.sources.recognising.claims.collecting import naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.claims.searching import files_by_kind
from shardkit.storage import open_folder
from shardkit.testing import write_tree

from ..folders.tree_sources import read

X = b"content"
MANY = {f"c{number:03}/{number:03}.jpg": X for number in range(150)}  # 100 folders are looked at first


def names_of(root):
    return ImageNames(open_folder(str(root)), None)


def test_names_of_folders_that_are_not_looked_at_first_are_found_when_they_are_looked_for(tmp_path):
    names = names_of(write_tree(tmp_path, MANY))
    assert names.find("140.jpg") is None
    assert not names.are_counted
    names.look_for(["140.jpg", "c141/141.jpg", "nobody.jpg"])
    assert names.find("140.jpg").paths == ["c140/140.jpg"]
    assert names.find("x/c141/141.jpg").paths == ["c141/141.jpg"]
    assert (names.num_images, names.are_counted, names.is_complete) == (150, True, False)


def test_what_is_kept_does_not_grow_with_the_number_of_images_of_one_name(tmp_path):
    names = names_of(write_tree(tmp_path, {f"c{number:03}/1.jpg": X for number in range(350)}))
    names.look_for(["1.jpg", "c340/1.jpg"])
    assert len(names.by_name["1.jpg"]) <= 202
    assert "c340/1.jpg" in names.by_name["1.jpg"]
    assert names.num_images == 350


@pytest.mark.parametrize("text", ["Cafe\u0301 1.JPG", "CAF\u00c9 1", " x\\caf\u00e9 1.jpg "])
def test_accents_case_blanks_and_backslashes_do_not_hide_an_image(text, tmp_path):
    names = names_of(write_tree(tmp_path, {"a/Caf\u00e9 1.jpg": X}))
    assert names.find(text).paths == ["a/Caf\u00e9 1.jpg"]


def test_lists_are_found_below_many_folders_and_among_many_lists(tmp_path):
    files = {f"k{number:02}/{number}.jpg": X for number in range(30)}
    of_classes = {f"z/v1/k{number:02}_train.txt": f"{number}.jpg\n".encode() for number in range(30)}
    folder = open_folder(str(write_tree(tmp_path, files | of_classes | {"z/v1/test.txt": b"3.jpg\n29.jpg\n"})))
    assert [one.path for one in naming_files(folder, None, ImageNames(folder, None))] == ["z/v1/test.txt"]


def test_folders_of_lists_and_those_in_them_are_searched_before_hundreds_of_others(tmp_path):
    files = {f"c{number:03}/1.jpg": X for number in range(300)}
    folder = open_folder(str(write_tree(tmp_path, files | {"meta/v1/official/names.txt": b"1.jpg\n"})))
    assert ("meta/v1/official", ["names.txt"]) in [*files_by_kind(folder, None, frozenset({".txt"}))]


def test_a_list_that_means_several_images_by_one_name_does_not_divide_them(tmp_path):
    files = {f"data/{label}/{number}.jpg": X for label in ("cat", "dog") for number in range(3)}
    url = str(write_tree(tmp_path, files | {"test.txt": b"1.jpg\n"}))
    assert {split for split, _ in read(url)[1].values()} == {None}
    (tmp_path / "test.txt").write_bytes(b"dog/1.jpg\n")
    assert [key for key, (split, _) in read(url)[1].items() if split == "test"] == ["dog/1.jpg"]


def test_names_in_lists_may_begin_with_several_folders_that_are_not_there(tmp_path):
    files = {f"data/{label}/{number}.jpg": X for label in ("cat", "dog") for number in range(4)}
    train = b"".join(
        b"/home/%b/%b/%d.jpg\n" % (b"xy"[n % 2 : n % 2 + 1], k, n) for k in (b"cat", b"dog") for n in (0, 1, 2)
    )
    url = str(write_tree(tmp_path, files | {"train.txt": train, "val.txt": b"/home/x/cat/3.jpg\n/home/y/dog/3.jpg\n"}))
    splits = {key: split for key, (split, _) in read(url)[1].items()}
    assert [splits[key] for key in ("cat/1.jpg", "dog/2.jpg", "cat/3.jpg", "dog/3.jpg")] == ["train"] * 2 + [
        "validation"
    ] * 2
