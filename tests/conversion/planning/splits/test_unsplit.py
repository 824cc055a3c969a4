"""Sources of which one file names a split and another does not: rejected by name, whatever the layout."""

import io
import json
import tarfile

import pytest

from shardkit.options.groups import ConvertOptions
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.testing import picture, plan_without_beam, write_tree


def tar_of(numbers):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number in numbers:
            for name, data in ((f"{number}.png", picture(number)), (f"{number}.cls", b"cat")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def coco_of(numbers):
    images = [{"id": number, "file_name": f"{number}.png", "width": 8, "height": 8} for number in numbers]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [1, 1, 4, 4]} for n in numbers]
    content = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}
    return json.dumps(content).encode()


SOURCES = {
    "webdataset": ({"train-000.tar": tar_of([1, 2]), "extra-000.tar": tar_of([3])}, {}, "extra-000/3.png"),
    "coco": (
        {
            "annotations/instances_train2017.json": coco_of([1, 2]),
            "annotations/instances_extra.json": coco_of([3]),
            **{f"images/{n}.png": picture(n) for n in (1, 2, 3)},
        },
        {},
        "images/3.png",
    ),
    "file names": (
        {f"{name}.png": picture(i) for i, name in enumerate(["train-cat-1", "train-cat-2", "cat-3"])},
        {"label_pattern": r"(?:(?P<split>train|val)-)?(?P<label>cat)-"},
        "cat-3.png",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_has_no_split_is_rejected_where_other_images_have_one(name, tmp_path):
    files, options, key = SOURCES[name]
    source = open_source(str(write_tree(tmp_path, files)), SourceOptions(**options))
    plan = plan_without_beam(source, ConvertOptions())
    assert [(split.name, sum(split.shard_counts)) for split in plan.splits] == [("train", 2)]
    assert [(row["key"], row["reason"]) for row in plan.rejected.to_pylist()] == [(key, "bad_split")]
