"""Other runners than the one in this process write the same bytes: real job services, real worker processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from shardkit.beam.options import RunnerConfig
from shardkit.testing import digests_of, write_class_folders

from ..beam.crashing import interrupt, start_until
from ..cli.calling import IN_PROCESS_RUNNER, TIMEOUT_SECONDS, call, convert, environment, is_one_sentence, run
from .processes import below, command

OPTIONS = ["--shards", "3", "--resize", "6"]
# A worker in a process of its own sees nothing of this one's memory: neither options nor modules that were imported.
OWN_PROCESS = [
    "--environment_type=beam:env:harness_subprocess_python:v1",
    f"--environment_config={sys.executable} -m apache_beam.runners.worker.sdk_worker_main",
]
LOOPBACK = ["--environment_type=LOOPBACK"]
NEEDS_PRISM = pytest.mark.skipif(
    "SHARDKIT_PRISM" not in os.environ, reason="SHARDKIT_PRISM names no prism, see tests/engines/README.md"
)


def portable(job_service, *options):
    return ["--runner=PortableRunner", f"--job_endpoint={job_service}", *options]


@pytest.mark.parametrize(
    "workers",
    [pytest.param(LOOPBACK, marks=pytest.mark.slow), OWN_PROCESS],
    ids=["loopback", "own-process"],
)
def test_a_job_service_in_another_process_writes_the_same_bytes(workers, source, by_default, job_service, tmp_path):
    done = run("convert", source, tmp_path / "out", *OPTIONS, *portable(job_service, *workers))
    assert done.returncode == 0, done.stderr
    assert digests_of(tmp_path / "out") == digests_of(by_default)
    [row] = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert (row["key"], row["reason"]) == ("ant/bad.jpg", "not_an_image")


@pytest.mark.slow
def test_what_one_runner_began_another_one_finishes(source, by_default, job_service, tmp_path, monkeypatch):
    interrupt(monkeypatch, source, tmp_path / "out", *OPTIONS, shards=1)
    said = convert(source, tmp_path / "out", *OPTIONS, *portable(job_service, *LOOPBACK))
    assert "resuming: 1 of 3 shards" in said
    assert digests_of(tmp_path / "out") == digests_of(by_default)


@pytest.mark.slow
def test_verify_by_a_job_service_finds_what_verify_in_this_process_finds(by_default, job_service, tmp_path):
    assert call("verify", by_default, *portable(job_service, *LOOPBACK)).exit_code == 0
    shutil.copytree(by_default, tmp_path / "copy")
    shard = tmp_path / "copy" / "train-00001-of-00003.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-1] + b"!")
    ours, theirs = (
        call("verify", tmp_path / "copy"),
        call("verify", tmp_path / "copy", *portable(job_service, *LOOPBACK)),
    )
    assert (ours.exit_code, theirs.exit_code) == (1, 1)
    assert theirs.stdout == ours.stdout


def test_a_job_service_that_does_not_answer_is_told_and_not_waited_for(source):
    done = run("plan", source, *portable("localhost:1"))
    assert done.returncode == 3
    assert is_one_sentence(done.stderr)
    assert "no job service answers at --job_endpoint localhost:1: Connection refused; start it" in done.stderr


@pytest.mark.slow
@NEEDS_PRISM
def test_prism_writes_the_same_bytes(source, by_default, tmp_path):
    prism = ["--runner=PrismRunner", f"--prism_location={os.environ['SHARDKIT_PRISM']}"]
    done = run("convert", source, tmp_path / "out", *OPTIONS, *prism)
    assert done.returncode == 0, done.stderr
    assert digests_of(tmp_path / "out") == digests_of(by_default)
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0


@pytest.mark.slow
@NEEDS_PRISM
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["sigterm", "ctrl-c"])
def test_prism_ends_with_a_run_that_is_interrupted(number, source, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, see test_killing
    prism = ["--runner=PrismRunner", f"--prism_location={os.environ['SHARDKIT_PRISM']}"]
    programs = []

    def runs(pid):
        return os.environ["SHARDKIT_PRISM"] in command(pid)[:1]

    def is_up():
        programs[:] = filter(runs, below(os.getpid()))
        return programs

    driver = start_until(is_up, "convert", source, tmp_path / "out", *OPTIONS, *prism)
    signal.signal(signal.SIGINT, before)
    driver.send_signal(number)
    _, said = driver.communicate(timeout=TIMEOUT_SECONDS)
    assert driver.returncode == 130, said
    assert list(filter(runs, programs)) == []
    assert "may still run" not in said.decode()


# Ctrl-C at so many seconds after the submission has begun.
SUBMITTING = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import apache_beam
from shardkit.__main__ import main
seconds, submit = float(sys.argv.pop(1)), apache_beam.Pipeline.run
def run(pipeline, *arguments, **more):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    return submit(pipeline, *arguments, **more)
apache_beam.Pipeline.run = run
main()
"""


