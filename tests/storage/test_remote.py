"""Uploads to object stores that are interrupted."""

import gc
import io
import tempfile

import pytest

from shardkit.storage import open_folder


class Interrupted(io.BytesIO):
    """A spool that raises an error after some of its bytes."""

    happening: type[BaseException]

    def read(self, size=-1):
        if self.tell():
            raise self.happening
        return super().read(size)


@pytest.mark.parametrize("happening", [OSError, KeyboardInterrupt])
def test_an_interrupted_upload_publishes_nothing(s3_bucket, monkeypatch, happening):
    monkeypatch.setattr(Interrupted, "happening", happening, raising=False)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Interrupted())
    folder = open_folder(s3_bucket)
    with pytest.raises(happening), folder.atomic_write("a") as file:
        file.write(bytes(12 << 20))
    gc.collect()  # the traceback keeps the upload alive until the exception is collected
    assert folder.stat("a") is None
