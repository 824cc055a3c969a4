"""`shardkit doctor` on real workers; tests/doctor has what each check says."""

import platform
import sys

import pytest

from shardkit.errors import MachineError
from shardkit.parallel.run_token import Fence
from shardkit.testing import write_class_folders

from ..engines.conftest import job_service
from .calling import IN_PROCESS_RUNNER, call, is_one_sentence

__all__ = ["job_service"]

OWN_PROCESS = "--environment_type=beam:env:harness_subprocess_python:v1"


def portable(job_service, *options):
    return ["--runner=PortableRunner", f"--job_endpoint={job_service}", *options]


def worker(folder, before):
    """Options for workers that run a line of Python first."""
    script = folder / "worker.py"
    script.write_text(
        f"{before}\nimport runpy\nrunpy.run_module('apache_beam.runners.worker.sdk_worker_main', run_name='__main__')\n"
    )
    return [OWN_PROCESS, f"--environment_config={sys.executable} {script}"]


@pytest.mark.parametrize("runner", [[], [IN_PROCESS_RUNNER]], ids=["threads", "beam"])
def test_a_host_that_is_ready_is_told_and_nothing_is_left(runner, source, tmp_path):
    result = call("doctor", source, tmp_path / "out", *runner)
    assert result.exit_code == 0, result.output
    where = f"1 process on 1 host ({platform.node()})"
    assert f"{where} see SOURCE, write into OUTPUT and have the driver's versions" in result.stdout
    assert result.stdout.splitlines()[-1] == "ready to convert"
    assert not (tmp_path / "out").exists()


def test_an_unfinished_conversion_in_the_output_is_left_as_it_was(source, tmp_path):
    work = tmp_path / "out" / ".shardkit"
    work.mkdir(parents=True)
    (work / "plan.parquet").write_bytes(b"plan")
    assert call("doctor", source, tmp_path / "out").exit_code == 0
    assert [path.name for path in work.iterdir()] == ["plan.parquet"]


def test_an_output_with_files_of_others_is_refused_before_any_job(source, tmp_path):
    (tmp_path / "letter.txt").touch()
    result = call("doctor", source, tmp_path)
    assert result.exit_code == 2
    assert "failed   OUTPUT: " in result.stdout
    assert is_one_sentence(result.stderr)


def test_an_unknown_option_and_a_missing_source(source, tmp_path):
    result = call("doctor", source, tmp_path / "out", "--runner=FlinkRunner", "--flink_mastr=x")
    assert (result.exit_code, "did you mean --flink_master?" in result.stderr) == (2, True)
    result = call("doctor", tmp_path / "none", tmp_path / "out")
    assert (result.exit_code, "none: there is no such file or folder; check the path" in result.stdout) == (2, True)
    (tmp_path / "empty").mkdir()
    result = call("doctor", tmp_path / "empty", tmp_path / "out")
    assert (result.exit_code, "empty: there is no file in it; check the path" in result.stdout) == (2, True)


def test_workers_that_share_no_output_are_told_by_the_error_of_the_job(source, tmp_path, monkeypatch):
    def not_seen(_):
        raise MachineError("host far does not see this folder")

    monkeypatch.setattr(Fence, "check", not_seen)  # workers share this memory
    result = call("doctor", source, tmp_path / "out", IN_PROCESS_RUNNER)
    assert result.exit_code == 3
    assert "failed   workers: the runner failed: host far does not see this folder" in result.stdout
    assert result.stderr.splitlines()[-1] == "Error: not ready to convert: 1 check failed, see above"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_job_service_with_workers_in_processes_of_their_own(source, job_service, tmp_path):
    result = call("doctor", source, tmp_path / "out", *portable(job_service, *worker(tmp_path, "")), "--object_reuse")
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_worker_of_another_version_is_named(source, job_service, tmp_path):
    other = worker(tmp_path, "import numpy; numpy.__version__ = '1.0.0'")
    result = call("doctor", source, tmp_path / "out", *portable(job_service, *other))
    assert result.exit_code == 3
    assert "it has numpy 1.0.0 (the driver: " in result.stdout


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_source_is_named(job_service, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 1, "bee": 1})
    hidden = (
        "import os; names = os.listdir\n"
        f"os.listdir = lambda path: names({str(tmp_path / 'empty')!r} if path == {str(source)!r} else path)"
    )
    (tmp_path / "empty").mkdir()
    result = call("doctor", source, tmp_path / "out", *portable(job_service, *worker(tmp_path, hidden)))
    assert result.exit_code == 3
    assert "sees no file in this folder, the driver saw 2" in result.stdout


@pytest.mark.slow
def test_workers_that_never_answer_are_given_up(source, job_service, tmp_path):
    silent = portable(job_service, *worker(tmp_path, "raise SystemExit(1)"))
    result = call("doctor", source, tmp_path / "out", "--timeout", "5", *silent)
    assert result.exit_code == 3
    assert "no worker has answered for 5 s: the engine has no free slot" in result.stdout
    assert not (tmp_path / "out").exists()
