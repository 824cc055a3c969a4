import os

import pytest

from shardkit.errors import DataError, MachineError
from shardkit.sources.readings.values import PathPart
from shardkit.testing import listed, opened, read_source, upload, write_tree


def read(root, excluded=None):
    return read_source(root, layout="class-folders", output=excluded and root / excluded)


NO_LABEL = (None, "no_label")

# name: the paths of a source, and (key, split, label or reason) of what is listed
TREES = {
    "labels": (["cat/1.jpg", "dog/2.png"], [("cat/1.jpg", None, "cat"), ("dog/2.png", None, "dog")]),
    "labels nested": (
        ["cat/a/b/1.jpg", "cat/2.jpg"],
        [("cat/2.jpg", None, "cat"), ("cat/a/b/1.jpg", None, "cat")],
    ),
    "what tools leave behind": (
        ["cat/1.jpg", "venv/lib/logo.png", "node_modules/a/b.png"],
        [("cat/1.jpg", None, "cat")],
    ),
    "splits": (
        ["train/cat/1.jpg", "test/cat/1.jpg", "val/dog/2.jpg"],
        [
            ("test/cat/1.jpg", "test", "cat"),
            ("train/cat/1.jpg", "train", "cat"),
            ("val/dog/2.jpg", "validation", "dog"),
        ],
    ),
    "splits in any case": (
        ["TRAIN/cat/1.jpg", "Testing/cat/1.jpg", "Dev/dog/2.jpg"],
        [
            ("Dev/dog/2.jpg", "validation", "dog"),
            ("TRAIN/cat/1.jpg", "train", "cat"),
            ("Testing/cat/1.jpg", "test", "cat"),
        ],
    ),
    "two folders of one split": (
        ["val/cat/1.jpg", "validation/cat/1.jpg"],
        [("val/cat/1.jpg", "validation", "cat"), ("validation/cat/1.jpg", "validation", "cat")],
    ),
    "splits nested": (["train/cat/a/1.jpg"], [("train/cat/a/1.jpg", "train", "cat")]),
    "split names beside others are labels": (
        ["train/steam/1.jpg", "bus/2.jpg"],
        [("bus/2.jpg", None, "bus"), ("train/steam/1.jpg", None, "train")],
    ),
    "split names without folders in them are labels": (
        ["train/1.jpg", "test/2.jpg"],
        [("test/2.jpg", None, "test"), ("train/1.jpg", None, "train")],
    ),
    "one split folder without label folders": (
        ["train/cat/1.jpg", "test/2.jpg"],
        [("train/cat/1.jpg", "train", "cat")],
    ),
    "a label that is named like a split": (["train/train/1.jpg"], [("train/train/1.jpg", "train", "train")]),
    "images outside labels": (
        ["1.jpg", "cat/2.jpg"],
        [("1.jpg", None, None), ("cat/2.jpg", None, "cat")],
    ),
    "images outside labels and splits": (
        ["1.jpg", "train/2.jpg", "train/cat/3.jpg"],
        [("1.jpg", None, None), ("train/2.jpg", "train", None), ("train/cat/3.jpg", "train", "cat")],
    ),
    "hidden and junk": (
        [
            "cat/1.jpg",
            "cat/.2.jpg",
            "cat/.cache/3.jpg",
            ".git/4.jpg",
            "cat/Thumbs.db",
            "cat/desktop.ini",
            "__MACOSX/cat/._1.jpg",
            "cat/__MACOSX/5.jpg",
            "cat/Icon\r",
            "cat/.DS_Store",
        ],
        [("cat/1.jpg", None, "cat")],
    ),
    "empty folders": (["cat/1.jpg", "dog/", "cat/empty/"], [("cat/1.jpg", None, "cat")]),
    "endings in any case": (
        ["cat/1.JPG", "cat/2.Jpeg", "cat/3.PNG", "cat/4.WebP"],
        [(f"cat/{name}", None, "cat") for name in ("1.JPG", "2.Jpeg", "3.PNG", "4.WebP")],
    ),
    "odd names": (
        ["c a\tt/new\nline.jpg", "\u732b/\u00fc \U0001f600.jpg", "-rf/%2e.jpg", "'\"/a.b.c.jpg"],
        [
            ("'\"/a.b.c.jpg", None, "'\""),
            ("-rf/%2e.jpg", None, "-rf"),
            ("c a\tt/new\nline.jpg", None, "c a\tt"),
            ("\u732b/\u00fc \U0001f600.jpg", None, "\u732b"),
        ],
    ),
    "the same name composed and decomposed": (  # macOS writes the second; both are one class
        ["\u00fc/1.jpg", "u\u0308/1.jpg"],
        [("u\u0308/1.jpg", None, "\u00fc"), ("\u00fc/1.jpg", None, "\u00fc")],
    ),
}


