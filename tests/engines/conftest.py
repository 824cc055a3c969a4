import subprocess
import sys
import time

import pytest

from shardkit.testing import write_class_folders

from ..cli.calling import TIMEOUT_SECONDS, convert, environment


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Class folders, a bad file among them."""
    root = write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 12, "bee": 9, "cat": 4}, kind="JPEG")
    (root / "ant" / "bad.jpg").write_bytes(b"no picture")
    return root


@pytest.fixture(scope="session")
def by_default(source, tmp_path_factory):
    """The source converted by the runner that shardkit takes by itself."""
    output = tmp_path_factory.mktemp("by-default") / "out"
    convert(source, output, "--shards", "3", "--resize", "6")
    return output


@pytest.fixture(scope="session")
def job_service(tmp_path_factory):
    """Beam's portable job service in a process of its own, as a cluster's would be; its endpoint."""
    folder = tmp_path_factory.mktemp("job-service")
    command = [sys.executable, "-m", "apache_beam.runners.portability.local_job_service_main"]
    with open(folder / "log", "w") as log:
        service = subprocess.Popen(
            [*command, "--port", "0", "--port_file", folder / "port"], stdout=log, stderr=log, env=environment()
        )
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (folder / "port").exists() or not (folder / "port").read_text().strip():
        assert service.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline, (folder / "log").read_text()
        time.sleep(0.05)
    yield f"localhost:{(folder / 'port').read_text().strip()}"
    service.terminate()
    service.wait()
