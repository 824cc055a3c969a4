"""Google Cloud Storage for tests in this process; imported by the files whose tests are given a bucket."""

import os
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from .emulator import GcsEmulator

PAGE_SIZE = 5  # small folders are listed in several pages, too


class Bucket(NamedTuple):
    """An empty one: what users call it, where its objects lie, and the server that it is on."""

    url: str
    folder: Path
    server: GcsEmulator

    def objects(self):
        """Names of all objects that are there, seen without any client."""
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names)
        return {os.path.relpath(path, self.folder) for path in paths}


@pytest.fixture(scope="module")
def google_server(tmp_path_factory):
    root = tmp_path_factory.mktemp("google")
    with GcsEmulator(root, page_size=PAGE_SIZE) as started:
        yield started, root


@pytest.fixture
def bucket(google_server, monkeypatch):
    """An empty bucket; the environment says where the server is."""
    server, root = google_server
    variables = server.environment()
    # Not its proxy: that is for TensorFlow.
    for name in ("CLOUD_STORAGE_EMULATOR_ENDPOINT", "GCE_METADATA_ROOT", "no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, variables[name])
    name = uuid.uuid4().hex
    (root / name).mkdir()
    yield Bucket(f"gs://{name}", root / name, server)
    server.recover()
