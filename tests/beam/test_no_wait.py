"""What a job without a driver leaves for `info` and for the next `convert`; tests/engines has a driver that leaves."""

import json

import pytest

from shardkit.doctor.engine import Engine
from shardkit.parallel import run_token
from shardkit.storage import open_folder
from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import IN_PROCESS_RUNNER, call
from .crashing import interrupt, nothing_left


@pytest.fixture
def goes_on(monkeypatch):
    """The runner in this process counts as an engine: the job has ended when it is submitted."""
    monkeypatch.setattr(Engine, "ends_with_driver", False)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    root = write_class_folders(tmp_path_factory.mktemp("photographs"), {"ant": 9, "bee": 9})
    (root / "bee" / "003.png").write_bytes(b"no picture")
    return root


@pytest.mark.usefixtures("goes_on")
def test_the_sentence_of_a_job_that_failed_is_told_by_the_engine_by_info_and_by_the_next_convert(photographs, tmp_path):
    words = ["convert", photographs, tmp_path / "out", "--max-rejected"]
    sentence = "1 of 18 images and records are bad, more than --max-rejected 0 allows"
    failed = call(*words, "0", "--no-wait", IN_PROCESS_RUNNER)
    assert failed.exit_code == 3
    assert f"{sentence} (1 not_an_image); nothing was published" in failed.stderr, "the engine does not show why"
    shown = call("info", tmp_path / "out")
    assert shown.exit_code == 1
    assert "planning: 18 of 18 images checked, 1 rejected\nlast sign of life " in shown.stdout
    assert f"the job has failed: {sentence}" in shown.stdout
    [state] = json.loads(call("info", tmp_path / "out", "--json").stdout).values()
    assert (state["step"], state["num_images"], state["num_rejected"]) == ("planning", 18, 1)
    later = call(*words, "1")
    assert later.exit_code == 0
    assert f"the job that was submitted before has failed: {sentence}" in later.stderr
    assert nothing_left(tmp_path / "out")


@pytest.mark.usefixtures("goes_on")
def test_it_publishes_and_of_a_finished_conversion_leaves_nothing(photographs, tmp_path):
    words = ["convert", photographs, tmp_path / "out", "--max-rejected", "1", "--no-wait", IN_PROCESS_RUNNER]
    for _ in range(2):
        result = call(*words)
        assert result.exit_code == 0, result.output
        assert nothing_left(tmp_path / "out")
    assert call("convert", photographs, tmp_path / "threads", "--max-rejected", "1").exit_code == 0
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "threads")


def test_a_job_that_waits_keeps_its_output_until_its_claim_is_removed(photographs, tmp_path, monkeypatch):
    monkeypatch.setattr(run_token, "STALE_SECONDS", 0)
    (tmp_path / "out").mkdir()
    with run_token.claimed(open_folder(str(tmp_path / "out"))) as run, run.left():
        pass
    words = ["convert", photographs, tmp_path / "out", "--max-rejected", "1"]
    refused, shown = call(*words), call("info", tmp_path / "out")
    way_out = f"remove {tmp_path}/out/.shardkit/run, "
    assert (refused.exit_code, way_out in refused.stderr) == (3, True), refused.output
    assert (shown.exit_code, way_out in shown.stdout) == (1, True), shown.output
    (tmp_path / "out" / ".shardkit" / "run").unlink()
    assert call(*words).exit_code == 0


def test_info_shows_how_far_an_interrupted_conversion_is(photographs, tmp_path, monkeypatch):
    words = ["--max-rejected", "1", "--shards", "4"]
    interrupt(monkeypatch, photographs, tmp_path / "out", *words, shards=3)
    shown = call("info", tmp_path / "out")
    assert shown.exit_code == 1
    assert "writing: 3 of 4 shards finished, 1 rejected" in shown.stdout
    assert call("convert", photographs, tmp_path / "out", *words).exit_code == 0
    assert call("info", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("runner", [[], [IN_PROCESS_RUNNER]], ids=["threads", "in-process"])
def test_without_an_engine_that_goes_on_it_is_refused_before_anything_is_written(runner, photographs, tmp_path):
    result = call("convert", photographs, tmp_path / "out", "--no-wait", *runner)
    assert result.exit_code == 2
    assert "ends with this process; to return before its end, " in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("runner", [[], [IN_PROCESS_RUNNER]], ids=["threads", "in-process"])
def test_append_which_publishes_in_its_own_process_says_so(runner, photographs, tmp_path):
    result = call("append", tmp_path, photographs, "--no-wait", *runner)
    assert result.exit_code == 2
    assert "no such option: --no-wait; only `convert` has it, whose job publishes by itself; " in result.stderr
