"""`shardkit bench`, run as a whole; what it computes and prints is tested by tests/bench and tests/cli/printing."""

import json
import shutil
import signal
import subprocess

import pytest

from shardkit.testing import convert_without_beam

from .calling import call, is_one_sentence, start


@pytest.fixture(scope="session")
def jpegs(made_once):
    """A dataset of 40 small JPEGs in 2 shards; not to be changed."""
    from ..bench.conftest import photograph

    def make(folder):
        for seed in range(40):
            path = folder / "source" / f"class-{seed % 2}" / f"{seed:03}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(photograph(seed, width=96, height=72, subsampling=0, progressive=True))
        convert_without_beam(str(folder / "source"), str(folder / "OUT"), shards=2)

    return made_once("bench-jpegs", make) / "OUT"


SHORT = ["--image-size", "32", "--batch-size", "16", "--seconds", "1", "--target", "1000000", "--json"]


def test_the_stages_are_measured_and_nothing_is_left(jpegs, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in jpegs.iterdir()}
    done = call("bench", jpegs, *SHORT, "--no-advice", "--temporary", tmp_path)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    check_stages(found)
    assert (found["advice"], found["no_gain"], found["not_tried"]) == ([], [], {})
    assert "so small" in found["cold_missing"]
    assert "measuring the stages\n" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in jpegs.iterdir()} == before


@pytest.mark.slow
def test_options_of_the_conversion_and_of_the_reader_are_tried(jpegs, tmp_path):
    done = call("bench", jpegs, *SHORT, "--sample", "24", "--temporary", tmp_path)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    check_stages(found)
    tried = {one["name"]: one for one in [*found["advice"], *found["no_gain"]]}
    threads = 2 * max(1, round(found["host"]["cores"]))
    assert set(tried) == {
        "resize to 37",
        "resize to 37, quality 85",
        "baseline JPEG",
        "chroma 4:2:0",
        "scaled decoding",
        "block order",
        f"{threads} threads",
    }
    assert found["sample_images"] == 24
    assert tried["resize to 37"]["bytes_per_image"] < found["bytes_per_image"]
    assert set(found["not_tried"]) == {"cache"}
    assert list(tmp_path.iterdir()) == []


def check_stages(found):
    """Check the figures of a short measurement of the whole pipeline."""
    assert list(found["stages"]) == ["read", "decode", "pixels", "whole"]
    for measured in found["stages"].values():
        assert measured["images_per_second"] > 0
        assert measured["cpu_us_per_image"] > 0
        assert measured["slices"] >= 3
    assert sum(price["share"] for price in found["prices"].values()) == pytest.approx(1, abs=0.001)
    assert found["hosts"]["as it is"] >= 1_000_000 / max(
        found["expected_images_per_second"], found["stages"]["whole"]["highest"]
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--batch-size", "64"], "the split 'train' has 40 examples, fewer than the batch of 64; add --batch-size 40"),
        (["--split", "test"], "there is no split 'test'; the dataset has train"),
        (["--image-size", "big"], "--image-size is a number of pixels such as 224"),
        (["--temporary", "no-such-folder"], "no-such-folder: there is no such folder"),
    ],
)
def test_a_wrong_call_is_one_sentence(jpegs, options, sentence):
    done = call("bench", jpegs, "--batch-size", "16", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert is_one_sentence(done.stderr)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path):
    done = call("bench", tmp_path)
    assert done.exit_code == 1
    assert "there is no manifest here" in done.stderr


def test_after_an_interruption_neither_files_nor_processes_are_left(jpegs, tmp_path):
    process = start(
        "bench", jpegs, "--batch-size", "16", "--sample", "8", "--temporary", tmp_path, stderr=subprocess.PIPE
    )
    lines = iter(process.stderr.readline, b"")
    assert b"starting processes\n" in lines  # the temporary folder and the first process are there
    assert list(tmp_path.iterdir())
    process.send_signal(signal.SIGTERM)  # the same as Ctrl-C, which background jobs of a shell ignore
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Interrupted. The dataset is as it was, temporary files are removed." in errors
    assert list(tmp_path.iterdir()) == []
    assert workers_of(tmp_path) == []


def workers_of(folder):
    """Processes whose command names a folder."""
    shown = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout  # noqa: S607
    return [line for line in shown.splitlines() if str(folder) in line]


@pytest.mark.slow
def test_a_damaged_record_is_named(jpegs, tmp_path):
    damaged = shutil.copytree(jpegs, tmp_path / "damaged")
    shard = next(damaged.glob("*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    done = call("bench", damaged, *SHORT, "--no-advice")
    assert (done.exit_code, done.stdout) == (1, "")
    assert shard.name in done.stderr
    assert "run `shardkit verify`" in done.stderr


@pytest.mark.slow
def test_a_dataset_in_an_object_store_is_copied_first(jpegs, s3_bucket):
    convert_without_beam(str(jpegs.parent / "source"), f"{s3_bucket}/OUT", shards=2)
    done = call("bench", f"{s3_bucket}/OUT", *SHORT, "--no-advice")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    check_stages(found)
    assert found["copy_bytes_per_second"] > 0
    assert "object store" in found["cold_missing"]
