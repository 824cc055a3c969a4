"""COCO files whose paths begin with folders that are not here."""

import json

import pytest

from shardkit.sources.recognising.detection.coco import is_coco
from shardkit.storage import open_folder
from shardkit.testing import read_source, write_tree

CATEGORIES = [{"id": 1, "name": "cat"}]


def document(*names):
    images = [{"id": number, "file_name": name} for number, name in enumerate(names)]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [1, 1, 4, 4]} for n in range(len(names))]
    return json.dumps({"images": images, "annotations": boxes, "categories": CATEGORIES}).encode()


def read(tmp_path, documents, images):
    files = {f"annotations/{name}.json": data for name, data in documents.items()}
    return read_source(write_tree(tmp_path / "s", {**files, **dict.fromkeys(images, b"x")})).rows


def reasons(rows):
    return {row["key"].removeprefix("annotations/"): row["reason"] for row in rows}


def test_the_last_folder_and_the_name_find_an_image(tmp_path):
    documents = {
        "a_train": document("images/v1/patch8/1.jpg", "images/v2/patch9/1.jpg"),
        "a_val": document("images/v1/patch8/1.jpg"),
    }
    rows = read(tmp_path, documents, ["train/patch8/1.jpg", "train/patch9/1.jpg", "val/patch8/1.jpg"])
    # The split in a file's name decides between images of one path.
    assert {row["key"]: row["split"] for row in rows if not row["reason"]} == {
        "train/patch8/1.jpg": "train",
        "train/patch9/1.jpg": "train",
        "val/patch8/1.jpg": "validation",
    }


@pytest.mark.parametrize(
    ("images", "key"),
    [
        (["train/patch8/1.jpg", "val/patch8/2.jpg"], "train/patch8/2.jpg"),  # of another split
        (["train/patch8/1.jpg", "train/patch9/2.jpg"], "train/patch8/2.jpg"),  # of another folder
    ],
)
def test_an_image_of_the_same_name_is_not_taken_for_a_missing_one(images, key, tmp_path):
    documents = {"a_train": document("images/v1/patch8/1.jpg", "images/v1/patch8/2.jpg")}
    found = reasons(read(tmp_path, documents, images))
    assert found["train/patch8/1.jpg"] is None
    assert found[key] == "missing"
    assert images[1] not in found


def test_files_in_a_folder_without_images_are_read_if_it_is_the_only_one(tmp_path):
    files = {"lvis/lvis_v1_train.json": document("train2017/1.jpg"), "coco/train2017/1.jpg": b"x"}
    (row,) = read_source(write_tree(tmp_path / "s", files)).rows
    assert (row["key"], row["split"]) == ("coco/train2017/1.jpg", "train")
    more = {"other/more.json": document("train2017/1.jpg")}
    assert not is_coco(open_folder(str(write_tree(tmp_path / "more", files | more))))


def test_a_file_is_of_the_folder_that_it_is_called_like_though_others_have_images_of_the_same_names(tmp_path):
    rows = read(
        tmp_path,
        {day: document("1.jpg", "2.jpg") for day in ("day1", "day2")},
        [f"{day}/{n}.jpg" for day in ("day1", "day2") for n in (1, 2)],
    )
    assert {row["key"]: row["reason"] for row in rows} == dict.fromkeys(
        ["day1/1.jpg", "day1/2.jpg", "day2/1.jpg", "day2/2.jpg"]
    )
