"""What is recorded of the software: what decides bytes, whichever library was loaded first."""

import json
import subprocess
import sys

import pytest
from PIL import Image

from shardkit import software
from shardkit.testing import write_class_folders

from .cli.calling import environment

# A conversion that has to encode JPEGs and PNGs anew, by a process that has imported something before.
CONVERT = """
import json, sys
{before}
from shardkit import software, testing
manifest = testing.convert_without_beam(*sys.argv[1:], resize=12)
print(json.dumps([manifest.digest, manifest.software, software.zlib_version()]))
"""


def converted(before, source, output):
    """The manifest's digest, its software and the zlib of a process that converts."""
    command = [sys.executable, "-c", CONVERT.format(before=before), source, output]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_tensorflow_loaded_first_changes_no_byte_or_is_said_to(tmp_path):
    source = write_class_folders(tmp_path / "source", {"cat": 3}, width=40, height=30)
    write_class_folders(source, {"dog": 3}, width=40, height=30, kind="JPEG")
    digest, found, _ = converted("", source, tmp_path / "plain")
    other, others, zlib = converted("import tensorflow", source, tmp_path / "out")
    # TensorFlow's symbols replace the zlib of Pillow's wheels; whether that changes bytes depends on both versions.
    said = software.difference(found, others)
    assert said == "" or zlib in said
    assert (digest == other) == (said == "")


@pytest.mark.parametrize(
    ("name", "changed"), [("png_encoder", {"compress_level": 1}), ("jpeg_encoder", {"quality": 76})]
)
def test_an_encoder_that_writes_other_bytes_is_another_version(name, changed, monkeypatch):
    before, save = software.versions(), Image.Image.save

    def other_save(image, out, kind):
        save(image, out, kind, **(changed if software.ENCODERS[name] == kind else {}))

    monkeypatch.setattr(Image.Image, "save", other_save)
    after = software.versions.__wrapped__()
    assert {key for key in before if before[key] != after[key]} == {name}
    assert software.ENCODERS[name] in software.difference(before, after)
    assert software.difference(before, before) == ""