@pytest.mark.slow  # tests/beam/test_interruptions.py has what happens to Ctrl-C, without an engine
def test_ctrl_c_during_a_submission_is_never_lost(source, job_service, tmp_path):
    for i in range(20):
        words = ["convert", source, tmp_path / str(i), *OPTIONS, *portable(job_service, *LOOPBACK)]
        done = subprocess.run(
            [sys.executable, "-c", SUBMITTING, str(0.015 * i), *map(str, words)],
            env=environment(), capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 130, done.stderr
        assert not (tmp_path / str(i) / "manifest.json").exists()


@pytest.mark.slow
def test_plan_by_a_job_service_prints_what_plan_in_this_process_prints(source, job_service):
    assert call("plan", source, *portable(job_service, *LOOPBACK)).stdout == call("plan", source).stdout


@pytest.mark.slow  # as in tests/test_imports.py
def test_a_write_workers_process_loads_no_tensorflow(tmp_path):
    script = "import json, sys; import shardkit.beam.conversion; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not {"tensorflow", "keras", "tensorflow_datasets"} & set(json.loads(done.stdout))


@pytest.mark.slow  # plan is refused the same way, above
def test_a_job_service_that_is_not_there_is_said_in_a_sentence(source, tmp_path):
    done = run(
        *("convert", source, tmp_path / "out", *portable("localhost:1", *LOOPBACK), "--job_server_timeout=2"),
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    assert is_one_sentence(done.stderr)


def test_a_runner_that_starts_a_job_server_of_its_own_may_set_its_signal_handler(source, tmp_path, monkeypatch):
    # FlinkRunner, SparkRunner and PrismRunner do, and Python lets only the main thread.
    runs = RunnerConfig.run

    def starting_a_server(self, *arguments):
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
        runs(self, *arguments)

    monkeypatch.setattr(RunnerConfig, "run", starting_a_server)
    convert(source, tmp_path / "out", IN_PROCESS_RUNNER)


def stragglers(output):
    """What only a run that goes on, or a dead one, leaves in a dataset."""
    return sorted(path.name for path in output.rglob("*") if path.name.startswith(".shardkit"))


@pytest.mark.slow  # tests/conversion/writing/output/test_run_token.py has the token that stops them, without an engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill-9"])
def test_workers_that_outlive_their_driver_write_nothing_into_the_next_dataset(number, job_service, tmp_path):
    # The job service goes on with the job when its driver is gone, as Flink and Spark do.
    source = write_class_folders(tmp_path / "large", {"ant": 100, "bee": 60}, width=500, height=400, kind="JPEG")
    output, wanted = tmp_path / "out", tmp_path / "wanted"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, see test_killing
    options = ["--shards", "20", *portable(job_service, *OWN_PROCESS)]
    driver = start_until(lambda: any(output.glob("*.tfrecord")), "convert", source, output, "--resize", "399", *options)
    signal.signal(signal.SIGINT, before)
    driver.send_signal(number)
    driver.communicate(timeout=TIMEOUT_SECONDS)
    assert not (output / "manifest.json").exists()
    assert (output / ".shardkit" / "run").exists() == (number == signal.SIGKILL)
    convert(source, output, "--shards", "20", "--resize", "20", "--overwrite")
    convert(source, wanted, "--shards", "20", "--resize", "20")
    assert digests_of(output) == digests_of(wanted)
    time.sleep(2 if number == signal.SIGINT else 0)  # until shards that had begun are through
    assert digests_of(output) == digests_of(wanted)
    assert stragglers(output) == []
