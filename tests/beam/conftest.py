import bz2
from types import SimpleNamespace

import pytest
from apache_beam.internal import cloudpickle_pickler

from ..cli.conftest import dataset, source

__all__ = ["dataset", "source"]


@pytest.fixture
def real_pickles():
    """Pickles are compressed, as workers in other processes expect them."""


@pytest.fixture(autouse=True)
def cheap_pickles(request, monkeypatch):
    """Compress nothing that is pickled for this process: a tenth of the time of a pipeline."""
    if "real_pickles" in request.fixturenames:
        return
    codec = SimpleNamespace(
        compress=lambda data, compresslevel: b"-" + data,
        decompress=lambda data: data[1:] if data[:1] == b"-" else bz2.decompress(data),
    )
    monkeypatch.setattr(cloudpickle_pickler, "bz2", codec)
