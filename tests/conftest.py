import os

import pytest
from hypothesis import settings

# Before anything imports TensorFlow: its start-up notes would drown what a failing test says.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# A busy machine is no fault of the code: no example is timed.
settings.register_profile("shardkit", deadline=None)
settings.load_profile("shardkit")


@pytest.fixture(scope="session")
def s3_server():
    """A real S3 server on the loopback device, for the whole session; the endpoint's URL."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_bucket(s3_server, monkeypatch):
    """The s3:// URL of an empty bucket; the environment says where the server is, as it would for a user."""
    import urllib.request
    import uuid

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
