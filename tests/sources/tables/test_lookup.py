"""Where a table's images are, and which of their neighbours it does not name."""

import pickle

import pytest

from shardkit.errors import MachineError
from shardkit.sources.opening import open_source
from shardkit.storage import LocalFolder
from shardkit.testing import opened, upload, write_tree

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
    "two images of the name": (["1", "0"], ["0.jpg", "0.png", "1.jpg"], ["1.jpg", ("labels.csv, line 3", "bad_path")]),
    "two names that differ in case": (["b", "B"], ["b.jpg", "B.jpg"], ["b.jpg", "B.jpg"]),
    "another case": (["a/0.JPG", "A/1.jpg"], ["a/0.jpg", "a/1.jpg"], ["a/0.jpg", "A/1.jpg"]),
    "another case that two have": (
        ["1.jpg", "0.JPG"],
        ["1.JPG", "0.jpg", "0.Jpg"],
        ["1.JPG", ("labels.csv, line 3", "bad_path")],
    ),
    "an ending means itself": (["1", "0.png"], ["0.jpg", "1.jpg"], ["1.jpg", "0.png"]),
    "nothing there": (["0", "1"], [], ["0", "1"]),
    "letters of other scripts": (["\u00fc", "\u732b"], ["\u00dc.jpg", "\u732b.jpg"], ["\u00dc.jpg", "\u732b.jpg"]),
}


@pytest.mark.parametrize(("names", "files", "expected"), MEANT.values(), ids=MEANT.keys())
def test_a_name_without_ending_or_in_another_case_means_the_one_file(names, files, expected, tmp_path):
    path = table(tmp_path, names, files)
    assert keys(path) == expected
    source = opened(path)
    said = "images are found by names without endings or in another case" in source.describe()
    assert said == source.image_location.by_name == (expected != names)
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301 - our own


def test_a_name_that_may_be_two_files_is_told_with_both(tmp_path):
    path = table(tmp_path, ["1", "0"], ["0.jpg", "0.png", "1.jpg"])
    source = opened(path)
    messages = [message for part in source.parts() for one in source.list_part(part, 9) for message in column(one)]
    assert messages == [None, "'0' may be 0.jpg or 0.png; write the file's whole name"]


def column(listing):
    return listing.table()["message"].to_pylist()


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


def skipped(source):
    return [one.skipped for part in source.parts() for one in source.list_part(part, 9) if one.skipped]


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
    assert skipped(opened(table(tmp_path, names, files))) == ([expected] if count else [])


def test_the_image_of_a_record_without_a_label_is_named_all_the_same(tmp_path):
    write_tree(tmp_path, {"a.jpg": b"", "b.jpg": b"", "c.jpg": b""})
    path = write(tmp_path, "image,label,split\na.jpg,,train\nb.jpg,x,DISCARD\nc.jpg,x,test\n")
    assert skipped(opened(path)) == [{"records of the split DISCARD": 1}]


def test_a_folder_that_may_not_be_listed_counts_no_images_and_one_that_fails_is_told(tmp_path, monkeypatch):
    source = opened(table(tmp_path, ["0.jpg"], ["0.jpg", "1.jpg"]))

    def refusing(*_):
        raise error

    monkeypatch.setattr(LocalFolder, "scan", refusing)
    error = PermissionError(13, "Permission denied")
    assert skipped(source) == []
    error = OSError(5, "Input/output error")
    with pytest.raises(MachineError, match="cannot list the folder: Input/output error"):
        skipped(source)


def test_an_object_store_is_looked_into_the_same(s3_bucket):
    upload(
        f"{s3_bucket}/kaggle", {"train.csv": b"image,label\n0,x\n1,y\n", "0.jpg": b"0", "1.png": b"1", "2.png": b"2"}
    )
    source = open_source(f"{s3_bucket}/kaggle/train.csv")
    found = [
        row["key"] for part in source.parts() for one in source.list_part(part, 9) for row in one.table().to_pylist()
    ]
    assert found == ["0.jpg", "1.png"]
    assert skipped(source) == [{"image that train.csv does not name": 1}]
