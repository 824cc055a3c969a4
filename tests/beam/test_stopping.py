"""A job that fails or is interrupted: what ends, and what is said about it."""

import logging
import threading
import time
from types import SimpleNamespace

import grpc
import pytest
from apache_beam import Pipeline
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from shardkit.beam import progress
from shardkit.beam.options import RunnerConfig, last_line
from shardkit.beam.progress import run_with_progress, submit
from shardkit.conversion.writing.shard import WriteJob
from shardkit.errors import CallError, MachineError
from shardkit.parallel.progress import Phase, Silent

from ..cli.calling import IN_PROCESS_RUNNER, call

FLINK = RunnerConfig(("--runner=PortableRunner", "--job_endpoint=x:1", "--environment_type=EXTERNAL"))
PRISM = RunnerConfig(("--runner=PrismRunner",))
IN_PROCESS = RunnerConfig(("--runner=FnApiRunner",))
MAY_RUN = "The job a-1 may still run on its engine, where it writes nothing more; cancel it there"


class Listener(Silent):
    def __init__(self):
        self.said = []

    def say(self, text, level="info"):
        del level
        self.said.append(text)


class Job:
    """A submitted job that ends as it is told, on an engine that may obey `cancel` and may be gone."""

    options = PipelineOptions(["--job_name=a-1"])

    def __init__(self, end=None, state="RUNNING", *, obeys=False, is_submitted=True):
        self._end, self._state, self._obeys, self._is_submitted = end, state, obeys, is_submitted
        self.cancelled, self.is_refused = 0, isinstance(end, Exception) and not is_submitted

    def run(self):
        if not self._is_submitted:
            raise self._end
        return self

    def wait_until_finish(self):
        if isinstance(self._end, BaseException):
            raise self._end
        return self._end() if callable(self._end) else self._end

    @property
    def state(self):
        if self._state is None:
            raise ConnectionError
        return self._state

    def cancel(self):
        self.cancelled += 1
        if self._obeys:
            self._state = "CANCELLED"


def run(runner, job, **phase):
    """What is said while a job runs."""
    listener = Listener()
    run_with_progress(runner, job, Phase(listener, "writing", 1, phase.pop("count", int), **phase))
    return listener.said


@pytest.mark.parametrize(
    ("runner", "job", "said"),
    [
        (FLINK, Job(KeyboardInterrupt()), [MAY_RUN]),
        (FLINK, Job(KeyboardInterrupt(), obeys=True), []),
        (FLINK, Job(KeyboardInterrupt(), is_submitted=False), [MAY_RUN]),  # it may have come in between
        (FLINK, Job(OSError(), is_submitted=False), []),  # it was never submitted
        (FLINK, Job(OSError("lost")), [MAY_RUN]),
        (FLINK, Job(OSError("lost"), state="FAILED"), []),
        (FLINK, Job(OSError("lost"), state=None), [MAY_RUN]),
        (PRISM, Job(KeyboardInterrupt()), []),  # it ends with its job server
        (IN_PROCESS, Job(KeyboardInterrupt(), is_submitted=False), []),
    ],
)
def test_workers_stop_and_a_job_that_may_go_on_is_named(runner, job, said):
    listener, stopped = Listener(), []
    # Before the engine is asked, which may take longer than a scheduler leaves the driver after SIGTERM.
    phase = Phase(listener, "writing", 1, int, stop=lambda: stopped.append(job.cancelled))
    with pytest.raises((KeyboardInterrupt, MachineError)):
        run_with_progress(runner, job, phase)
    assert listener.said == said
    assert stopped == ([] if job.is_refused else [0])


def test_ctrl_c_while_a_job_is_submitted_that_nobody_waits_for_names_it():
    listener = Listener()
    with pytest.raises(KeyboardInterrupt):
        submit(FLINK, Job(KeyboardInterrupt(), is_submitted=False), listener)
    assert listener.said == [MAY_RUN]


def test_a_job_has_the_name_that_the_user_gave_or_one_of_shardkit():
    for options, name in ((["--job_name=photos"], "photos"), ([], "shardkit-")):
        pipeline = RunnerConfig(("--runner=PrismRunner", *options)).pipeline()
        assert pipeline.options.view_as(GoogleCloudOptions).job_name.startswith(name)
    assert isinstance(pipeline, Pipeline)


