"""Google Cloud Storage for tests in this process; imported by the files whose tests use a bucket."""

import os
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from .emulator import GcsEmulator

PAGE_SIZE = 5  # small folders are listed in several pages, too


class Bucket(NamedTuple):
    """A bucket that is empty at first: its URL, the folder of its objects, and its server."""

    url: str
    folder: Path
    server: GcsEmulator

    def objects(self):
        """Return the names of all objects, without a client."""
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names)
        return {os.path.relpath(path, self.folder) for path in paths}


@pytest.fixture(scope="module")
def google_server(tmp_path_factory):
    root = tmp_path_factory.mktemp("google")
    with GcsEmulator(root, page_size=PAGE_SIZE) as started:
        yield started, root


@pytest.fixture
def bucket(google_server, monkeypatch):
    """An empty bucket; environment variables name the server."""
    server, root = google_server
    variables = server.environment()
    # Not its proxy: that is for TensorFlow.
    for name in ("CLOUD_STORAGE_EMULATOR_ENDPOINT", "GCE_METADATA_ROOT", "no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, variables[name])
    name = uuid.uuid4().hex
    (root / name).mkdir()
    yield Bucket(f"gs://{name}", root / name, server)
    server.recover()
