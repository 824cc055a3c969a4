import pytest

from shardkit.errors import CallError
from shardkit.testing import opened, read_source

from .tree_sources import KINDS, made

# The paths of a source, and the split of each image.
TREES = {
    "flat": (["1.jpg", "2.png"], {"1.jpg": None, "2.png": None}),
    "any tree": (["a/b/1.jpg", "c/2.jpg", "3.jpg"], {"a/b/1.jpg": None, "c/2.jpg": None, "3.jpg": None}),
    "splits": (
        ["train/cat/1.jpg", "Test_set/2.jpg"],
        {"train/cat/1.jpg": "train", "Test_set/2.jpg": "test"},
    ),
    "splits and an unlabelled folder": (
        ["train_images/1.png", "test_images/2.png", "unlabeled_images/3.png"],
        {"train_images/1.png": "train", "test_images/2.png": "test", "unlabeled_images/3.png": "unlabelled"},
    ),
    "a folder around splits": (
        ["data/train/1.jpg", "data/test/2.jpg"],
        {"train/1.jpg": "train", "test/2.jpg": "test"},
    ),
    "a folder of trains": (["train/1.jpg", "bus/2.jpg"], {"train/1.jpg": None, "bus/2.jpg": None}),
    "a table and annotations": (["labels.csv", "1.jpg", "1.xml"], {"1.jpg": None}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "splits"), TREES.values(), ids=TREES.keys())
def test_every_image_of_any_tree_is_listed_without_a_label(files, splits, kind, tmp_path):
    found = read_source(made(tmp_path, kind, files), layout="unlabelled")
    assert found.source.layout == "unlabelled images"
    assert {row["key"]: row["split"] for row in found.rows} == splits
    assert {(row["label_name"], row["reason"]) for row in found.rows} == {(None, None)}


def test_images_outside_split_folders_and_other_formats_are_rejected(tmp_path):
    url = made(tmp_path, "folder", ["train/1.jpg", "test/2.jpg", "other/3.jpg", "4.jpg", "train/5.svg", "train/6.txt"])
    assert dict(read_source(url, layout="unlabelled").problems) == {
        "other/3.jpg": "bad_split",
        "4.jpg": "bad_split",
        "train/5.svg": "unsupported_format",
    }


def test_options_for_labels_are_refused(tmp_path):
    with pytest.raises(CallError, match="label_columns has no effect on the layout unlabelled"):
        opened(made(tmp_path, "folder", ["1.jpg"]), layout="unlabelled", label_columns=("label",))


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CallError, match="the folder is empty"):
        opened(tmp_path / "empty", layout="unlabelled")