GRPC = type("RpcError", (Exception,), {"details": lambda _: "failed to connect to all addresses"})


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            RuntimeError("java.lang.Exception: Job failed.\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: no\n"
                         "\tat a.B.c(B.java:1)\n\t... 4 more\n"),
            "Caused by: java.io.IOException: no",
        ),
        (
            RuntimeError("java.lang.RuntimeException: Error received from SDK harness: Traceback (most recent call"
                         " last):\n  File \"a.py\", line 1, in f\nshardkit.errors.MachineError: host a sees no file\n"
                         "\n\tat a.B.c(B.java:1)\n"),
            "host a sees no file",
        ),
        (RuntimeError("the last [while running 'WriteShards/WriteShard']"), "the last"),
        (GRPC("<RpcError of RPC that terminated with:\n\tstatus\n>"), "failed to connect to all addresses"),
        (KeyError("label"), "KeyError: 'label'"),
        (ValueError(), "ValueError"),
        (RuntimeError("x" * 9999), "x" * 499 + "…"),
    ],
)  # fmt: skip
def test_of_an_engines_error_the_last_line_is_shown(error, line):
    assert last_line(error) == line


def test_the_sentence_says_how_to_see_more():
    more = ". To see what Beam logs, add --default_sdk_harness_log_level=INFO"
    with pytest.raises(MachineError) as raised:
        run(FLINK, Job(RuntimeError("no."), "FAILED"))
    assert str(raised.value) == f"the runner failed: no{more}"
    with pytest.raises(MachineError) as raised:
        run(RunnerConfig((*FLINK.flags, "--default_sdk_harness_log_level=INFO")), Job("CANCELLED", "CANCELLED"))
    assert str(raised.value) == "the runner failed: the engine ended the job in state CANCELLED"


def test_a_program_at_the_address_that_is_no_job_service_is_named():
    with pytest.raises(MachineError, match="no job service answers at --job_endpoint x:1, though a program listens"):
        run(FLINK, Job(grpc.FutureTimeoutError(), is_submitted=False))


@pytest.mark.parametrize(
    "option",
    [[], pytest.param(["--default_sdk_harness_log_level=INFO"], marks=pytest.mark.slow)],  # another job
)
def test_what_beam_logs_is_printed_by_its_own_option_only(option, source, tmp_path, monkeypatch):
    def fails(*_):
        raise ValueError("a bug")

    monkeypatch.setattr(WriteJob, "write", fails)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest has its own
    said = call("convert", source, tmp_path / "out", IN_PROCESS_RUNNER, *option).stderr
    assert "Error: the runner failed: ValueError: a bug" in said
    assert ("Traceback" in said) == bool(option)


def test_options_that_the_job_server_refuses_are_of_the_call():
    with pytest.raises(CallError, match="the job server refuses the value of one of its options"):
        run(FLINK, Job(SystemExit(2), "FAILED"))


@pytest.mark.parametrize(
    ("count", "is_told"),
    [
        (lambda: 0, True),
        (lambda: 500, True),  # shards of an earlier run are no answer
        (time.monotonic_ns, False),
    ],
)
@pytest.mark.usefixtures("frequent_progress")
def test_silent_workers_are_told_once(count, is_told, monkeypatch):
    polls, ended = 0, threading.Event()

    def counted():
        nonlocal polls
        polls += 1
        if polls == 9:
            ended.set()
        return count()

    # The time is the number of polls: a busy machine may poll once in half a second.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: polls))
    monkeypatch.setattr(progress, "SILENT_SECONDS", 3)
    said = run(FLINK, Job(lambda: ended.wait(60) and None), count=counted)
    assert [line.partition(":")[0] for line in said] == ["No worker has answered for 3 s"] * is_told


def test_a_job_with_a_limit_of_time_is_stopped():
    with pytest.raises(MachineError, match="no worker has answered for 0 s: the engine has no free slot"):
        run(PRISM, Job(lambda: time.sleep(30)), seconds=0.1)


def test_only_a_dataflow_job_has_a_page():
    job = Job("DONE")
    job._job = type("Job", (), {"id": "2026-01-01 1", "location": "europe-west1", "project_id": "p"})
    page = "https://console.cloud.google.com/dataflow/jobs/europe-west1/2026-01-01%201?project=p"
    assert run(FLINK, job) == [f"the job's page: {page}"]
    assert run(FLINK, Job("DONE")) == []
