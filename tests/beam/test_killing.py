import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import IN_PROCESS_RUNNER, TIMEOUT_SECONDS, convert, environment, without_progress
from .crashing import finished_shards, nothing_left, start_until

# Several shards a worker and enough work that a signal finds it in the middle.
LARGE = ["--shards", "30", "--resize", "120", "--workers", "2"]


@pytest.fixture(scope="module")
def large_source(tmp_path_factory):
    return write_class_folders(
        tmp_path_factory.mktemp("large"), {"ant": 90, "bee": 60, "cat": 40}, width=240, height=180, kind="JPEG"
    )


@pytest.fixture(scope="module")
def large_wanted(large_source, tmp_path_factory):
    output = tmp_path_factory.mktemp("wanted") / "out"
    convert(large_source, output, *LARGE)
    return digests_of(output)


def parts(output):
    return len(list((output / ".shardkit" / "inventory").glob("*.arrow")))


def indexes(output):
    return len(list(output.glob("*.index.parquet")))


@pytest.mark.parametrize(
    ("progress", "steps"),
    [
        pytest.param(parts, (1, 2), marks=pytest.mark.slow),  # test_power_cuts ends the inventory at every write
        (indexes, (1, 12)),
        pytest.param(indexes, (20, 27), marks=pytest.mark.slow),
    ],
    ids=lambda value: value.__name__ if callable(value) else "-".join(map(str, value)),
)
def test_killed_twice_the_same_command_finishes_what_an_undisturbed_one_writes(
    progress, steps, large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    finished = {}
    jitter = np.random.default_rng()
    for step in steps:
        process = start_until(lambda step=step: progress(output) >= step, "convert", large_source, output, *LARGE)
        time.sleep(jitter.uniform(0, 0.03))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it had ended already"
        assert not (output / "manifest.json").exists()
        assert finished.items() <= finished_shards(output).items(), "the second run rewrote a finished shard"
        finished = finished_shards(output)
    said = convert(large_source, output, *LARGE)
    if progress is indexes:
        assert f"resuming: {len(finished) // 2} of 30 shards" in said
    assert finished.items() <= finished_shards(output).items(), "a finished shard was rewritten"
    assert digests_of(output) == large_wanted
    assert nothing_left(output)


def test_images_checked_before_the_kill_are_not_decoded_again(large_source, tmp_path, monkeypatch):
    output = tmp_path / "out"
    process = start_until(lambda: indexes(output) >= 1, "convert", large_source, output, *LARGE)
    process.kill()
    process.communicate()
    with monkeypatch.context() as patched:
        patched.setattr("shardkit.images.check_fully", lambda data: pytest.fail("decoded again"))
        convert(large_source, output, *LARGE)


@pytest.fixture
def ctrl_c_works():
    # A test run in a shell's background inherits an ignored SIGINT, and so would the process started here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_works")
@pytest.mark.parametrize(
    ("progress", "step", "number"),
    [
        pytest.param(parts, 1, signal.SIGINT, marks=pytest.mark.slow),
        (indexes, 5, signal.SIGINT),
        pytest.param(indexes, 5, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_or_sigterm_ends_it_with_a_sentence_and_130_and_the_same_command_goes_on(
    progress, step, number, large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    process = start_until(lambda: progress(output) >= step, "convert", large_source, output, *LARGE)
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130
    assert out == b""
    said = without_progress(err.decode())
    assert said[0] == f"{large_source}: read as <label>/…/image"
    assert said[1].startswith("Interrupted.")
    assert len(said) == 2
    assert not (output / "manifest.json").exists()
    assert not (output / ".shardkit" / "run").exists(), "its workers, on any machine, go on"
    convert(large_source, output, *LARGE)
    assert digests_of(output) == large_wanted
    assert nothing_left(output)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["WriteDataset", "threads", "runner"])
def test_killed_at_random_changes_to_the_output_it_ends_with_the_files_of_an_undisturbed_one(way, tmp_path):
    words = [sys.executable, "-m", "tests.beam.killed", way, tmp_path, "--kills", "12"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["kills"], found["conversions"] > 0) == (12, True)


@pytest.mark.usefixtures("ctrl_c_works")
@pytest.mark.parametrize(("command", "number"), [("plan", signal.SIGINT), ("verify", signal.SIGTERM)])
def test_ctrl_c_or_sigterm_of_a_command_that_writes_nothing_leaves_nothing(command, number, large_source, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words, made = ["plan", large_source], "*.arrow"
    if command == "verify":
        convert(large_source, tmp_path / "out", "--shards", "30", "--workers", "2")
        words, made = ["verify", tmp_path / "out", "--deep", IN_PROCESS_RUNNER], "*.report"
    process = start_until(lambda: len(list(temporary.rglob(made))) >= 2, *words, env=environment(TMPDIR=str(temporary)))
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    # Beam leaves an empty folder of its own; it is ours to leave none.
    assert list(temporary.glob("shardkit*")) == []


def test_a_second_conversion_into_one_output_is_refused_and_the_first_is_not_disturbed(
    large_source, large_wanted, tmp_path
):
    output = tmp_path / "out"
    process = start_until(lambda: indexes(output) >= 3, "convert", large_source, output, *LARGE)
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    try:
        before = sorted(os.listdir(output))
        said = convert(large_source, output, *LARGE, exit_code=3)
        assert f"{output}: another shardkit is writing into this folder; wait for it to end" in said
        convert(large_source, output, *LARGE, "--overwrite", exit_code=3)
        assert sorted(os.listdir(output)) == before, "temporaries of the first are not the second's to remove"
    finally:
        process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, err
    assert digests_of(output) == large_wanted
