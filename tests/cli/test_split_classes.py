"""Splits, deliveries and label files whose classes are those of the others under other names."""

import ast
import csv
import json
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardkit
from shardkit.errors import CallError
from shardkit.testing import picture, write_tree

from .calling import call, convert


def folders(**splits):
    """Files of class folders, whose names say what they show: train="Cat=cat dog" has train/Cat/cat-train-0.png."""
    paths = []
    for split, classes in splits.items():
        for folder in classes.split():
            name, _, shows = folder.partition("=")
            paths += [f"{split}/{name}/{shows or name}-{split}-{i}.png" for i in range(2)]
    return {path: picture(number, width=4, height=4) for number, path in enumerate(paths)}


def stopped(*arguments):
    """What is printed by a call that stops."""
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr


def printed_calls(stderr):
    """The words of each printed command."""
    return [shlex.split(line, comments=True) for line in stderr.splitlines() if line.startswith("  shardkit ")]


def run_printed(words):
    result = call(*words[1:])
    assert result.exit_code == 0, result.output


def labels_and_contents(output):
    """The label of each example, and what its file's name says that it shows."""
    tables = [pq.read_table(path, columns=["key", "label_name"]) for path in Path(output).glob("**/*.index.parquet")]
    rows = pa.concat_tables(tables).to_pylist()
    return {(row["label_name"], row["key"].rsplit("/", 1)[1].split("-")[0]) for row in rows}


def same(*names):
    return {(name, name) for name in names}


RENAMED = {
    "numbers for names": ({"train": "cat dog", "val": "0=cat 1=dog"}, same("cat", "dog")),
    "numbers in train for names": ({"train": "1=cat 2=dog", "val": "cat dog"}, same("cat", "dog")),
    "from 1 and from 0": ({"train": "1 2 3", "val": "0=1 1=2 2=3", "test": "2 3"}, same("1", "2", "3")),
    "from 0 and from 1": ({"train": "0 1 2", "val": "1=0 2=1 3=2"}, same("0", "1", "2")),
    "numbers in names": ({"train": "c09 c10", "val": "c10=c09 c11=c10"}, same("c09", "c10")),
    "padded numbers": ({"train": "01 02", "val": "1=01 2=02"}, same("01", "02")),
    "case": ({"train": "Cat Dog", "val": "cat=Cat dog=Dog"}, same("Cat", "Dog")),
    "one by case": ({"train": "cat dog ant", "val": "cat Dog=dog"}, same("cat", "dog", "ant")),
    "signs and plurals": ({"train": "my_cat dog", "val": "my.cats=my_cat dogs=dog"}, same("my_cat", "dog")),
    "accents": ({"train": "míldio são", "val": "mildio=míldio sao=são"}, same("míldio", "são")),
    "two splits": (
        {"train": "cat dog", "val": "0=cat 1=dog", "test": "Cat=cat dog"},
        same("cat", "dog"),
    ),
}


