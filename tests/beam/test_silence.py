"""What is said while an engine is silent, and where its own words go."""

import logging
import tempfile
import time
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from shardkit.beam import progress
from shardkit.beam.engine_log import engine_log
from shardkit.beam.job_link import job_link
from shardkit.beam.options import RunnerConfig
from shardkit.errors import CallError, MachineError
from shardkit.parallel.progress import Phase, Silent

FLINK = RunnerConfig(("--runner=PortableRunner", "--job_endpoint=x:1", "--environment_type=EXTERNAL"))
TRACE = "java.lang.RuntimeException: outer\n\tat a.B.c(B.java:1)\nCaused by: java.lang.AbstractMethodError: inner\n"


@pytest.fixture(autouse=True)
def kept_logs(tmp_path, monkeypatch):
    """Files that stay after a failure are made here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Saying(Silent):
    def __init__(self):
        self.said = []

    def say(self, text, level="info"):
        self.said.append(text)


class Pipeline:
    """What RunnerConfig.run needs of Beam's, and how it ends."""

    options = PipelineOptions(["--job_name=a-1"])

    def __init__(self, end, job=None):
        self._end, self._job = end, job

    def run(self):
        return self

    def wait_until_finish(self):
        return self._end()


def run(count, seconds, monkeypatch):
    """The messages while a job runs for some seconds, with the number of images after each poll."""
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr("shardkit.parallel.progress.POLL_SECONDS", 0.02)
    listener = Saying()
    phase = Phase(listener, "checking", None, count)
    progress.run_with_progress(FLINK, Pipeline(lambda: time.sleep(seconds)), phase)
    return listener.said


def test_silent_workers_are_told_once_with_the_most_likely_cause(monkeypatch):
    [said] = run(lambda: 0, 0.5, monkeypatch)
    assert said.startswith("No worker has answered for 0 s; see /")
    assert Path(said.partition("see ")[2].partition(",")[0]).exists(), "the file that is named stays"
    assert "no slot is free: other jobs run, or the cluster has no TaskManager" in said


def test_nothing_is_said_of_workers_that_answer(monkeypatch):
    counts = iter(range(10_000))
    assert run(lambda: next(counts), 0.4, monkeypatch) == []


def test_shards_of_an_earlier_run_are_no_answer(monkeypatch):
    assert len(run(lambda: 500, 0.5, monkeypatch)) == 1


def failing(text):
    def fail():
        logging.getLogger().error("%s", text)  # as Beam's portable runner passes on an engine's messages
        raise RuntimeError(text)

    return Pipeline(fail)


def test_the_cause_of_a_java_trace_is_shown_and_the_rest_is_in_a_file(capsys):
    with pytest.raises(MachineError) as raised, engine_log() as log:
        FLINK.run(failing(TRACE), log)
    said = str(raised.value)
    assert said.startswith(
        "the runner failed: java.lang.AbstractMethodError: inner. Likely: the job server was built for"
    )
    path = said.rpartition(" are in ")[2]
    with open(path, encoding="utf-8") as file:
        assert TRACE in file.read()
    assert capsys.readouterr() == ("", "")


def test_the_file_of_a_job_that_succeeds_is_removed():
    logs = []
    with engine_log() as log:
        logs.append(log.path)
        FLINK.run(Pipeline(lambda: "DONE"), log)
    with pytest.raises(FileNotFoundError), open(logs[0], encoding="utf-8"):
        pass


def test_a_job_that_ends_in_another_state_and_options_that_the_job_server_refuses():
    ended = "the runner failed: the engine ended the job in state CANCELLED"
    with pytest.raises(MachineError, match=ended), engine_log() as log:
        FLINK.run(Pipeline(lambda: "CANCELLED"), log)

    def refuse():
        raise SystemExit(2)

    refused = "the job server refuses the value of one of its options"
    with pytest.raises(CallError, match=refused), engine_log() as log:
        FLINK.run(Pipeline(refuse), log)


def test_the_levels_and_handlers_of_the_users_logging_are_restored():
    root, beam = logging.getLogger(), logging.getLogger("apache_beam")
    before = (root.level, root.handlers[:], beam.level, beam.handlers[:], beam.propagate)
    with engine_log():
        assert root.handlers != before[1]
    assert (root.level, root.handlers[:], beam.level, beam.handlers[:], beam.propagate) == before


def test_only_a_dataflow_job_has_a_page():
    class Job:
        id, location, project_id = "2026-01-01 1", "europe-west1", "p"

    assert job_link(Pipeline(None, Job())) == (
        "https://console.cloud.google.com/dataflow/jobs/europe-west1/2026-01-01%201?project=p"
    )
    assert job_link(Pipeline(None)) is None
