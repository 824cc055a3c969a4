"""What the commands say about GPS positions: nobody hands on the coordinates of people without having read it."""

import json

from shardkit.testing import write_tree

from ..images.gps_making import exif_with_gps
from ..images.image_making import encode, picture
from .calling import call


def source(root):
    files = {
        f"{folder}/{i}.jpg": encode(picture(seed=seed + i), "JPEG", exif=exif_with_gps() if i < number else b"")
        for seed, folder, number in ((0, "cat", 2), (10, "dog", 1))
        for i in range(4)
    }
    return write_tree(root / "source", files)


def test_positions_are_told_before_and_after_converting(tmp_path):
    path, output = source(tmp_path), tmp_path / "out"
    planned = call("plan", path).stderr
    assert "Check these:" in planned
    assert "3 of 8 images have GPS positions in the metadata, and 3 are stored with them" in " ".join(planned.split())
    # Nothing was opened before writing, so only the writers know.
    result = call("convert", path, output, "--check", "header")
    assert result.exit_code == 0
    assert "Check these:" not in result.stderr
    line = "GPS: 3 images have GPS positions in the metadata; `convert --strip-metadata` removes them"
    assert line in result.stdout
    assert line in call("info", output).stdout
    splits = json.loads(call("info", output, "--json").stdout)["splits"]
    assert (splits["train"]["num_examples"], splits["train"]["num_with_gps"]) == (8, 3)
    assert call("verify", output).exit_code == 0
