"""A JPEG that lost a part of its data, which Pillow and TensorFlow decode to a picture that is grey in part."""

import re
import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from shardkit import images
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.testing import encoded, write_tree

from .calling import call, convert

NOISE = np.random.default_rng(0).integers(0, 256, (8, 96, 96, 3), np.uint8)
WHOLE = [encoded(Image.fromarray(pixels), "JPEG", subsampling=0) for pixels in NOISE]
DAMAGED = {
    "half and an end mark": WHOLE[0][: len(WHOLE[0]) // 2] + b"\xff\xd9",
    "zeros": WHOLE[0][:3000] + bytes(400) + WHOLE[0][3400:],
}


@pytest.fixture(params=DAMAGED)
def source(request, tmp_path):
    files = {f"{'ab'[i % 2]}/{i}.jpg": data for i, data in enumerate([DAMAGED[request.param], *WHOLE[1:]])}
    return write_tree(tmp_path / "source", files)


def rejects(output):
    return [(row["key"], row["reason"]) for row in pq.read_table(output / "rejected.parquet").to_pylist()]


def test_it_is_left_out_and_named(source, tmp_path):
    said = call("plan", source, "--max-rejected", "1").stdout
    assert "a/0.jpg: The JPEG " in said
    convert(source, tmp_path / "out", "--max-rejected", "1")
    assert rejects(tmp_path / "out") == [("a/0.jpg", "damaged")]


def test_with_headers_only_it_is_stored_and_deep_verification_finds_it(source, tmp_path):
    convert(source, tmp_path / "out", "--check", "header")
    assert rejects(tmp_path / "out") == []
    assert call("verify", tmp_path / "out").exit_code == 0
    result = call("verify", tmp_path / "out", "--deep")
    assert result.exit_code == 1
    assert "key 'a/0.jpg': The JPEG " in result.stdout
    # Converting again as before would store the same image again.
    remedy = result.stdout.partition("; convert again with ")[2].split()
    assert remedy == ["--overwrite", "--check", "decode"]
    convert(source, tmp_path / "out", "--max-rejected", "1", *remedy)
    assert rejects(tmp_path / "out") == [("a/0.jpg", "damaged")]
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0


def test_with_headers_only_and_appended_images_it_is_left_out_of_a_new_dataset(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    convert(source, "out", "--check", "header")
    more = write_tree(
        tmp_path / "more", {f"{c}/new.jpg": encoded(Image.new("RGB", (9, 9), c), "JPEG") for c in ("red", "blue")}
    )
    assert call("append", "out", more).exit_code == 0
    result = call("verify", "out", "--deep")
    (command,) = re.findall("leave out the images that cannot be decoded: `(.*)`", result.stdout)
    convert(*shlex.split(command)[2:], "--max-rejected", "1")
    assert rejects(tmp_path / "NEW") == [("a/0.jpg", "damaged")]
    assert call("verify", "NEW", "--deep").exit_code == 0


@pytest.mark.parametrize("option", [["--resize", "40"], ["--subsampling", "4:2:0"]])
def test_with_headers_only_it_is_never_encoded_anew_as_a_whole_picture(option, tmp_path):
    files = {"a/0.jpg": DAMAGED["zeros"], **{f"{'ab'[i % 2]}/{i}.jpg": data for i, data in enumerate(WHOLE) if i}}
    source = write_tree(tmp_path / "source", files)
    convert(source, tmp_path / "out", "--check", "header", "--max-rejected", "1", *option)
    assert rejects(tmp_path / "out") == [("a/0.jpg", "damaged")]


@pytest.mark.parametrize("damage", DAMAGED)
def test_as_a_black_and_white_mask_it_is_bad(damage):
    with pytest.raises(images.BadImage, match="The mask is bad: the JPEG ") as caught:
        images.check_mask(DAMAGED[damage], BLACK_AND_WHITE)
    assert caught.value.reason == "bad_mask"