@pytest.mark.parametrize(("paths", "expected"), TREES.values(), ids=TREES.keys())
def test_trees_are_read_as_the_readme_says(paths, expected, tmp_path):
    rows = read(write_tree(tmp_path / "source", paths)).labels
    assert rows == [(key, split, label or "no_label") for key, split, label in expected]


@pytest.mark.parametrize(
    ("paths", "layout", "sentence"),
    [
        (["cat/1.jpg"], "class folders", "read as <label>/…/image"),
        (["train/cat/1.jpg"], "split and class folders", "read as <split>/<label>/…/image"),
        (
            ["train/a/1.jpg", "bus/2.jpg"],
            "class folders",
            "read as <label>/…/image; note: 'train' is read as a class, not as a split, because 'bus' is next to it",
        ),
        (
            ["train/1.jpg"],
            "class folders",
            (
                "read as <label>/…/image; note: 'train' is read as a class, not as a split, because there are no label "
                "folders in it"
            ),
        ),
    ],
)
def test_the_source_says_how_the_tree_was_read(paths, layout, sentence, tmp_path):
    root = write_tree(tmp_path / "source", paths)
    source = read(root).source
    assert source.layout == layout
    assert source.describe() == f"{root}: {sentence}"


def test_other_files_are_skipped_and_counted_by_ending(tmp_path):
    found = read(
        write_tree(
            tmp_path / "source", ["cat/1.jpg", "cat/a.txt", "cat/deep/b.TXT", "cat/README", "labels.csv", "cat/.hidden"]
        )
    )
    assert [row["key"] for row in found.rows] == ["cat/1.jpg"]
    assert found.skipped == {".txt": 2, "(none)": 1, ".csv": 1}


def test_sizes_and_times_are_the_files_own(tmp_path):
    root = write_tree(tmp_path, {"cat/1.jpg": b"12345"})
    os.utime(root / "cat/1.jpg", ns=(7, 1234567890))
    assert [(row["source_bytes"], row["mtime_ns"]) for row in read(root).rows] == [(5, 1234567890)]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_batches_are_the_same_on_every_call_and_no_larger_than_asked(batch_rows, tmp_path):
    root = write_tree(
        tmp_path / "source", [*[f"cat/{i}.jpg" for i in range(7)], *[f"dog/{i}/x.png" for i in range(3)], "dog/a.txt"]
    )
    source = opened(root)
    found, again = listed(source, batch_rows), listed(source, batch_rows)
    assert found.table == again.table
    assert len(found.rows) == len({row["key"] for row in found.rows}) == 10
    assert found.skipped == {".txt": 1}


NOT_UTF_8 = [b"cat/caf\xe9.jpg", b"caf\xe9/1.jpg", b"cat/\xff\xfe/1.jpg", b"cat/\xed\xa0\x80.jpg"]


@pytest.mark.parametrize("path", NOT_UTF_8, ids=repr)
def test_a_name_that_is_not_utf_8_is_rejected_with_its_bytes_shown(path, tmp_path):
    root = write_tree(tmp_path / "source", ["cat/good.jpg"])
    os.makedirs(os.path.join(os.fsencode(root), os.path.dirname(path)), exist_ok=True)
    with open(os.path.join(os.fsencode(root), path), "wb") as file:
        file.write(b"x")
    rows = read(root).labels
    shown = path.decode("utf-8", "backslashreplace")
    assert rows == sorted([("cat/good.jpg", None, "cat"), (shown, None, "bad_name")])


