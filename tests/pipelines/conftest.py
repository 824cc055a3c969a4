import pytest

from shardkit.testing import write_class_folders

from ..cli.calling import convert


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Class folders of 31, 20 and 9 pictures."""
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 31, "bee": 20, "cat": 9})


@pytest.fixture(scope="session")
def dataset(source, tmp_path_factory):
    """The source converted to two splits of three shards; not to be changed."""
    output = tmp_path_factory.mktemp("dataset") / "dataset"
    convert(source, output, "--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3")
    return output
