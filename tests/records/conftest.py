import shutil

import pytest

from ..cli.calling import SAMPLE_DATA, convert


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The dataset that a sample source is converted to; tests only read it."""
    made = {}

    def dataset_of(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("samples") / "out"
            convert(SAMPLE_DATA / name, made[name], "--quiet")
        return str(made[name])

    return dataset_of


@pytest.fixture
def own(sample, tmp_path):
    """A copy of a converted sample source, which a test may damage."""

    def copy_of(name):
        return str(shutil.copytree(sample(name), tmp_path / "copy"))

    return copy_of
