import json

import pytest

from shardkit.errors import CallError, DataError
from shardkit.sources.claim import UsedFile
from shardkit.testing import listed, opened, read_source, write_tree
from shardkit.testing.refusals import command_text


# Keys and their order as labelme 5 writes them; see also examples/ in https://github.com/wkentaro/labelme
def labelme(name="a.jpg", *shapes, **more):
    record = {"version": "5.4.1", "flags": {}, "shapes": list(shapes), "imagePath": name, "imageData": None}
    return json.dumps({**record, "imageHeight": 60, "imageWidth": 80, **more}).encode()


def shape(kind, points, label="cat", group_id=None):
    return {"label": label, "points": points, "group_id": group_id, "description": "", "shape_type": kind, "flags": {}}


RECTANGLE = shape("rectangle", [[30.5, 40], [1, 2]])  # drawn from the lower right corner
BOX = ("cat", 2, 1, 40, 30.5)


def test_shapes_become_boxes(tmp_path):
    polygon = shape("polygon", [[5, 6], [9, 6.5], [7, 20]], "dog")
    circle = shape("circle", [[20, 30], [23, 34]], "ball")
    others = [
        shape("point", [[1, 1]]),
        shape("linestrip", [[1, 1], [5, 5]]),
        shape("rectangle", [[0, 0], [5, 5]], "__ignore__"),
    ]
    root = write_tree(tmp_path / "s", {"a.jpg": b"x", "a.json": labelme("a.jpg", RECTANGLE, polygon, circle, *others)})
    source = opened(root)
    found = listed(source)
    assert (source.layout, found.problems) == ("Labelme", [])
    assert found.boxes == {"a.jpg": [BOX, ("dog", 6, 5, 20, 9), ("ball", 25, 15, 35, 25)]}
    assert (found.rows[0]["annotated_width"], found.rows[0]["annotated_height"]) == (80, 60)
    assert [one["segmentation"] for one in found.rows[0]["objects"]] == ["", "[[5.0,6.0,9.0,6.5,7.0,20.0]]", ""]
    assert found.skipped == {"shapes without area (points, lines) or to be ignored": 3}
    assert "points and lines are left out" in source.describe()
    assert source.used_files == (UsedFile("*.json", "labels"),)


def test_shapes_of_one_group_are_one_object(tmp_path):
    # examples/instance_segmentation/labelme2coco.py joins shapes of one label and group_id.
    parts = [
        shape("polygon", [[0, 0], [4, 0], [4, 4]], group_id=1),
        shape("polygon", [[9, 9], [12, 9], [12, 15]], group_id=1),
    ]
    alone = shape("polygon", [[0, 0], [4, 0], [4, 5]], group_id=2)
    root = write_tree(tmp_path / "s", {"a.jpg": b"x", "a.json": labelme("a.jpg", *parts, alone)})
    found = read_source(root)
    assert found.boxes == {"a.jpg": [("cat", 0, 0, 15, 12), ("cat", 0, 0, 5, 4)]}
    assert len(json.loads(found.rows[0]["objects"][0]["segmentation"])) == 2


# name: path of the JSON, what it says, and where the image is
PLACES = {
    "next to it": ("a.json", "a.jpg", "a.jpg"),
    "in a folder of its own": ("json/a.json", "../images/a.jpg", "images/a.jpg"),
    "as Windows writes it": ("json/a.json", "..\\images\\a.jpg", "images/a.jpg"),
    "next to it, from another computer": ("a.json", "C:\\Users\\me\\a.jpg", "a.jpg"),
    "renamed": ("b.json", "a.jpg", "b.png"),
    "labels of a split": ("labels/train/a.json", "a.jpg", "images/train/a.jpg"),
    "split folders": ("train/a.json", "a.jpg", "train/a.jpg"),
    "upper case": ("a.json", "", "a.JPG"),
}


@pytest.mark.parametrize(("path", "said", "image"), PLACES.values(), ids=PLACES.keys())
def test_images_are_found_where_people_put_them(path, said, image, tmp_path):
    root = write_tree(
        tmp_path / "s", {path: labelme(said, RECTANGLE), image: b"x", "spare.jpg": b"x", "notes.txt": b""}
    )
    found = read_source(root)
    assert found.boxes == {image: [BOX]}
    row = next(row for row in found.rows if row["key"] == image)
    assert row["split"] == ("train" if "train/" in path else None)
    if "/" in image:  # another folder may hold images that nobody labels
        assert found.skipped == {".txt": 1, "image in the top folder that no annotation names": 1}
    else:
        assert (found.skipped, found.problems) == ({".txt": 1}, [("spare.jpg", "no_label")])


