"""Exports next to each other that do not fit together are a question."""

import pytest

from shardkit.refusals import UnclearError
from shardkit.sources.opening import open_source
from shardkit.testing import write_tree

from ..recognising.test_uniting import coco, jpeg

BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"


def voc(above, seed=0):
    xml = f"<annotation><object><name>cat</name>{BOX}</object></annotation>"
    return {f"{above}/JPEGImages/1.jpg": jpeg(seed), f"{above}/Annotations/1.xml": xml}


DIFFERENT = {
    "other layouts": ({**coco("train"), **voc("test", 5)}, "test/Annotations/1.xml names 1 of 3 images"),
    "one number, two classes": (
        {**coco("train"), **coco("test", 5, names=("dog", "cat"))},
        "the files have different category ids, and classes are those of the same name",
    ),
    "another split inside": (
        {**coco("train", name="instances_val.json"), **coco("test", 5)},
        "train/annotations/instances_val.json would be validation, and train/ is called like another split",
    ),
    "names that may mean splits": (
        {**voc("VOCtrainval"), **voc("VOCtest", 5)},
        "the folders VOCtest, VOCtrainval mean something",
    ),
}


@pytest.mark.parametrize(("files", "said"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_folders_that_disagree_are_a_question(files, said, tmp_path):
    with pytest.raises(UnclearError, match=said):
        open_source(str(write_tree(tmp_path / "source", files)))


def test_folders_that_agree_are_none(tmp_path):
    source = open_source(str(write_tree(tmp_path / "source", {**coco("train"), **coco("test", 5)})))
    assert source.layout == "COCO"
