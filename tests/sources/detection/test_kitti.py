import pytest

from shardkit.errors import DataError
from shardkit.sources.formats.box_lines import KITTI
from shardkit.testing import listed, opened, read_source, write_tree

# The example of KITTI's own readme, and a region of its devkit. The folders are those of data_object_image_2.zip and
# data_object_label_2.zip, which torchvision.datasets.Kitti and TFDS' kitti read.
LINE = "Pedestrian 0.00 0 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01"
CAR = "Car 0.30 2 1.55 1.00 2.00 30.50 40.25 1.6 1.5 3.2 -1 1.2 10 1.5"
IGNORED = "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10"
OWN = {
    "training/image_2/000000.png": b"x",
    "training/label_2/000000.txt": f"{LINE}\n".encode(),
    "training/image_2/000001.png": b"x",
    "training/label_2/000001.txt": f"{CAR}\n{IGNORED}\n{LINE}\n".encode(),
    "testing/image_2/000000.png": b"x",
}
PEDESTRIAN = ("Pedestrian", 143, 712.4, 307.92, 810.73)


def test_objects_are_listed_and_regions_without_labels_left_out(tmp_path):
    source = opened(write_tree(tmp_path / "s", OWN))
    found = listed(source)
    assert found.boxes == {
        "training/image_2/000000.png": [PEDESTRIAN],
        "training/image_2/000001.png": [("Car", 2, 1, 40.25, 30.5), PEDESTRIAN],
    }
    # KITTI has labels for one split only, so the user can divide it.
    assert {row["split"] for row in found.rows} == {None}
    car = found.rows[1]["objects"][0]
    assert (car["occluded"], round(car["truncated"], 4), round(car["alpha"], 4), car["name"]) == (
        2,
        0.3,
        1.55,
        "line 1",
    )
    assert found.skipped == {"DontCare regions": 1, "image in testing/ that no annotation names": 1}
    assert "DontCare regions and 3D values are left out" in source.describe()


def test_the_archives_may_be_unpacked_one_by_one_and_other_tools_have_images_and_labels(tmp_path):
    label = f"{LINE}\n".encode()
    apart = {
        "data_object_image_2/training/image_2/0.png": b"x",
        "data_object_label_2/training/label_2/0.txt": label,
    }
    found = read_source(write_tree(tmp_path / "apart", apart))
    assert found.boxes == {"data_object_image_2/training/image_2/0.png": [PEDESTRIAN]}
    of_splits = {
        f"{split}/{path}": data
        for split in ("train", "val")
        for path, data in {"images/0.jpg": b"x", "labels/0.txt": label}.items()
    }
    found = read_source(write_tree(tmp_path / "splits", of_splits))
    assert {(row["key"], row["split"]) for row in found.rows} == {
        ("train/images/0.jpg", "train"),
        ("val/images/0.jpg", "validation"),
    }


# name: content of a label file, and the keys and reasons of the problems
BAD_FILES = {
    "a field is missing": (CAR.rpartition(" ")[0], [("label_2/1.txt, line 1", "bad_annotation")]),
    "a word for a number": (CAR.replace("30.50", "wide"), [("label_2/1.txt, line 1", "bad_annotation")]),
    "infinity": (CAR.replace("30.50", "1e999"), [("label_2/1.txt, line 1", "bad_annotation")]),
    "empty": ("", []),
    "none": (None, [("image_2/1.png", "no_label")]),
}


@pytest.mark.parametrize(("content", "wanted"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_label_file_is_reported(content, wanted, tmp_path):
    files = {"image_2/0.png": b"x", "label_2/0.txt": LINE.encode(), "image_2/1.png": b"x"}
    if content is not None:
        files["label_2/1.txt"] = content.encode()
    found = read_source(write_tree(tmp_path / "s", files))
    assert found.problems == wanted
    assert found.boxes["image_2/0.png"] == [PEDESTRIAN]
    assert found.boxes.get("image_2/1.png", []) == []


def test_labels_of_yolo_are_not_of_kitti(tmp_path):
    assert KITTI.sniff(LINE.encode())
    assert KITTI.sniff(f"{LINE} 0.9".encode())
    assert not KITTI.sniff(b"0 0.5 0.5 0.1 0.1")
    assert not KITTI.sniff(b"1 " * 15)
    files = {"images/0.jpg": b"x", "labels/0.txt": b"0 .5 .5 .1 .1", "classes.txt": b"cat\n"}
    root = write_tree(tmp_path / "s", files)
    assert opened(root).layout == "YOLO"
    with pytest.raises(DataError, match="there are no object labels of KITTI; searched for training/label_2"):
        opened(root, layout="kitti")