@pytest.mark.parametrize("name", RENAMED)
def test_classes_under_other_names_stop_and_the_printed_renaming_corrects_them(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    splits, wanted = RENAMED[name]
    write_tree(tmp_path / "my data", folders(**splits))
    said = stopped("convert", "my data", "out")
    assert not (tmp_path / "out/manifest.json").exists()
    assert "other_class_names" in stopped("convert", "my data", "out", "--check", "header")
    renaming, accepting = printed_calls(said)
    assert accepting == ["shardkit", "convert", "my data", "out", "--accept", "other_class_names"]
    run_printed(renaming)
    assert labels_and_contents("out") == wanted


def test_who_accepts_the_names_gets_them_with_a_warning(tmp_path):
    source = write_tree(tmp_path / "data", folders(train="cat dog", val="0 1"))
    said = convert(source, tmp_path / "out", "--accept", "other_class_names")
    assert "accepted by --accept other_class_names" in said
    assert labels_and_contents(tmp_path / "out") == same("cat", "dog", "0", "1")


def test_folders_of_sources_with_given_splits_stop_without_a_reading(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path, folders(mine="cat dog", theirs="Cat=cat Dog=dog"))
    [accepting] = printed_calls(stopped("convert", "train=mine", "validation=theirs/", "out"))
    assert accepting[-2:] == ["--accept", "other_class_names"]


STATED = {
    "a level": ("data", "", ["--label", "path:1", "--split", "path:0"]),
    "the innermost": ("data", "", ["--label", "path:-1", "--split", "path:0"]),
    "several sources": ("train=data/train validation=data/val", "", ["--label", "path:1"]),
    "a folder above that is called like a class": ("data", "0/", ["--label", "path:2", "--split", "path:0"]),
}


@pytest.mark.parametrize(("sources", "above", "options"), STATED.values(), ids=STATED)
def test_folders_that_the_user_said_are_the_classes_are_renamed(sources, above, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = folders(train="cat dog", val="0=cat 1=dog")
    write_tree(tmp_path / "data", {path.replace("/", f"/{above}", 1): data for path, data in files.items()})
    renaming, _ = printed_calls(stopped("convert", *sources.split(), "out", *options))
    run_printed(renaming)
    assert labels_and_contents("out") == same("cat", "dog")


def test_folders_below_a_root_get_other_names_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "above/data", folders(train="1 2 3", val="0=1 1=2 2=3"))
    options = ["--root", "data", "--label", "path:1", "--split", "path:0"]
    renaming, _ = printed_calls(stopped("convert", "above", "out", *options))
    run_printed(renaming)
    assert labels_and_contents("out") == same("1", "2", "3")


def test_splits_that_are_mixed_stop_too(tmp_path):
    source = write_tree(tmp_path / "data", folders(train="cat dog", val="0 1"))
    options = ["--splits-of", "train,validation", "--splits", "50/50"]
    assert "perhaps '0' is 'cat', '1' is 'dog'" in stopped("plan", source, *options)


USUAL = {
    "the same": {"train": "cat dog", "val": "cat dog"},
    "fewer": {"train": "cat dog 1 2 3", "val": "dog"},
    "a few more": {"train": "cat dog ant", "test": "cat dog ant bee fox"},
    "one more number": {"train": "0 1 2 3", "test": "1 2 3 4 0"},
    "some numbers": {"train": "0 1 2 3", "test": "1 4 0"},
    "letters of both cases": {"train": "A a B b", "test": "a b A"},
}


@pytest.mark.parametrize("name", USUAL)
def test_a_split_with_fewer_or_a_few_more_classes_is_usual(name, tmp_path):
    result = call("plan", write_tree(tmp_path, folders(**USUAL[name])))
    assert result.exit_code == 0, result.output


NOT_RENAMED = {
    "disjoint": (
        {"train": "cat dog", "test": "fox owl"},
        "none of the classes of the split 'test' is a class of 'train': not 'fox', 'owl'",
    ),
    "nearly disjoint": ({"train": "cat dog", "test": "fox owl cat"}, "only 1 of the 3 classes of the split 'test'"),
    "one class": ({"train": "cat dog", "val": "animal"}, "none of the classes of the split 'validation'"),
}


@pytest.mark.parametrize("name", NOT_RENAMED)
def test_splits_with_other_classes_stop_without_a_guess(name, tmp_path):
    splits, sentence = NOT_RENAMED[name]
    said = stopped("plan", write_tree(tmp_path, folders(**splits)))
    assert sentence in said
    assert "perhaps" not in said
    assert [words[-2:] for words in printed_calls(said)] == [["--accept", "other_class_names"]]


def test_folders_that_hold_several_splits_get_other_names_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = folders(train="cat dog", val="Cat=cat dog")
    turned = {"/".join((*reversed(path.split("/")[:2]), path.split("/")[2])): data for path, data in files.items()}
    write_tree(tmp_path / "data", turned)
    renaming, _ = printed_calls(stopped("convert", "data", "out"))
    run_printed(renaming)
    assert labels_and_contents("out") == same("cat", "dog")


def in_a_zip(root):
    write_tree(root / "data", folders(train="cat dog", val="0=cat 1=dog"))
    return shutil.make_archive(str(root / "data"), "zip", root / "data")


def in_a_table(root):
    files = folders(train="cat dog", val="0=cat 1=dog")
    write_tree(root, files)
    with (root / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([("image", "split", "label"), *((path, *path.split("/")[:2]) for path in files)])
    return root / "labels.csv"


def in_coco(root):
    for split, names in (("train", "cat dog"), ("val", "0 1")):
        files = folders(**{split: names})
        images = [
            {"id": number, "file_name": path.rsplit("/", 1)[1], "width": 4, "height": 4}
            for number, path in enumerate(files)
        ]
        boxes = [
            {"id": one["id"], "image_id": one["id"], "category_id": one["id"] // 2 + 1, "bbox": [0, 0, 2, 2], "area": 4}
            for one in images
        ]
        categories = [{"id": number, "name": name} for number, name in enumerate(names.split(), 1)]
        written = {"images": images, "annotations": boxes, "categories": categories}
        files = {f"{split}/{path.rsplit('/', 1)[1]}": data for path, data in files.items()}
        write_tree(root, {**files, f"annotations/instances_{split}.json": json.dumps(written)})
    return root


@pytest.mark.parametrize(("make", "options"), [(in_a_zip, []), (in_a_table, ["--label-column", "label"])])
def test_classes_in_archives_and_tables_get_other_names_too(make, options, tmp_path):
    source, output = make(tmp_path / "raw"), tmp_path / "out"
    renaming, _ = printed_calls(stopped("convert", source, output, *options))
    run_printed(renaming)
    assert labels_and_contents(output) == same("cat", "dog")


def test_classes_of_boxes_stop_with_the_names_that_are_meant(tmp_path):
    said = stopped("plan", in_coco(tmp_path), "--layout", "coco")
    assert "perhaps '0' is 'cat', '1' is 'dog'" in said
    assert [words[-2:] for words in printed_calls(said)] == [["--accept", "other_class_names"]]


def test_appended_images_do_not_bring_the_datasets_classes_under_other_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "raw", folders(old="cat dog"))
    convert("raw/old", "out")
    for number, names in enumerate(("Cat=cat Dog=dog", "0=cat 1=dog")):
        write_tree(tmp_path / f"more{number}", {f"{number}/{path}": data for path, data in folders(new=names).items()})
        renaming, accepting = printed_calls(stopped("append", "out", f"more{number}/{number}/new"))
        assert accepting[-2:] == ["--accept", "other_class_names"]
        if number == 0:
            run_printed(renaming)
    assert labels_and_contents("out") == same("cat", "dog")
    write_tree(tmp_path / "numbers", folders(new="7 8 9"))
    assert "none of the classes of SOURCE is a class of the dataset" in stopped("append", "out", "numbers/new")
    write_tree(tmp_path / "owls", folders(fresh="owl fox cat"))
    assert call("append", "out", "owls/fresh").exit_code == 0  # new classes are usual


def yolo(root, names, numbers):
    files = {f"images/{i}.png": picture(i, width=4, height=4) for i in range(len(numbers))}
    files |= {f"labels/{i}.txt": f"{number} 0.5 0.5 0.5 0.5\n" for i, number in enumerate(numbers)}
    return write_tree(root, {**files, "classes.txt": "".join(f"{name}\n" for name in names)})


def test_class_numbers_of_yolo_that_are_counted_from_1_stop(tmp_path):
    source = yolo(tmp_path, ["cat", "dog", "ant", "bee"], [1, 2, 3, 1, 2, 3])
    said = stopped("convert", source, tmp_path / "out")
    assert "1 is 'cat', 2 is 'dog', 3 is 'ant'" in said
    assert "subtract 1" in said
    [accepting] = printed_calls(said)
    run_printed(accepting)
    counts = json.loads((tmp_path / "out/manifest.json").read_text())["splits"]["train"]["class_counts"]
    assert counts == [0, 2, 2, 2]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["cat", "dog", "ant"], [0, 1, 2]),
        (["cat", "dog", "ant", "bee"], [1, 2, 1, 2]),  # of few images, any class may be missing
        (["__background__", "cat", "dog"], [1, 2, 1, 2]),
        (["cat", "dog"], [1, 1, 1]),
    ],
)
def test_other_class_numbers_of_yolo_are_usual(names, numbers, tmp_path):
    result = call("plan", yolo(tmp_path, names, numbers))
    assert result.exit_code == 0, result.output


def test_python_raises_the_same_with_the_argument_that_renames(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "data", folders(train="Cat dog", val="cat=Cat dog"))
    with pytest.raises(CallError, match="they differ only in writing") as raised:
        shardkit.convert("data", "out")
    renaming, accepting = (line.partition("#")[0].strip() for line in str(raised.value).splitlines()[1:])
    assert accepting == "accept=['other_class_names']"
    keyword, _, written = renaming.partition("=")
    assert keyword == "reading"
    shardkit.convert("data", "out", reading=ast.literal_eval(written))
    assert labels_and_contents("out") == same("Cat", "dog")