# name: the file, and the key and reason of the problem
BAD_FILES = {
    "a shape without label": (labelme("b.jpg", {"points": [[0, 0], [1, 1]]}), "b.json, shape 1", "bad_annotation"),
    "one point": (labelme("b.jpg", shape("rectangle", [[0, 0]])), "b.json, shape 1", "bad_box"),
    "two corners of a polygon": (labelme("b.jpg", shape("polygon", [[0, 0], [1, 1]])), "b.json, shape 1", "bad_box"),
    "no numbers": (labelme("b.jpg", shape("rectangle", [["x", 0], [1, 1]])), "b.json, shape 1", "bad_box"),
    "not a number": (labelme("b.jpg", shape("rectangle", [[float("nan"), 0], [1, 1]])), "b.json, shape 1", "bad_box"),
    "no JSON": (b'{"version": "5", "shapes": [', "b.jpg", "bad_annotation"),
    "a list": (b"[]", "b.jpg", "bad_annotation"),
    "nested": (b'{"shapes": ' + b"[" * 100_000, "b.jpg", "bad_annotation"),
    "flags only": (labelme("b.jpg", flags={"cat": True}), "b.jpg", "bad_annotation"),
    "no image": (labelme("c.jpg", RECTANGLE, imageData="QUJD"), "c.json", "missing"),
}


@pytest.mark.parametrize(("data", "key", "reason"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_reported_and_the_others_stay(data, key, reason, tmp_path):
    files = {"a.jpg": b"x", "a.json": labelme("a.jpg", RECTANGLE), "b.jpg": b"x"}
    name = "c.json" if key == "c.json" else "b.json"
    found = read_source(write_tree(tmp_path / "s", {**files, name: data}))
    others = [("b.jpg", "no_label")] if name == "c.json" else []
    assert sorted(found.problems) == sorted([(key, reason), *others])
    assert found.boxes["a.jpg"] == [BOX]
    assert found.boxes.get("b.jpg", []) == []


def test_no_path_leads_out_of_the_source(tmp_path):
    write_tree(tmp_path, {"secret/a.jpg": b"x"})
    found = read_source(write_tree(tmp_path / "s", {"a.json": labelme("../secret/a.jpg", RECTANGLE)}))
    assert found.problems == [("a.json", "missing")]


def test_files_among_the_images_of_classes_are_boxes_and_not_class_folders(tmp_path):
    files = {"cat/a.jpg": b"x", "cat/a.json": labelme("a.jpg", RECTANGLE), "dog/b.jpg": b"x"}
    assert opened(write_tree(tmp_path / "s", files)).layout == "Labelme"


def test_one_file_as_source_is_refused_with_its_folder(tmp_path):
    root = write_tree(tmp_path / "s", {"a.jpg": b"x", "a.json": labelme("a.jpg", RECTANGLE)})
    with pytest.raises(CallError, match=r"the file of one image \(Labelme\)") as refused:
        opened(root / "a.json")
    assert f"run:\n  shardkit convert {root} OUT" in command_text(refused.value)


def test_the_layout_is_refused_without_its_files(tmp_path):
    root = write_tree(tmp_path / "s", {"cat/a.jpg": b"x", "cat/a.json": b'{"label": "cat"}'})
    with pytest.raises(DataError, match="there is no file of Labelme"):
        opened(root, layout="labelme")


def test_flags_are_classes_if_no_file_has_shapes(tmp_path):
    flags = {"a": ["cat"], "b": ["dog", "__ignore__"]}
    files = {f"{name}.json": labelme(f"{name}.jpg", flags=dict.fromkeys(true, True)) for name, true in flags.items()}
    images = {f"{name}.jpg": b"x" for name in "abc"}
    nothing = {"c.json": labelme("c.jpg", flags={"cat": False})}
    source = opened(write_tree(tmp_path / "one", {**files, **images, **nothing}))
    found = listed(source)
    assert "one class per image of 'flags'" in source.describe()
    assert [row["label_name"] for row in found.rows] == ["cat", "dog", None]
    assert found.problems == [("c.jpg", "no_label")]
    both = {"c.json": labelme("c.jpg", flags={"cat": True, "dog": True})}
    rows = read_source(write_tree(tmp_path / "several", {**files, **images, **both})).rows
    assert [row["label_names"] for row in rows] == [["cat"], ["dog"], ["cat", "dog"]]
