"""Uploads to object stores that are interrupted."""

import gc
import io
import tempfile

import pytest

from shardkit.storage import open_folder


class Interrupted(io.BytesIO):
    """A spool that gives some of its bytes before something happens."""

    happening: type[BaseException]

    def read(self, size=-1):
        if self.tell():
            raise self.happening
        return super().read(size)


@pytest.mark.parametrize("happening", [OSError, KeyboardInterrupt])
def test_an_upload_that_is_broken_off_publishes_nothing(s3_bucket, monkeypatch, happening):
    monkeypatch.setattr(Interrupted, "happening", happening, raising=False)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Interrupted())
    folder = open_folder(s3_bucket)
    with pytest.raises(happening), folder.atomic_write("a") as file:
        file.write(bytes(12 << 20))
    gc.collect()  # with the exception goes the traceback, and with that the upload
    assert folder.stat("a") is None
