from pathlib import Path

import pytest

from ..cli.calling import call, convert

SAMPLES = Path(__file__).parents[2] / "sample_data"
OPTIONS = {"names": ["--label-pattern", "^([a-z]+)_"]}


@pytest.fixture(scope="session")
def converted(made_once):
    """Return the dataset's folder of a sample source; not to be changed.

    Converted with no option but what its layout cannot tell, and found sound by `verify --deep`.
    """

    def convert_sample(name, folder):
        convert(SAMPLES / name, folder, *OPTIONS.get(name, []))
        assert call("verify", folder, "--deep").exit_code == 0

    return lambda name: made_once(f"sample-{name.replace('/', '-')}", lambda folder: convert_sample(name, folder))
