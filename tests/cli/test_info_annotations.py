"""What `info` says of boxes, masks, numbers and several labels, compared with the annotations that were written."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from shardkit.cli.printing import dataset_summary
from shardkit.testing import picture, write_tree

from .calling import call, convert


def rows(shown, head):
    """The rows of the table whose head begins so, as lists of words."""
    _, _, below = shown.partition(f"\n{head}")
    lines = below.split("\n\n")[0].splitlines()[2:]
    return {words[0]: words[1:] for line in lines if (words := line.split())}


def coco(boxes_of):
    """COCO JSON of images 0.png … with these categories of boxes each."""
    annotations = [
        {"id": 10 * i + j, "image_id": i, "category_id": category, "bbox": [j, j, 3, 3], "area": 9, "iscrowd": 0}
        for i, categories in enumerate(boxes_of)
        for j, category in enumerate(categories)
    ]
    return json.dumps(
        {
            "images": [{"id": i, "file_name": f"{i}.png", "width": 8, "height": 8} for i in range(len(boxes_of))],
            "annotations": annotations,
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}, {"id": 3, "name": "eel"}],
        }
    ).encode()


BOXES = [[1, 1, 1, 2], [1], [2, 2], [], [1, 2], []]


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    images = {f"source/{i}.png": picture(i) for i in range(len(BOXES))}
    write_tree(folder, {**images, "source/instances.json": coco(BOXES)})
    convert(folder / "source" / "instances.json", folder / "out", "--shards", "2")
    return folder / "out"


def test_boxes_are_counted_per_class_and_per_image(boxes):
    shown = call("info", boxes).stdout
    assert rows(shown, "images with") == {"'cat'": ["3"], "'dog'": ["3"], "'eel'": ["0"]}
    assert "\nimages without boxes: 2\n" in shown
    assert "boxes, counted in all 6 images:" in shown
    # images, boxes, fewest, median and most in an image that has some
    table = shown[shown.index("boxes, counted") :]
    found = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.startswith(("'", "all"))}
    assert found == {
        "'cat'": ["3", "5", "1", "1", "3"],
        "'dog'": ["3", "4", "1", "1", "2"],
        "all": ["6", "9", "0", "1", "4"],
    }


def test_a_large_dataset_is_sampled_and_says_so(boxes, monkeypatch):
    monkeypatch.setattr(dataset_summary, "SAMPLE", 3)
    shown = call("info", boxes).stdout
    assert "boxes, counted in 3 evenly spaced of 6 images:" in shown
    assert "\nimages without boxes: 2\n" in shown, "exact, from the indexes"


def test_the_values_of_masks_and_their_share_of_pixels_are_shown(tmp_path):
    files = {f"source/images/{i}.png": picture(i) for i in range(3)}
    write_tree(tmp_path, files)
    (tmp_path / "source" / "masks").mkdir()
    for i, value in enumerate((1, 1, 7)):
        mask = np.zeros((8, 8), np.uint8)
        mask[:2] = value
        Image.fromarray(mask).save(tmp_path / "source" / "masks" / f"{i}.png")
    convert(tmp_path / "source", tmp_path / "out")
    shown = call("info", tmp_path / "out").stdout
    assert "values of the masks, counted in all 3 images:" in shown
    assert rows(shown, "mask value") == {"0": ["3", "75.00%"], "1": ["2", "16.67%"], "7": ["1", "8.33%"]}

    shard = tmp_path / "out" / "train-00000-of-00001.tfrecord"
    data = shard.read_bytes()
    shard.write_bytes(data.replace(b"IDAT", b"IDOT"))
    result = call("info", tmp_path / "out")
    assert result.exit_code == 1
    assert "The mask is bad" in result.stderr


def test_range_and_quantiles_of_numbers_are_shown(tmp_path):
    table = "image,value\n" + "".join(f"{i}.png,{i / 4}\n" for i in range(9))
    write_tree(tmp_path, {f"{i}.png": picture(i) for i in range(9)} | {"table.csv": table.encode()})
    convert(tmp_path / "table.csv", tmp_path / "out", "--label-column", "value", "--label-type", "number")
    shown = call("info", tmp_path / "out").stdout
    assert "range and quantiles, counted in all 9 images:" in shown
    assert rows(shown, "label") == {"number": ["0", "0.5", "1", "1.5", "2"]}


def test_labels_per_image_are_shown_if_there_may_be_several(tmp_path):
    labels = [["a"], ["a", "b", "c"], [], ["b", "c"]]
    lines = "".join(json.dumps({"image": f"{i}.png", "label": names}) + "\n" for i, names in enumerate(labels))
    write_tree(tmp_path, {f"{i}.png": picture(i) for i in range(4)} | {"table.jsonl": lines.encode()})
    convert(tmp_path / "table.jsonl", tmp_path / "out")
    shown = call("info", tmp_path / "out").stdout
    assert rows(shown, "images with") == {"'a'": ["2"], "'b'": ["2"], "'c'": ["2"]}
    assert "\nimages without labels: 1\nlabels per image: 0 to 3, median 1\n" in shown


def test_a_damaged_annotation_is_an_error_with_the_shard(boxes, tmp_path):
    copy = shutil.copytree(boxes, tmp_path / "copy")
    shard = copy / "train-00000-of-00002.tfrecord"
    shard.write_bytes(b"\xff" * shard.stat().st_size)
    result = call("info", copy)
    assert result.exit_code == 1
    assert f"{shard}: " in result.stderr
    assert "shardkit verify" in result.stderr
    shard.unlink()
    assert f"{shard}: the shard is missing" in call("info", copy).stderr
