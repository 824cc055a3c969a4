import pytest

from shardkit.testing import write_class_folders

from .calling import convert


@pytest.fixture(scope="session")
def source(made_once):
    """Class folders of 31, 20 and 9 pictures; not to be changed."""
    return made_once("source", lambda folder: write_class_folders(folder, {"ant": 31, "bee": 20, "cat": 9}))


@pytest.fixture(scope="session")
def dataset(source, made_once):
    """The source converted to two splits of three shards; not to be changed."""
    options = ["--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3"]
    return made_once("dataset", lambda folder: convert(source, folder, *options))