def test_an_ending_that_is_not_utf_8_can_be_printed_and_stored(tmp_path):
    root = write_tree(tmp_path / "source", ["cat/1.jpg"])
    (root / os.fsdecode(b"cat/notes.caf\xe9")).write_bytes(b"x")
    skipped = read(root).skipped
    assert skipped == {".caf\\xe9": 1}
    assert all(kind.encode() for kind in skipped)


def test_symbolic_links_to_folders_and_files_are_followed(tmp_path):
    root = write_tree(tmp_path / "source", ["cat/1.jpg"])
    write_tree(tmp_path / "elsewhere", {"dogs/2.jpg": b"x", "3.jpg": b"x"})
    (root / "dog").symlink_to(tmp_path / "elsewhere/dogs")  # a label folder
    (root / "cat/more").symlink_to(tmp_path / "elsewhere/dogs")  # below one
    (root / "cat/3.jpg").symlink_to(tmp_path / "elsewhere/3.jpg")
    rows = read(root).labels
    assert rows == [
        ("cat/1.jpg", None, "cat"),
        ("cat/3.jpg", None, "cat"),
        ("cat/more/2.jpg", None, "cat"),
        ("dog/2.jpg", None, "dog"),
    ]


def test_a_split_folder_may_be_a_link(tmp_path):
    root = write_tree(tmp_path / "source", ["train/cat/1.jpg"])
    write_tree(tmp_path / "elsewhere", {"cat/2.jpg": b"x"})
    (root / "test").symlink_to(tmp_path / "elsewhere")
    rows = read(root).labels
    assert rows == [("test/cat/2.jpg", "test", "cat"), ("train/cat/1.jpg", "train", "cat")]


def test_a_dangling_link_is_listed_so_that_it_is_reported(tmp_path):
    root = write_tree(tmp_path / "source", ["cat/1.jpg"])
    (root / "cat/2.jpg").symlink_to("nowhere.jpg")
    assert [key for key, *_ in read(root).labels] == ["cat/1.jpg", "cat/2.jpg"]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("cat/loop", "."),
        ("cat/loop", "../cat"),
        ("cat/deep/loop", ".."),
        ("cat/loop", ".."),  # the whole source: the dogs are no cats
        ("cat/deep/loop", "../.."),
        ("loop", "."),  # no label of its own
    ],
)
def test_a_link_that_leads_back_up_adds_nothing(link, target, tmp_path):
    root = write_tree(tmp_path / "source", ["cat/1.jpg", "cat/deep/2.jpg", "dog/3.jpg"])
    before = read(root).labels
    (root / link).symlink_to(target)
    assert read(root).labels == before


def test_a_link_that_leads_back_up_to_a_split_adds_nothing(tmp_path):
    root = write_tree(tmp_path / "source", ["train/cat/1.jpg", "train/dog/2.jpg"])
    before = read(root).labels
    (root / "train/cat/loop").symlink_to("..")
    assert read(root).labels == before


@pytest.mark.parametrize("excluded", ["out", "cat/out", "cat/deep/out"])
def test_the_output_inside_the_source_is_left_out(excluded, tmp_path):
    root = write_tree(
        tmp_path / "source", ["cat/1.jpg", f"{excluded}/x.jpg", f"{excluded}/deep/y.jpg", f"{excluded}2/z.jpg"]
    )
    rows = read(root, excluded).labels
    assert [key for key, *_ in rows] == sorted(["cat/1.jpg", f"{excluded}2/z.jpg"])


def test_the_output_inside_a_split_is_left_out(tmp_path):
    root = write_tree(tmp_path / "source", ["train/cat/1.jpg", "train/out/x.jpg", "test/cat/1.jpg"])
    rows = read(root, "train/out").labels
    assert [key for key, *_ in rows] == ["test/cat/1.jpg", "train/cat/1.jpg"]


def test_an_output_beside_the_splits_does_not_make_labels_of_them(tmp_path):
    root = write_tree(tmp_path / "source", ["train/cat/1.jpg", "out/manifest.json"])
    source = read(root, "out").source
    assert source.reading.split == PathPart(0)


