"""Pictures of rejected files are read in the source's folder only."""

import pytest

from shardkit.records.rejected_pictures import opened_file
from shardkit.storage import open_folder
from shardkit.testing import picture, write_tree


@pytest.mark.parametrize("key", ["../secret.png", "{root}/secret.png", "cat/../../secret.png"])
def test_a_path_that_leaves_the_folder_is_not_opened(key, tmp_path):
    write_tree(tmp_path, {"secret.png": picture(1), "photos/cat/1.png": picture(2)})
    folder = open_folder(str(tmp_path / "photos"))
    assert opened_file(folder, key.format(root=tmp_path), 64) is None
    assert opened_file(folder, "cat/1.png", 64) is not None
