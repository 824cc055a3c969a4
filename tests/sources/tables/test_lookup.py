"""Where a table's images are, and which of their neighbours it does not name."""

import pickle
import re

import pytest

from shardkit.errors import DataError, MachineError
from shardkit.storage import LocalFolder
from shardkit.testing import listed, opened, read_source, upload, write_tree

from ..table_reading import rows, write


def table(tmp_path, names, files, **options):
    """A table of those names next to those files."""
    write_tree(tmp_path, dict.fromkeys(files, b"x"))
    return write(tmp_path, "image,label\n" + "".join(f"{name},x\n" for name in names), **options)


def keys(path, **options):
    return [row if len(row) > 1 else row[0] for row in rows(path, "key", **options)]


# name: what the table names, the files, and the keys or rejections
MEANT = {
    "identifiers": (["0", "1"], ["0.jpg", "1.png"], ["0.jpg", "1.png"]),
    "identifiers in folders": (["a/0", "b/0"], ["a/0.jpg", "b/0.PNG"], ["a/0.jpg", "b/0.PNG"]),
    "identifiers with dots": (["0.5", "v1.2.3"], ["0.5.jpg", "v1.2.3.png"], ["0.5.jpg", "v1.2.3.png"]),
    "one is there by its very name": (["0", "1"], ["0", "0.jpg", "1.jpg"], ["0", "1"]),
    "a folder of the name": (["0"], ["0/a.jpg", "0.jpg"], ["0.jpg"]),
    "other files of the name": (["0"], ["0.txt", "0.jpg", "0.json"], ["0.jpg"]),
    "two names that differ in case": (["b", "B"], ["b.jpg", "B.jpg"], ["b.jpg", "B.jpg"]),
    "another case": (["a/0.JPG", "A/1.jpg"], ["a/0.jpg", "a/1.jpg"], ["a/0.jpg", "a/1.jpg"]),
    "accents in one letter, on a Mac's disk in two": (
        ["a/K\u00e4se 1", "a/k\u00e4se 2.jpg"],
        ["a/Ka\u0308se 1.jpg", "a/Ka\u0308se 2.jpg"],
        ["a/Ka\u0308se 1.jpg", "a/Ka\u0308se 2.jpg"],
    ),
    "nothing there": (["0", "1"], [], ["0", "1"]),
    "letters of other scripts": (["\u00fc", "\u732b"], ["\u00dc.jpg", "\u732b.jpg"], ["\u00dc.jpg", "\u732b.jpg"]),
}


@pytest.mark.parametrize(("names", "files", "expected"), MEANT.values(), ids=MEANT.keys())
def test_a_name_without_ending_or_in_another_case_means_the_one_file(names, files, expected, tmp_path):
    path = table(tmp_path, names, files)
    assert keys(path) == expected
    source = opened(path)
    said = "images are found by names without endings or in another case" in source.describe()
    assert said == (expected != names)
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301 - our own


def test_a_name_that_may_be_two_files_is_told_with_both(tmp_path):
    path = table(tmp_path, ["1", "0"], ["0.jpg", "0.png", "1.jpg"])
    said = r"'0' names 2 images by their end of the path, such as 0.jpg and 0.png; write the endings, too"
    with pytest.raises(DataError, match=re.escape(str(path)) + ": " + said):
        read_source(path)


def test_images_one_folder_down_are_found_and_their_folder_is_named(tmp_path):
    for names, options in [(["0.jpg"], {}), (["0"], {}), (["0.jpg"], {"root": str(tmp_path)})]:
        path = table(tmp_path, names, ["train/0.jpg", "other/b.jpg"])
        place = tmp_path / "train"
        assert f"; its images were found in {place}" in opened(path, **options).describe()
        assert keys(path, **options) == ["train/0.jpg"]
        assert "were found" not in opened(path, root=str(place)).describe()
        assert keys(path, root=str(place)) == ["0.jpg"]


