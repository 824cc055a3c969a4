import pickle
from pathlib import Path

import pytest

from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.sources.formats.tables.opening import open_list_files
from shardkit.sources.opening import open_source
from shardkit.sources.recognising.class_names import find_class_names
from shardkit.storage import open_folder
from shardkit.testing import read_source

from ..test_well_known import images, read, write

SAMPLES = Path(__file__).parents[3] / "sample_data"
CATS = images("cat/1.jpg", "cat/2.jpg", "dog/3.jpg")

# name: lines of a list next to cat/1.jpg, cat/2.jpg and dog/3.jpg, and the labels it gives these
LINES = {
    "blanks": (["cat/1.jpg 0", "cat/2.jpg 0", "dog/3.jpg 1"], ["0", "0", "1"]),
    "tabs": (["cat/1.jpg\ta cat", "cat/2.jpg\ta cat", "dog/3.jpg\ta dog"], ["a cat", "a cat", "a dog"]),
    "commas": (["cat/1.jpg,cat", "cat/2.jpg, cat", "dog/3.jpg ,dog"], ["cat", "cat", "dog"]),
    "a name of several words": (
        ["cat/1.jpg House cat", "cat/2.jpg House cat", "dog/3.jpg dog"],
        ["House cat", "House cat", "dog"],
    ),
    "the label before the path": (["0 cat/1.jpg", "0 cat/2.jpg", "1 dog/3.jpg"], ["0", "0", "1"]),
    "no endings": (["cat/1 a", "cat/2 a", "dog/3 b"], ["a", "a", "b"]),
    "no labels": (["cat/1.jpg", "cat/2.jpg", "dog/3.jpg"], ["cat", "cat", "dog"]),
    "a title": (["file", "cat/1.jpg", "cat/2.jpg", "dog/3.jpg"], ["cat", "cat", "dog"]),
    "titles": (["file label", "cat/1.jpg 0", "cat/2.jpg 0", "dog/3.jpg 1"], ["0", "0", "1"]),
    "paths of another computer": (
        ["/home/me/data/cat/1.jpg 0", "/home/me/data/cat/2.jpg 0", "/home/me/data/dog/3.jpg 1"],
        ["0", "0", "1"],
    ),
    "paths of Windows": (["cat\\1.jpg 0", "cat\\2.jpg 0", ".\\dog\\3.jpg 1"], ["0", "0", "1"]),
    "remarks and empty lines": (
        ["# name class", "", "cat/1.jpg 0", "cat/2.jpg 0", " ", "dog/3.jpg 1"],
        ["0", "0", "1"],
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_the_form_of_a_list_is_the_one_that_names_images(name, tmp_path):
    lines, labels = LINES[name]
    root = write(tmp_path / "source", CATS | {"train.txt": lines})
    expected = [(key, None, label) for key, label in zip(sorted(CATS), labels, strict=True)]
    _, rows, skipped = read(root / "train.txt", layout="list")
    assert rows == expected
    assert skipped == {}


# name: lines between tabs, and whether the first names the columns
TITLES = {
    "GBIF's": (["gbifID\tkingdom", "2001\tAnimalia", "2002\tPlantae"], True),
    "more columns than lists have": (["\t".join(f"n{i}" for i in range(200)), *["\t".join("9" * 200)] * 2], True),
    "names and a number each": (["cat/1\t5", "cat/2\t7", "dog/3\t7"], False),
    "no number below": (["a\tcat", "b\tdog", "c\tdog"], False),
    "one line of numbers, perhaps of a record": (["a\tcat", "2001\tdog"], False),
    "a title twice": (["n\tn\tid", "a\tb\t1", "a\tb\t2"], False),
}


@pytest.mark.parametrize("name", TITLES)
def test_texts_above_numbers_between_tabs_name_the_columns(name, tmp_path):
    lines, is_header = TITLES[name]
    write(tmp_path, {"occurrence.txt": lines})
    ways = open_list_files(open_folder(str(tmp_path)), "occurrence.txt")
    found = next(one for one in ways if one.delimiter == "\t")
    assert found.has_header is is_header
    assert (found.columns == tuple(lines[0].split("\t"))) is is_header


def test_the_sample_is_read():
    source, rows, _ = read(SAMPLES / "list.txt")
    assert len(rows) == 240
    assert rows[0] == ("shapes/circle/circle_000.jpg", None, "circle")
    assert {label for _, _, label in rows} == {"circle", "square", "star", "triangle"}
    assert source.describe() == (
        f"{SAMPLES}/list.txt: read as table (text): the lines of list.txt: the image from column "
        "'image'; the class from column 'label'"
    )


def test_spaces_in_names_are_not_taken_for_separators(tmp_path):
    files = {**images("my cats/a cat 1.jpg", "my cats/2.jpg"), "list.txt": ["my cats/a cat 1.jpg 0", "my cats/2.jpg 1"]}
    _, rows, _ = read(write(tmp_path, files) / "list.txt")
    assert rows == [("my cats/2.jpg", None, "1"), ("my cats/a cat 1.jpg", None, "0")]


def test_images_of_equal_names_are_looked_up_in_the_folder_of_the_split(tmp_path):
    files = {**images("train/1.jpg", "val/1.jpg"), "train.txt": ["1.jpg a"], "val.txt": ["1.jpg b"]}
    _, rows, _ = read(write(tmp_path, files))
    assert rows == [("train/1.jpg", "train", "a"), ("val/1.jpg", "validation", "b")]


# name: lines of train.txt next to CATS, and what the refusal says
BAD = {
    "boxes": (["cat/1.jpg 10,20,30,40,0", "cat/2.jpg 1,2,3,4,1"], "has a usual name for image paths"),
    "boxes with names": (["cat/1.jpg,10,20,30,40,cat", "dog/3.jpg,1,2,3,4,dog"], "has a usual name for labels"),
    "attributes": (["cat/1.jpg -1 1 1", "cat/2.jpg 1 1 1"], "has a usual name for labels"),
    "several fields before the path": (["1 7 cat/1.jpg", "2 8 dog/3.jpg"], "has a usual name for labels"),
    "numbers of the images": (["1 cat/1.jpg", "2 cat/2.jpg", "3 dog/3.jpg"], "has a usual name for labels"),
    "folders of first letters": (["c/cat/4.jpg", "d/dog/5.jpg"], "the folders of the images are no classes"),
    "masks": (["cat/1.jpg cat/2.jpg", "cat/2.jpg dog/3.jpg"], "has a usual name for labels"),
    "one folder": (["cat/1.jpg", "cat/2.jpg"], "contains no labels, and the folders of the images are no classes"),
    "no image": (["hello world", "this is a test"], "its lines are no records of a table"),
    "empty": ([], "no records that can be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_list_that_gives_no_classes_is_refused(name, tmp_path):
    lines, says = BAD[name]
    more = images("c/cat/4.jpg", "d/dog/5.jpg")
    root = write(tmp_path, CATS | more | {"train.txt": lines})
    with pytest.raises(ShardkitError, match=says):
        open_source(str(root / "train.txt"))


def test_a_list_of_the_test_images_alone_leaves_the_others_for_training(tmp_path):
    root = write(tmp_path, CATS | images("dog/4.jpg") | {"test.txt": ["cat/1.jpg", "dog/3.jpg"]})
    assert [split for _, split, _ in read(root)[1]] == ["test", "train", "test", "train"]


def test_moved_paths_of_a_table_are_found_in_a_folder_below(tmp_path):
    rows = ["path,label", "/home/me/cat/1.jpg,a", "/home/me/cat/2.jpg,b", "/home/me/dog/3.jpg,a"]
    files = {f"photos/{path}": data for path, data in CATS.items()} | {"t.csv": rows}
    _, found, _ = read(write(tmp_path, files) / "t.csv")
    assert found == [("photos/cat/1.jpg", None, "a"), ("photos/cat/2.jpg", None, "b"), ("photos/dog/3.jpg", None, "a")]


def test_a_folder_without_lists_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no list that names its images"):
        read(write(tmp_path, CATS), layout="list")


# name: lines of a file of names, labels, and names with the first label, or None for a refusal
NAMES = {
    "by line from 0": (["cat", "dog", "horse"], "02", (("cat", "dog", "horse"), 0)),
    "by line from 1": (["cat", "dog", "horse"], "13", (("cat", "dog", "horse"), 1)),
    "by line, from 0 or 1": (["cat", "dog", "horse"], "12", None),
    "too few": (["cat", "dog"], "07", None),
    "numbers first": (["1 cat", "2 big dog"], "12", (("cat", "big dog"), 1)),
    "numbers with a colon": (["0: cat", "1: dog"], "1", (("cat", "dog"), 0)),
    "numbers last": (["cat 0", "dog 1"], "1", (("cat", "dog"), 0)),
    "WordNet ids": (["n02012849 crane", "n03126707 crane"], "01", (("n02012849", "n03126707"), 0)),
    "names that end in numbers": (["level 1", "level 2"], "01", (("level 1", "level 2"), 0)),
    "two of a name": (["crane", "crane"], "01", ((), 0)),
    "labels that are names": (["cat", "dog"], "ab", ((), 0)),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_integer_labels(name, tmp_path):
    lines, labels, expected = NAMES[name]
    folder = open_folder(str(write(tmp_path, {"classes.txt": lines})))
    if expected is None:
        with pytest.raises(DataError, match="so names and labels cannot be matched"):
            find_class_names(folder, [""], set(labels))
    else:
        assert find_class_names(folder, [""], set(labels))[:2] == expected


def test_bad_lines_of_numbered_files_are_rejected(tmp_path):
    files = {
        **images("images/a/1.jpg"),
        "images.txt": ["1 a/1.jpg", "2 a/2.jpg", "3 a/3.jpg", "4", "5 ../x.jpg", "6 a/6.jpg"],
        "image_class_labels.txt": ["1 1", "2 9", "4 1", "5 1", "6 1"],
        "train_test_split.txt": ["1 1", "2 1", "3 1", "4 1", "5 1", "6 7"],
        "classes.txt": ["1 001.a", "2 002.b"],
    }
    _, rows, _ = read(write(tmp_path, files))
    assert rows == [
        ("images.txt, line 4", None, "bad_line"),
        ("images.txt, line 5", None, "bad_path"),
        ("images/a/1.jpg", "train", "001.a"),
        ("images/a/2.jpg", "train", "bad_label"),
        ("images/a/3.jpg", "train", "no_label"),
        ("images/a/6.jpg", None, "bad_split"),
    ]


def test_bad_lines_of_attributes_are_rejected(tmp_path):
    lines = ["000001.jpg -1 1", "000002.jpg 1", "000003.jpg 1 2", "000004.jpg 1 1", "000005.jpg 1 1"]
    files = {
        **images("img_align_celeba/000001.jpg", "img_align_celeba/000006.jpg"),
        "list_attr_celeba.txt": ["5", "Bald Male", *lines],
        "list_eval_partition.txt": [f"{i:06}.jpg 0" for i in (1, 2, 3, 5)],
    }
    root = write(tmp_path, files)
    source, rows, skipped = read(root)
    assert [(key[-10:], split, what) for key, split, what in rows] == [
        ("000001.jpg", "train", ["Male"]),
        ("000003.jpg", "train", "bad_label"),
        ("000004.jpg", None, "bad_split"),
        ("000005.jpg", "train", "missing"),
        ("xt, line 4", None, "bad_line"),
    ]
    assert source.classes == ("Bald", "Male")
    assert skipped == {"image in img_align_celeba/ that list_attr_celeba.txt does not name": 1}
    assert read(root, label_columns=("Bald",))[0].classes == ("Bald",)
    with pytest.raises(CallError, match="no column 'Hat'; its columns are 'image', 'Bald', 'Male'"):
        read(root, label_columns=("Hat",))


def test_an_output_in_the_source_is_left_out(tmp_path):
    root = write(tmp_path / "s", {**images("cat/1.jpg", "out/2.jpg"), "train.txt": ["cat/1.jpg a", "out/2.jpg b"]})
    assert read_source(root, output=root / "out", layout="list").table["key"].to_pylist() == ["cat/1.jpg"]


def test_identities_alone_are_read(tmp_path):
    files = {**images("img_align_celeba/1.jpg"), "identity_CelebA.txt": ["1.jpg 2880"]}
    assert read(write(tmp_path, files))[1] == [("img_align_celeba/1.jpg", None, "2880")]


def test_a_source_is_pickled_for_the_workers(tmp_path):
    source = read(write(tmp_path, CATS | {"train.txt": ["cat/1.jpg a", "dog/3.jpg b"]}))[0]
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301 - its own
