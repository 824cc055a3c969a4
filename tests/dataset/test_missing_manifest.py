"""What is given instead of a dataset is recognised, and the message has the remedy."""

import re

import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.errors import ManifestError
from shardkit.testing import write_tree

SHARD = "train-00000-of-00002.tfrecord"


@pytest.mark.parametrize(
    ("files", "given", "remedy"),
    [
        ({"cat/1.jpg": b"x"}, ".", r"folder of images: .*`shardkit convert .*OUT`"),
        ({"1.PNG": b"x"}, ".", "folder of images"),
        ({"train/cat/1.jpeg": b"x", "classes.txt": b"x"}, ".", "folder of images"),
        ({".git/1.jpg": b"x", "notes.txt": b"x"}, ".", "a dataset has one when its conversion is complete$"),
        ({f"OUT/{SHARD}": b"x", "OUT/manifest.json": b"{}"}, f"OUT/{SHARD}", "one file of a dataset: .*/OUT$"),
        ({"OUT/train-00000-of-00002.index.parquet": b"x"}, "OUT/train-00000-of-00002.index.parquet", "/OUT$"),
        ({"OUT/manifest.json": b"{}", "photos/1.jpg": b"x"}, ".", "parent folder of a dataset: give .*/OUT$"),
        ({SHARD: b"x"}, ".", "TFRecord files only"),
        ({"photo.jpg": b"x"}, "photo.jpg", "this is a file: give the folder"),
        ({"cat/1.jpg": b"x", ".shardkit/plan.parquet": b"x"}, ".", "was interrupted: run the same"),
        ({}, "nowhere", "a dataset has one when its conversion is complete$"),
    ],
)
def test_what_was_given_is_recognised(files, given, remedy, tmp_path):
    write_tree(tmp_path, files)
    with pytest.raises(ManifestError, match=re.escape("there is no manifest here; ") + f".*{remedy}"):
        read_manifest(str(tmp_path / given))
