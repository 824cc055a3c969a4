import pytest

from shardkit.errors import DataError
from shardkit.sources import open_source
from shardkit.storage import open_folder
from shardkit.testing import write_tree


@pytest.mark.parametrize(
    ("output", "excluded"),
    [
        ("source/out", "out"),
        ("source/cat/out", "cat/out"),
        ("source/", None),
        ("out", None),
        ("source2", None),  # begins alike
        (".", None),
        ("link/out", "out"),  # the same folder by another name
        ("source/../source/out", "out"),
    ],
)
def test_the_output_is_excluded_where_it_lies_inside_the_source(output, excluded, tmp_path):
    root = write_tree(tmp_path / "source", {"cat/1.jpg": b"x"})
    (tmp_path / "link").symlink_to(root)
    source = open_source(str(root), output=open_folder(f"{tmp_path}/{output}"))
    assert source.excluded == excluded


def test_without_an_output_nothing_is_excluded(tmp_path):
    root = write_tree(tmp_path, {"cat/1.jpg": b"x"})
    assert open_source(str(root)).excluded is None


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"/no: there is no such file or folder"):
        open_source(f"{tmp_path}/no")


def test_a_source_that_is_a_file_is_named(tmp_path):
    write_tree(tmp_path, {"photos.rar": b"x"})
    with pytest.raises(
        DataError, match=r"/photos\.rar: shardkit does not know how to read this file; SOURCE is a folder"
    ):
        open_source(f"{tmp_path}/photos.rar")
