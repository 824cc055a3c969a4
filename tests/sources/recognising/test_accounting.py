"""Every file that names images is used, or a claim says why not; lists of splits are laid over other labels."""

import json
import pickle
import re
import sqlite3

import pytest
from PIL import Image

from shardkit.errors import CallError, DataError
from shardkit.sources.opening import open_source
from shardkit.testing import encoded, write_tree
from shardkit.testing.refusals import command_text

from ...cli.calling import call
from ..folders.tree_sources import read

X = b"content"
IMAGES = {f"data/{label}/{label}{i}.jpg": X for label in ("cat", "dog") for i in range(4)}
TRAIN = "cat0.jpg\ncat1.jpg\ndog0.jpg\ndog1.jpg\n"


def made(tmp_path, files):
    write_tree(tmp_path / "source", IMAGES | {name: text.encode() for name, text in files.items()})
    return str(tmp_path / "source")


def splits(url, **options):
    return {key.rpartition("/")[2]: split for key, (split, _) in read(url, **options)[1].items()}


def test_lists_of_splits_are_laid_over_class_folders(tmp_path):
    url = made(tmp_path, {"train.txt": TRAIN, "val_list.txt": "cat2.jpg\ndog2.jpg\n"})
    layout, good, bad, skipped = read(url)
    assert (layout, bad) == ("class folders", {})
    assert skipped["images that no list of splits names"] == 2
    assert good["dog/dog2.jpg"] == ("validation", "dog")
    assert sorted(split for split, _ in good.values()) == ["train"] * 4 + ["validation"] * 2
    assert "split from train.txt=train,val_list.txt=validation" in open_source(url).describe()


def test_names_alone_are_found_in_class_folders_beside_the_lists(tmp_path):
    write_tree(tmp_path, {path.removeprefix("data/"): X for path in IMAGES} | {"train.txt": TRAIN.encode()})
    write_tree(tmp_path, {"test.txt": b"cat2.jpg\ncat3.jpg\ndog2.jpg\ndog3.jpg\n"})
    assert sorted(splits(str(tmp_path)).values()) == ["test"] * 4 + ["train"] * 4


def test_without_a_list_for_training_all_other_images_are_for_it(tmp_path):
    url = made(tmp_path, {"test.txt": "cat2.jpg\ndog2.jpg\n"})
    assert sorted(splits(url).values()) == ["test"] * 2 + ["train"] * 6
    assert "train for all other images" in open_source(url).describe()


def test_an_image_in_two_splits_stops(tmp_path):
    with pytest.raises(
        DataError, match=r"train.txt, line 4: 'dog1.jpg' is in test.txt, too \(line 1\); leave it in one"
    ):
        read(made(tmp_path, {"train.txt": TRAIN, "test.txt": "dog1.jpg\ncat3.jpg\n"}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("splits.csv", "image,split\n" + "".join(f"{path},val\n" for path in IMAGES).replace("val", "train", 5)),
        ("parts.csv", "image,is_train\n" + "".join(f"{path},0\n" for path in IMAGES).replace(",0", ",1", 5)),
        ("flags.csv", "image,is_valid\n" + "".join(f"{path},True\n" for path in IMAGES).replace("True", "False", 5)),
        ("flags.csv", "image,is_test\n" + "".join(f"{path},1\n" for path in IMAGES).replace(",1", ",0", 5)),
        ("splits.json", json.dumps({"train": [*IMAGES][:5], "val": [*IMAGES][5:]})),
        ("split.txt", "8\nimage_name status\n" + "".join(f"C:\\x\\{path} train\n" for path in IMAGES)),
    ],
)
def test_a_column_or_member_gives_the_splits(name, text, tmp_path):
    if name == "split.txt":
        text = text.replace("train", "val").replace("val", "train", 5)
    found = splits(made(tmp_path, {name: text}))
    assert sorted(found.values()) in (["test"] * 3 + ["train"] * 5, ["train"] * 5 + ["validation"] * 3)


def test_a_column_of_splits_counts_beside_other_columns_and_after_many_rows_of_one_split(tmp_path):
    # As of WikiArt: the genre repeats the folders, the artist may be a label, and the first 200 rows are for training.
    paths = [f"data/{label}/{i:03}.jpg" for label in ("Pop_Art", "Rococo") for i in range(120)]
    paths.sort(key=lambda path: path.endswith("9.jpg"))
    rows = [f"{path},a{i % 3},{path.split('/')[1]},{'test' if i >= 216 else 'train'}" for i, path in enumerate(paths)]
    table = "\n".join(["filename,artist,genre,subset", *rows])
    write_tree(tmp_path, dict.fromkeys(paths, X) | {"data/classes.csv": table.encode()})
    _, good, _, _ = read(str(tmp_path))
    assert {label for _, label in good.values()} == {"Pop_Art", "Rococo"}
    assert sorted(key.rpartition("/")[2] for key, (split, _) in good.items() if split == "test") == sorted(
        path.rpartition("/")[2] for path in paths[216:]
    )


def test_folds_are_refused_with_a_command_for_each(tmp_path):
    lists = dict.fromkeys(("train1.txt", "train2.txt"), TRAIN) | dict.fromkeys(("val1.txt", "val2.txt"), "cat2.jpg\n")
    url = made(tmp_path, lists)
    with pytest.raises(CallError, match="4 lists give splits") as error:
        open_source(url)
    text = command_text(error.value)
    assert "--ignore /train2.txt --ignore /val2.txt" in text
    assert set(splits(url, ignore=("/train2.txt", "/val2.txt")).values()) == {"train", "validation"}


def table(head, value):
    return "\n".join([head, *(f"{path},{value(path)}" for path in IMAGES)]).encode()


# A file that names images, and a word of why it is not used.
UNUSED = {
    "bad.txt": (b"data/cat/cat0.jpg\ndata/dog/dog1.jpg\n", "it has only names"),
    "folds.csv": (table("image,fold", lambda path: len(path) % 5), "from the folders"),
    "split.pkl": (pickle.dumps([*IMAGES]), r".pkl files are not read; write .* as a CSV file"),
    "notes.json": (json.dumps({"a": {"b": [{"c": path} for path in IMAGES]}}).encode(), "this JSON is no table"),
    "index.csv": (table("path,class", lambda path: path.split("/")[1]), "it repeats the names of the folders"),
}


@pytest.mark.parametrize("name", UNUSED)
def test_a_file_that_names_images_and_is_not_used_is_listed(name, tmp_path):
    data, why = UNUSED[name]
    url = made(tmp_path, {})
    (tmp_path / "source" / name).write_bytes(data)
    [claim] = open_source(url).claims
    assert (claim.path, claim.is_used, claim.num_images) == (name, False, 8)
    assert claim.num_named == (2 if name == "bad.txt" else 8)
    assert re.search(why, claim.why)


def test_a_database_is_listed_and_the_command_line_prints_it(tmp_path):
    root = tmp_path / "source"
    pictures = (encoded(Image.new("RGB", (4, 4), (number, 0, 0)), "PNG") for number in range(len(IMAGES)))
    write_tree(root, dict(zip(IMAGES, pictures, strict=True)))
    with sqlite3.connect(root / "labels.sqlite") as base:
        base.execute("create table images (name text, label text)")
        base.executemany("insert into images values (?, 'x')", [(path,) for path in IMAGES])
    done = call("plan", str(root))
    assert "labels.sqlite names 8 of 8 images by the path and is not used: .sqlite files are not read" in done.stderr