def test_one_image_that_is_there_is_enough(tmp_path, monkeypatch):
    path = table(tmp_path, ["0.jpg", "1.jpg"], ["1.jpg", "0/0.jpg"])
    monkeypatch.setattr(LocalFolder, "scan", lambda *_: pytest.fail("it was listed"))
    assert opened(path).describe().endswith("the class from column 'label'")


# name: what the table names, the files, and how many of these are counted
UNNAMED = {
    "beside a named one": (["0.jpg"], ["0.jpg", "1.jpg", "2.PNG"], 2),
    "in a folder with a named one": (["a/0.jpg"], ["a/0.jpg", "a/1.jpg", "b/2.jpg", "3.jpg"], 1),
    "below a folder with a named one": (["0.jpg"], ["0.jpg", "a/1.jpg"], 0),
    "named twice, and one that is not there": (["0.jpg", "0.jpg", "2.jpg"], ["0.jpg", "1.jpg"], 1),
    "no images": (["0.jpg"], ["0.jpg", "1.txt", ".1.jpg", "2"], 0),
    "found by a name without ending": (["0", "1"], ["0.jpg", "1.jpg", "2.jpg"], 1),
}


@pytest.mark.parametrize(("names", "files", "count"), UNNAMED.values(), ids=UNNAMED.keys())
def test_images_that_a_table_does_not_name_are_counted(names, files, count, tmp_path):
    expected = {f"image{'s' * (count > 1)} that labels.csv does not name": count}
    assert read_source(table(tmp_path, names, files)).skipped == (expected if count else {})


def test_the_image_of_a_record_without_a_label_is_named_all_the_same(tmp_path):
    write_tree(tmp_path, {"a.jpg": b"", "b.jpg": b"", "c.jpg": b""})
    path = write(tmp_path, "image,label,split\na.jpg,,train\nb.jpg,x,DISCARD\nc.jpg,x,test\n")
    assert read_source(path).skipped == {"records of the split DISCARD": 1}


def test_a_folder_that_may_not_be_listed_counts_no_images_and_one_that_fails_is_told(tmp_path, monkeypatch):
    source = opened(table(tmp_path, ["0.jpg"], ["0.jpg", "1.jpg"]))

    def refusing(*_):
        raise error

    monkeypatch.setattr(LocalFolder, "scan", refusing)
    error = PermissionError(13, "Permission denied")
    assert listed(source).skipped == {}
    error = OSError(5, "Input/output error")
    with pytest.raises(MachineError, match="cannot list the folder: Input/output error"):
        listed(source)


def test_an_object_store_is_looked_into_the_same(s3_bucket):
    upload(
        f"{s3_bucket}/kaggle", {"train.csv": b"image,label\n0,x\n1,y\n", "0.jpg": b"0", "1.png": b"1", "2.png": b"2"}
    )
    found = read_source(f"{s3_bucket}/kaggle/train.csv")
    assert found.table["key"].to_pylist() == ["0.jpg", "1.png"]
    assert found.skipped == {"image that train.csv does not name": 1}


def test_names_are_found_in_hundreds_of_folders_and_the_end_of_the_path_decides(tmp_path):
    files = [f"images/{number:03}/{number}.jpg" for number in range(120)] + ["images/x/7.jpg"]
    path = table(tmp_path, ["115", "3.jpg", "x/7.jpg"], files)
    assert keys(path) == ["images/115/115.jpg", "images/003/3.jpg", "images/x/7.jpg"]
    assert "its images were found in" in opened(path).describe()


def test_of_two_columns_that_name_the_images_the_one_with_their_paths_counts(tmp_path):
    write_tree(tmp_path, {f"cars/{number}.jpg": b"x" for number in range(3)})
    rows_of = "".join(f"/kaggle/input/{number}.jpg,cars/{number}.jpg,{number % 2}\n" for number in range(3))
    (tmp_path / "labels.csv").write_text(f"original_path,path,label\n{rows_of}")
    assert [row["key"] for row in read_source(tmp_path).rows] == [f"cars/{number}.jpg" for number in range(3)]
