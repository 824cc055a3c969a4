"""Folders that are each a complete dataset of boxes or masks are one source, from the command line on."""

import json

import numpy as np
from PIL import Image

from shardkit import open as open_dataset
from shardkit import read_manifest
from shardkit.testing import encoded, picture, write_tree

from ...cli.calling import call

SIDE = 20  # pixels of the pictures


def jpeg(seed):
    return picture(seed, width=SIDE, height=SIDE, kind="JPEG")


def coco(above, seed=0, name="instances_default.json", names=("cat", "dog")):
    """An export of COCO: a cat and a dog, whose files have the same names in each export."""
    boxes = [{"id": i, "image_id": i, "category_id": i, "bbox": [2, 3, 8, 9], "area": 72, "iscrowd": 0} for i in (1, 2)]
    images = [{"id": i, "file_name": f"{i}.jpg", "width": SIDE, "height": SIDE} for i in (1, 2)]
    categories = [{"id": i, "name": one} for i, one in enumerate(names, 1)]
    text = json.dumps({"images": images, "annotations": boxes, "categories": categories})
    pictures = {f"{above}/images/{i}.jpg": jpeg(seed + i) for i in (1, 2)}
    return {f"{above}/annotations/{name}": text, **pictures}


def yolo(above, seed, names):
    """A picture of a dog, whose class number depends on the order of the names."""
    files = {f"{above}/images/1.jpg": jpeg(seed), f"{above}/classes.txt": "\n".join(names)}
    return {**files, f"{above}/labels/1.txt": f"{names.index('dog')} 0.5 0.5 0.2 0.2\n"}


def keys(dataset):
    splits = read_manifest(dataset).splits
    return {split: sorted(one.key for one in open_dataset(str(dataset), split)) for split in splits}


def test_each_folder_of_splits_is_read_on_its_own(tmp_path):
    write_tree(tmp_path, {**coco("a/train"), **coco("a/test", 10), "a/README.md": "Two exports.", "a/get.sh": "wget"})
    result = call("convert", tmp_path / "a", tmp_path / "out", "--ignore", "/test/images/2.jpg", "--max-rejected", "1")
    assert result.exit_code == 0, result.stderr
    assert f"{tmp_path}/a: read as COCO: boxes from test/annotations/" in result.stderr
    assert keys(tmp_path / "out") == {
        "train": ["train/images/1.jpg", "train/images/2.jpg"],
        "test": ["test/images/1.jpg"],
    }
    assert read_manifest(tmp_path / "out").classes == ["cat", "dog"]


def test_splits_with_files_of_their_own_are_read_below_a_folder_around_them(tmp_path):
    colours = np.array([[64, 128, 64], [192, 0, 128]], np.uint8)
    mask = encoded(Image.fromarray(colours[np.arange(SIDE * SIDE).reshape(SIDE, SIDE) // 40 % 2]), "PNG")
    for i, split in enumerate(("train", "test")):
        files = {"class_dict.csv": "name,r,g,b\ncat,64,128,64\ndog,192,0,128\n", "masks/1.png": mask}
        write_tree(tmp_path / "source/download" / split, {**files, "images/1.jpg": jpeg(i)})
    result = call("convert", tmp_path / "source", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert keys(tmp_path / "out") == {"train": ["train/images/1.jpg"], "test": ["test/images/1.jpg"]}
    assert read_manifest(tmp_path / "out").classes == ["cat", "dog"]
    assert "palette: download/test/class_dict.csv" in call("info", tmp_path / "out", "--reading").stdout
    other = {"download/train/class_dict.csv": b"name,r,g,b\ndog,64,128,64\ncat,192,0,128\n"}
    refused = call("convert", write_tree(tmp_path / "source", other), tmp_path / "other")
    assert refused.exit_code == 1
    assert "test/class_dict.csv names classes, and is not used: train/class_dict.csv names others" in refused.stderr


def test_several_exports_are_one_dataset(tmp_path):
    write_tree(tmp_path, {**coco("home"), **coco("street", 10)})
    result = call("convert", tmp_path / "home", tmp_path / "street", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    wanted = sorted(f"{above}/images/{i}.jpg" for above in ("home", "street") for i in (1, 2))
    assert keys(tmp_path / "out") == {"train": wanted}


def test_a_list_of_classes_may_grow(tmp_path):
    write_tree(tmp_path, {**yolo("a/train", 1, ("cat", "dog", "cow")), **yolo("a/test", 2, ("cat", "dog"))})
    planned = call("plan", tmp_path / "a", "--json", "--max-rejected", "1")
    assert json.loads(planned.stdout)["classes"] == ["cat", "dog", "cow"], planned.stderr