def test_a_dataset_of_an_earlier_conversion_inside_the_source_is_left_out(tmp_path):
    root = write_tree(
        tmp_path / "source", ["cat/1.jpg", "cat/old/manifest.json", "cat/old/run-log.jsonl", "cat/old/x.jpg"]
    )
    found = read(root)
    assert ([row["key"] for row in found.rows], found.skipped) == (["cat/1.jpg"], {})


@pytest.mark.parametrize("paths", [["1.jpg"], ["a.txt"], [".hidden/1.jpg"], ["out/1.jpg"], []])
def test_a_tree_without_label_folders_is_refused_with_what_is_expected(paths, tmp_path):
    root = write_tree(tmp_path / "source", ["placeholder/", *paths])
    (root / "placeholder").rmdir()
    with pytest.raises(DataError, match=r"no label folders; shardkit reads SOURCE/<label>/image or SOURCE/<split>/"):
        read(root, "out")


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    root = write_tree(tmp_path / "source", ["cat/1.jpg", "cat/secret/2.jpg"])
    scandir = os.scandir

    def refusing(path):  # permissions do not hold for the superuser, who may be running this
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(MachineError, match=r"/source/cat/secret: cannot list the folder: Permission denied$"):
        read(root)


def test_a_source_survives_the_trip_to_a_worker(tmp_path):
    import pickle

    found = read(write_tree(tmp_path / "source", ["cat/1.jpg"]))
    assert listed(pickle.loads(pickle.dumps(found.source))).rows == found.rows  # noqa: S301 - our own


def test_an_object_store_is_read_the_same(s3_bucket):
    upload(
        f"{s3_bucket}/source",
        ["train/cat/1.jpg", "train/cat/deep/2.jpg", "test/\u732b/3 .png", "train/4.jpg", "train/cat/.5.jpg"],
    )
    source = opened(f"{s3_bucket}/source", output=f"{s3_bucket}/source/train/out")
    assert source.reading.split == PathPart(0)
    assert listed(source).labels == [
        ("test/\u732b/3 .png", "test", "\u732b"),
        ("train/4.jpg", "train", "no_label"),
        ("train/cat/1.jpg", "train", "cat"),
        ("train/cat/deep/2.jpg", "train", "cat"),
    ]


def test_the_classes_are_at_the_level_that_the_user_gives(tmp_path):
    root = write_tree(
        tmp_path / "source",
        ["anna/cat/1.jpg", "anna/dog/deep/2.jpg", "ben/cat/3.jpg", "ben/4.jpg", "5.jpg", "eve/x.txt"],
    )
    source = opened(root, class_level=2)
    assert source.describe() == f"{root}: read as <folder>/<label>/…/image"
    assert source.reading.split is None
    found = listed(source)
    assert found.skipped == {".txt": 1}
    assert found.labels == [
        ("5.jpg", None, "no_label"),
        ("anna/cat/1.jpg", None, "cat"),
        ("anna/dog/deep/2.jpg", None, "dog"),
        ("ben/4.jpg", None, "no_label"),
        ("ben/cat/3.jpg", None, "cat"),
    ]


def test_the_level_of_the_classes_is_counted_from_the_splits(tmp_path):
    root = write_tree(tmp_path / "source", ["train/anna/cat/1.jpg", "val/ben/dog/2.jpg", "val/3.jpg", "4.jpg"])
    source = opened(root, class_level=2)
    assert source.describe() == f"{root}: read as <split>/<folder>/<label>/…/image"
    assert listed(source).labels == [
        ("4.jpg", None, "no_label"),
        ("train/anna/cat/1.jpg", "train", "cat"),
        ("val/3.jpg", "validation", "no_label"),
        ("val/ben/dog/2.jpg", "validation", "dog"),
    ]


def test_a_level_without_folders_is_refused(tmp_path):
    root = write_tree(tmp_path / "source", ["cat/1.jpg", "dog/2.jpg"])
    with pytest.raises(DataError, match=r"there are no folders at level 2 of the tree, as class_level=2 says"):
        opened(root, class_level=2)
