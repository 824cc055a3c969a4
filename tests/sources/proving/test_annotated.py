"""Annotated images whose layout is not known are no class folders unless the user says so."""

import pytest

from shardkit.refusals import RefusalError
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.testing import write_tree

ANNOTATED = {
    "Oxford Pets": ["annotations/list.txt", "annotations/trimaps/1.png", "images/1.jpg"],
    "masks as JPEG": ["images/1.jpg", "masks/1.jpg"],
    "key points of COCO": ["annotations/person_keypoints_train.json", "train/1.jpg"],
    "ImageNet's boxes": ["Annotations/a/1.xml", "Data/a/1.jpg"],
    "Roboflow's CSV of boxes": ["train/1.jpg", "train/_annotations.csv", "valid/2.jpg", "valid/_annotations.csv"],
    "labels beside images": ["a/1.jpg", "a/1.json", "a/2.jpg", "b/3.jpg"],
    "a split's images in one folder": ["train/a/1.jpg", "train/b/2.jpg", "val/images/3.jpg"],
    "masks in a class": ["COVID/images/1.png", "COVID/masks/1.png", "Normal/images/2.png"],
}


@pytest.mark.parametrize("paths", ANNOTATED.values(), ids=ANNOTATED.keys())
def test_annotated_images_are_asked_about_unless_the_user_forces_class_folders(paths, tmp_path):
    root = write_tree(tmp_path, paths)
    with pytest.raises(RefusalError):
        open_source(str(root))
    assert open_source(str(root), SourceOptions(layout="class-folders")).layout.endswith("class folders")
