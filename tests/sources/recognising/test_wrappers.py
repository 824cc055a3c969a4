"""Folders around others, which unpacking adds, are no obstacle to any layout."""

import pytest

from shardkit.errors import CallError
from shardkit.testing import opened, picture, read_source, write_archive, write_tree

XML = "<annotation><filename>{0}.jpg</filename><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>"  # noqa: E501 - a file
VOC = {f"{kind}/{n}.{end}": data for n in (1, 2) for kind, end, data in (
    ("JPEGImages", "jpg", picture(n, kind="JPEG")), ("Annotations", "xml", XML.format(n).encode()))}  # fmt: skip


def below(folder, files):
    return {f"{folder}/{path}": data for path, data in files.items()}


@pytest.mark.parametrize("options", [{}, {"layout": "voc"}], ids=["detected", "named"])
@pytest.mark.parametrize("folder", ["a", "a/a", "pets-main/data/voc"])
def test_one_folder_around_everything(folder, options, tmp_path):
    files = {**below(folder, {**VOC, "README.md": b"more about pets"}), "README.md": b"pets", "get.sh": b"wget"}
    write_tree(tmp_path / "source", {**files, "__MACOSX/._a": b"x"})
    found = read_source(tmp_path / "source", **options)
    assert [key for key, _, _ in found.labels] == ["JPEGImages/1.jpg", "JPEGImages/2.jpg"]


def test_the_same_name_twice_and_what_archives_are_called(tmp_path):
    parts = {f"{split}_zip/{split}/{split}.{end}": data for split in ("train", "test") for end, data in (
        ("jpg", picture(1, kind="JPEG")), ("xml", XML.format(split).encode()))}  # fmt: skip
    labels = read_source(write_tree(tmp_path / "source", parts)).labels
    expected = [("test_zip/test/test.jpg", "test"), ("train_zip/train/train.jpg", "train")]
    assert [(key, split) for key, split, _ in labels] == expected


def test_what_can_be_read_as_it_is_keeps_its_keys(tmp_path):
    files = {f"images/images/{n}.jpg": picture(n, kind="JPEG") for n in range(2)}
    write_tree(tmp_path / "source", {**files, "labels.csv": b"image,label\n0.jpg,cat\n1.jpg,dog\n"})
    assert [key for key, _, _ in read_source(tmp_path / "source").labels] == [*files]


def test_a_tree_that_cannot_be_read_without_wrappers_either_is_refused_as_it_is(tmp_path):
    write_tree(tmp_path / "source", {f"a/a/{n}.jpg": picture(n, kind="JPEG") for n in range(2)})
    with pytest.raises(CallError, match=r"only images such as 0\.jpg and 1\.jpg in a/"):
        opened(tmp_path / "source")


def test_a_question_is_asked_though_the_tree_could_be_read_without_wrappers(tmp_path):
    names = [f"{folder}{word}.{n}.png" for folder in ("", "data/data/") for word in ("cat", "dog") for n in range(2)]
    images = {name: picture(n) for n, name in enumerate(names)}
    with pytest.raises(CallError, match="in the top folder and data/"):
        opened(write_tree(tmp_path / "source", images))


def test_an_archive_with_a_wrapper_twice(tmp_path):
    write_archive(tmp_path / "a.tar.gz", below("a/a", VOC))
    found = read_source(tmp_path / "a.tar.gz", work=tmp_path / "work", layout="voc")
    assert [key for key, _, _ in found.labels] == ["JPEGImages/1.jpg", "JPEGImages/2.jpg"]
