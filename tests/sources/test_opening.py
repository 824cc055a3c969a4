import os
import subprocess
import sys

import pytest

from shardkit.errors import CallError, DataError
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.given import given_reading
from shardkit.sources.recognising.wrapped_source import innermost
from shardkit.storage import LocalFolder, open_folder
from shardkit.testing import listed, picture, read_source, write_archive, write_tree


@pytest.mark.parametrize(
    ("output", "excluded"),
    [
        ("source/out", "out"),
        ("source/cat/out", "cat/out"),
        ("source/", None),
        ("out", None),
        ("source2", None),  # begins alike
        (".", None),
        ("link/out", "out"),  # the same folder by another name
        ("source/../source/out", "out"),
    ],
)
def test_the_output_is_excluded_where_it_lies_inside_the_source(output, excluded, tmp_path):
    root = write_tree(tmp_path / "source", {"cat/1.jpg": b"x", "dog/2.jpg": b"x"})
    (tmp_path / "link").symlink_to(root)
    source = open_source(str(root), output=open_folder(f"{tmp_path}/{output}"))
    assert innermost(source).images.excluded == excluded


def test_without_an_output_nothing_is_excluded(tmp_path):
    root = write_tree(tmp_path, {"cat/1.jpg": b"x", "dog/2.jpg": b"x"})
    assert innermost(open_source(str(root))).images.excluded is None


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CallError, match=r"/no: there is no such file or folder"):
        open_source(f"{tmp_path}/no")


def test_a_source_that_is_a_file_is_named(tmp_path):
    write_tree(tmp_path, {"photos.rar": b"x"})
    with pytest.raises(
        DataError, match=r"/photos\.rar: shardkit does not know how to read this file; SOURCE is a folder"
    ):
        open_source(f"{tmp_path}/photos.rar")


def test_no_folder_is_listed_twice_while_a_source_is_recognised(tmp_path, monkeypatch):
    root = write_tree(tmp_path, {"cat/1.jpg": b"x", "dog/2.jpg": b"x", "labels.csv": b"image,label\n1.jpg,cat\n"})
    listed = []
    scan = LocalFolder.scan
    monkeypatch.setattr(LocalFolder, "scan", lambda folder, path="": listed.append(path) or scan(folder, path))
    open_source(str(root), SourceOptions(layout="class-folders"))
    assert sorted(listed) == sorted(set(listed))
    (root / "eel").mkdir()
    write_tree(root, {"eel/3.jpg": b"x"})
    assert {row["label_name"] for row in read_source(root, layout="class-folders").rows} == {"cat", "dog", "eel"}


def test_root_is_taken_for_yolo_and_the_label_key_for_webdataset(tmp_path):
    yaml = b"names: [cat]\ntrain: images\n"
    images = {"images/1.jpg": b"x", "labels/1.txt": b"0 .5 .5 .1 .1"}
    root = write_tree(tmp_path, {"yaml/data.yaml": yaml, **{f"data/{path}": data for path, data in images.items()}})
    source = open_source(str(root / "yaml"), SourceOptions(root=str(root / "data")))
    assert source.folder.url == str(root / "data")
    write_archive(root / "train.tar", {"1.jpg": b"x", "1.json": b'{"kind": "cat"}'})
    rows = read_source(root / "train.tar", label_columns=("kind",)).rows
    assert [row["label_name"] for row in rows] == ["cat"]


# what a tree holds, and what the refusal names
CLASSES = {
    "a class among many is called masks": ["hats/1.jpg", "masks/2.jpg", "shoes/3.jpg", "socks/4.jpg"],
    "masks worn and not": ["mask/1.jpg", "no_mask/2.jpg"],
    "masks worn, by with": ["with_mask/1.jpg", "without_mask/2.jpg"],
    "a folder of images in each class": ["cat/images/1.jpg", "dog/images/2.jpg"],
    "a note in a class": ["cat/1.jpg", "cat/2.jpg", "cat/3.jpg", "cat/1.txt", "dog/4.jpg"],
    "other text files in a class": ["cat/1.jpg", "cat/a.txt", "cat/b.json", "dog/2.jpg"],
}


@pytest.mark.parametrize("paths", CLASSES.values(), ids=CLASSES.keys())
def test_classes_with_such_names_or_files_are_still_class_folders(paths, tmp_path):
    assert open_source(str(write_tree(tmp_path, dict.fromkeys(paths, b"x")))).layout == "class folders"


SHOW_READINGS = """
import json, sys
from shardkit.refusals import UnclearError
from shardkit.sources.opening import open_source
from shardkit.sources.readings.text import to_data
for url in sys.argv[1:]:
    try:
        print(json.dumps(to_data(open_source(url).reading)))
    except UnclearError as error:
        print(json.dumps(error.readings))
"""


def test_a_reading_is_written_the_same_in_every_process(tmp_path):
    names = [f"{label}/{n}.png" for label in ("cat", "dog") for n in range(6)]
    rows = [f"{name},{('Train', 'Dev', 'Test')[n % 3]}\n" for n, name in enumerate(names)]
    pairs = [
        f"{split}crop/{n}.{kind}" for split in ("train", "val", "test") for n in range(3) for kind in ("jpg", "png")
    ]
    urls = [
        str(
            write_tree(tmp_path / "table", dict.fromkeys(names, picture(1)) | {"t.csv": "image,set\n" + "".join(rows)})
        ),
        str(write_tree(tmp_path / "masks", dict.fromkeys(pairs, picture(1)))),
    ]
    said = {
        subprocess.run(
            [sys.executable, "-c", SHOW_READINGS, *urls],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_a_column_of_tables_that_a_glob_names_is_not_left_out(tmp_path):
    tables = {f"csv/{one}.csv": f"file,dx\n{one}/0.jpg,a\n{one}/1.jpg,b\n".encode() for one in "xy"}
    write_tree(tmp_path, tables | {f"{one}/{n}.jpg": b"x" for one in "xy" for n in range(2)})
    reading = given_reading({"label": "csv/*.csv:dx"})
    said = open_source(str(tmp_path), SourceOptions(reading=reading)).describe()
    assert said.endswith("the image from column 'file'; the class from column 'dx'")


TABLE = "image,label\n" + "".join(f"{name}/{n}.jpg,{name}\n" for name in ("cat", "dog") for n in range(2))


@pytest.mark.parametrize("name", ["pets", "pets.zip", "pets.tar", "pets.tar.gz", "labels.csv"])
def test_a_source_in_the_current_folder_may_be_given_by_its_name(name, tmp_path, monkeypatch):
    files = {f"{label}/{n}.jpg": picture(2 * n + of) for of, label in enumerate(("cat", "dog")) for n in range(2)}
    if name == "labels.csv":
        write_tree(tmp_path, files | {name: TABLE})
    else:
        (write_archive if "." in name else write_tree)(tmp_path / name, files)
    monkeypatch.chdir(tmp_path)
    assert len(listed(open_source(name, work=open_folder(f"{tmp_path}/work"))).good) == 4
