import os
import subprocess
import sys
import urllib.request
import uuid

import pytest
from hypothesis import settings

# Before anything imports TensorFlow: its start-up notes would drown what a failing test says.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# A busy machine is no fault of the code: no example is timed.
settings.register_profile("shardkit", deadline=None)
settings.load_profile("shardkit")


# A process of its own: pyarrow waits for answers in a destructor, where it holds the lock that a thread would need.
SERVER = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
input()
"""


@pytest.fixture(scope="session")
def s3_server():
    """A real S3 server on the loopback device, for the whole session; the endpoint's URL."""
    # Its log goes nowhere: it names every request.
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([sys.executable, "-c", SERVER], **pipes, text=True)
    yield server.stdout.readline().strip()
    server.kill()
    server.communicate()


@pytest.fixture
def s3_bucket(s3_server, monkeypatch):
    """The s3:// URL of an empty bucket; the environment says where the server is, as it would for a user."""
    variables = {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    bucket = uuid.uuid4().hex
    request = urllib.request.Request(f"{s3_server}/{bucket}", method="PUT")  # noqa: S310 - our own server
    urllib.request.urlopen(request).close()  # noqa: S310
    return f"s3://{bucket}"
