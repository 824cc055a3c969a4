"""An export of one tool in train/ and another one in val/, whatever its file is called, are read together."""

import json

import pytest

from shardkit.sources.opening import open_source
from shardkit.testing import listed, picture, write_tree

NUM = 4  # images of a split
BOX = {"label": "cat", "coordinates": {"x": 3, "y": 3, "width": 4, "height": 4}}
REGION = {"shape_attributes": {"name": "rect", "x": 1, "y": 1, "width": 4, "height": 4}}
SHARES = {"x": 10, "y": 10, "width": 50, "height": 50, "rotation": 0, "rectanglelabels": ["cat"]}


def cvat(numbers):
    box = '<box label="cat" xtl="1" ytl="1" xbr="5" ybr="5"/>'
    images = (f'<image id="{n}" name="{n}.png" width="8" height="8">{box}</image>' for n in numbers)
    return f"<annotations><version>1.1</version>{''.join(images)}</annotations>"


def coco(numbers):
    images = [{"id": n, "file_name": f"{n}.png", "width": 8, "height": 8} for n in numbers]
    boxes = [
        {"id": n, "image_id": n, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0} for n in numbers
    ]
    return json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]})


def label_studio(numbers):
    size = {"original_width": 8, "original_height": 8}
    result = [{"type": "rectanglelabels", "from_name": "label", "to_name": "image", **size, "value": SHARES}]
    data = ({"id": n, "data": {"image": f"/data/upload/1/{n}.png"}} for n in numbers)
    return json.dumps([{**one, "annotations": [{"result": result}]} for one in data])


def via(numbers):
    region = {**REGION, "region_attributes": {"class": "cat"}}
    records = ({"filename": f"{n}.png", "size": 99, "regions": [region], "file_attributes": {}} for n in numbers)
    return json.dumps({f"{one['filename']}99": one for one in records})


def create_ml(numbers):
    return json.dumps([{"image": f"{n}.png", "annotations": [BOX]} for n in numbers])


EXPORTS = {
    "cvat": ("annotations.xml", cvat),
    "coco": ("result.json", coco),
    "label studio": ("project-1.json", label_studio),
    "via": ("via_project.json", via),
    "create ml": ("export.json", create_ml),
}


@pytest.mark.parametrize("place", ["", "images/"])
@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_in_each_split_gives_the_boxes_of_its_images(name, place, tmp_path):
    file, text = EXPORTS[name]
    files = {}
    for split, numbers in (("train", range(NUM)), ("val", range(NUM, 2 * NUM))):
        files |= {f"{split}/{place}{n}.png": picture(n, width=8, height=8) for n in numbers}
        files[f"{split}/{file}"] = text(numbers)
    rows = listed(open_source(str(write_tree(tmp_path, files)))).table.to_pylist()
    assert [row["reason"] for row in rows] == [None] * 2 * NUM
    assert sorted(row["split"] for row in rows) == ["train"] * NUM + ["validation"] * NUM
    assert all([one["label_name"] for one in row["objects"]] == ["cat"] for row in rows)
