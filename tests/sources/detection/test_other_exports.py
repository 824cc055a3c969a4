import pytest

from shardkit.errors import DataError
from shardkit.testing import opened, write_tree

# Columns and keys of each tool's own export; none of these is read.
LABEL_STUDIO_ROW = '/data/upload/1/a.jpg,1,"[{""x"": 1, ""rectanglelabels"": [""cat""]}]",1,7\n'
EXPORTS = {
    "Label Studio CSV": (
        "project.csv",
        "image,id,label,annotator,annotation_id\n" + LABEL_STUDIO_ROW,
        "export 'JSON' there",
    ),
}


@pytest.mark.parametrize(("name", "data", "message"), EXPORTS.values(), ids=EXPORTS.keys())
def test_an_export_that_is_not_read_is_refused_with_the_one_to_choose(name, data, message, tmp_path):
    root = write_tree(tmp_path / "s", {name: data.encode(), "a.jpg": b"x", "images/b.jpg": b"x"})
    for source in (root, root / name):
        with pytest.raises(DataError, match=f"{name}: this is .*{message}"):
            opened(source)


def test_class_folders_next_to_other_files_are_still_read(tmp_path):
    files = {"cat/a.jpg": b"x", "dog/b.jpg": b"x", "notes.json": b'{"label": "x"}', "labels.csv": b"image,label\n"}
    assert opened(write_tree(tmp_path / "s", files)).layout == "class folders"
