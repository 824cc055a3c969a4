"""Jobs are stopped on their engine by its own interface; a server with Flink's REST interface answers here."""

import contextlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from apache_beam import Pipeline
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from shardkit.beam import stopping
from shardkit.beam.options import RunnerConfig
from shardkit.beam.progress import run_with_progress, submit
from shardkit.beam.stopping import stop_job, unique_job_name
from shardkit.parallel.progress import Phase, Silent


class Flink:
    """The part of Flink's REST interface that cancels jobs (Flink 1.19, "REST API": /jobs/overview, /jobs/:jobid)."""

    def __init__(self):
        self.jobs = {}  # name: state
        self.cancelled = []
        self.obeys = True
        self.pauses = []  # seconds, of the next answers
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, value, code=200):
                with contextlib.suppress(ConnectionError):  # whoever asked has gone
                    self.answer_in_time(value, code)

            def answer_in_time(self, value, code):
                body = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                time.sleep(outer.pauses.pop() if outer.pauses else 0)
                jobs = [{"jid": f"id-{name}", "name": name, "state": state} for name, state in outer.jobs.items()]
                if self.path == "/jobs/overview":
                    self.answer({"jobs": jobs})
                else:
                    self.answer(next(job for job in jobs if self.path == f"/jobs/{job['jid']}"))

            def do_PATCH(self):
                name = re.fullmatch(r"/jobs/id-(.*)\?mode=cancel", self.path)[1]
                outer.cancelled.append(name)
                if outer.obeys:
                    outer.jobs[name] = "CANCELED"
                self.answer({}, 202)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def flink(monkeypatch):
    monkeypatch.setattr(stopping, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(stopping, "APPEAR_SECONDS", 0.3)
    flink = Flink()
    yield flink
    flink.server.shutdown()
    flink.server.server_close()


def engine(*flags):
    return RunnerConfig(flags).engine


SPARK_MASTER = "--spark_master_url=spark://spark:7077"
SPARK = engine("--runner=SparkRunner", SPARK_MASTER)


def on(flink):
    return engine("--runner=PortableRunner", "--job_endpoint=jobs:8099", f"--flink_master={flink.url}")


def pipeline(name="shardkit-0011aabb", result=None):
    # Beam forgets the runner: it sets the option to None when the job is submitted.
    made = Pipeline(runner="DirectRunner", options=PipelineOptions([f"--job_name={name}"]))
    made.result = result
    return made


def test_every_job_has_a_name_of_its_own_that_dataflow_takes():
    names = {unique_job_name(given) for given in (None, None, "photos")}
    assert len(names) == 3
    assert all(re.fullmatch("(shardkit|photos)-[0-9a-f]{8}", name) for name in names)


def test_a_remote_pipeline_has_such_a_name():
    runner = RunnerConfig(("--runner=PrismRunner", "--job_name=photos"))
    name = runner.pipeline().options.view_as(GoogleCloudOptions).job_name
    assert re.fullmatch("photos-[0-9a-f]{8}", name)


def test_flink_cancels_the_job_of_this_name_and_no_other(flink):
    flink.jobs = {"shardkit-99887766": "RUNNING", "job-shardkit-0011aabb": "RUNNING"}
    assert stop_job(on(flink), pipeline(), print) == ""
    assert flink.jobs == {"shardkit-99887766": "RUNNING", "job-shardkit-0011aabb": "CANCELED"}


def test_a_job_that_appears_a_moment_later_is_cancelled_too(flink):
    threading.Timer(0.1, lambda: flink.jobs.update({"shardkit-0011aabb": "CREATED"})).start()
    assert stop_job(on(flink), pipeline(), print) == ""
    assert flink.jobs == {"shardkit-0011aabb": "CANCELED"}


@pytest.mark.parametrize(("pauses", "is_told"), [([0.3, 0.3], False), ([0.3] * 3, True)])
def test_a_flink_that_is_too_busy_for_two_answers_is_asked_again(pauses, is_told, flink, monkeypatch):
    monkeypatch.setattr(stopping, "REQUEST_SECONDS", 0.1)
    flink.jobs["shardkit-0011aabb"], flink.pauses = "RUNNING", pauses
    assert ("did not answer (timed out)" in stop_job(on(flink), pipeline(), print)) == is_told
    assert flink.cancelled == ([] if is_told else ["shardkit-0011aabb"])


def test_the_proxy_of_the_environment_is_not_asked(flink, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    flink.jobs = {"shardkit-0011aabb": "RUNNING"}
    assert stop_job(on(flink), pipeline(), print) == ""
    assert flink.jobs == {"shardkit-0011aabb": "CANCELED"}


@pytest.mark.parametrize("jobs", [{}, {"shardkit-0011aabb": "FAILED"}])
def test_of_a_job_that_is_over_nothing_is_said(jobs, flink):
    flink.jobs = jobs
    assert stop_job(on(flink), pipeline(), print) == ""
    assert flink.cancelled == []


def test_a_job_that_does_not_end_is_named_with_the_command_that_stops_it(flink, monkeypatch):
    monkeypatch.setattr(stopping, "CANCEL_SECONDS", 0.05)
    flink.jobs, flink.obeys = {"shardkit-0011aabb": "RUNNING"}, False
    said = stop_job(on(flink), pipeline(), print)
    assert said.startswith(
        "The job shardkit-0011aabb may still run on its engine, without writing anything: Flink did "
    )
    assert said.endswith(f"run: curl -X PATCH 'http://{flink.url}/jobs/id-shardkit-0011aabb?mode=cancel'")


class Taken:
    """A job that a job server has taken."""

    def __init__(self, state="RUNNING"):
        self.state = state


def test_a_job_whose_upload_to_flink_takes_longer_is_waited_for_and_cancelled(flink):
    said = []
    threading.Timer(0.6, lambda: flink.jobs.update({"shardkit-0011aabb": "CREATED"})).start()
    assert stop_job(on(flink), pipeline(result=Taken()), said.append) == ""
    assert flink.jobs == {"shardkit-0011aabb": "CANCELED"}
    assert [line.split(",")[0] for line in said] == ["waiting for the job shardkit-0011aabb to appear on Flink"]


@pytest.mark.parametrize(("state", "is_told"), [("FAILED", False), ("RUNNING", True)])
def test_a_job_that_never_appears_on_flink_is_told_unless_it_is_over(state, is_told, flink, monkeypatch):
    monkeypatch.setattr(stopping, "UPLOAD_SECONDS", 0.05)
    said = stop_job(on(flink), pipeline(result=Taken(state)), print)
    assert ("may still appear on its engine" in said) == is_told


def test_a_flink_that_does_not_answer_is_said(flink):
    flink.server.shutdown()
    flink.server.server_close()
    said = stop_job(on(flink), pipeline(), print)
    assert (
        f"Flink did not answer ([Errno 111] Connection refused). To stop it, look its id up at http://{flink.url}"
        in said
    )


@pytest.mark.parametrize(
    ("master", "url"),
    [
        ("flink:8082", "http://flink:8082"),
        ("flink", "http://flink:8081"),
        ("[::1]:8081", "http://[::1]:8081"),
        ("https://flink/jobs/", "https://flink/jobs"),
        ("[local]", None),
        ("[auto]", None),
    ],
)
def test_the_address_of_flink_is_the_one_that_the_doctor_asks(master, url):
    assert stopping.flink_rest_url(engine(f"--flink_master={master}")) == url


@pytest.mark.parametrize(
    ("flags", "how"),
    [
        (
            ["--runner=PortableRunner", "--job_endpoint=jobs:8099"],
            "on the engine behind jobs:8099; with --flink_master",
        ),
        ([SPARK_MASTER, "--runner=SparkRunner"], "end the application of this name in Spark's web page"),
        (["--runner=DataflowRunner", "--project=p"], "gcloud dataflow jobs list --filter=name=shardkit-0011aabb"),
        (["--runner=PortableRunner"], "on the engine behind PortableRunner; with --flink_master"),
    ],
)
def test_other_engines_are_named_with_how_to_stop_the_job(flags, how):
    assert how in stop_job(engine(*flags), pipeline(), print)


@pytest.mark.parametrize("runner", ["DirectRunner", "apache_beam.runners.portability.fn_api_runner.FnApiRunner"])
def test_a_runner_in_this_process_has_no_job_that_goes_on(runner):
    assert stop_job(engine(f"--runner={runner}"), pipeline(), print) == ""


@pytest.mark.parametrize("runner", ["PrismRunner", "FlinkRunner", "SparkRunner"])
def test_an_engine_inside_the_job_server_ends_with_it(runner):
    assert stop_job(engine(f"--runner={runner}"), pipeline(result=Taken()), print) == ""


class Result:
    """A job whose job service has gone after telling its last state."""

    def __init__(self, last):
        self._state, self.cancelled = last, 0

    @property
    def state(self):
        raise ConnectionError

    def cancel(self):
        self.cancelled += 1


@pytest.mark.parametrize(("last", "is_told"), [("FAILED", False), ("RUNNING", True)])
def test_a_job_that_failed_with_its_job_service_is_not_said_to_run(last, is_told):
    result = Result(last)
    assert bool(stop_job(SPARK, pipeline(result=result), print)) == is_told
    assert result.cancelled == is_told


class Listener(Silent):
    def __init__(self):
        self.said = []

    def say(self, text, level="info"):
        del level
        self.said.append(text)


class Submitted:
    """A runner whose job was submitted, and which then fails."""

    def __init__(self, error, result, engine):
        self.error, self.result, self.engine = error, result, engine

    def run(self, pipeline, *_, **__):
        pipeline.result = self.result
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_ctrl_c_and_errors_stop_the_job(error, flink):
    flink.jobs = {"shardkit-0011aabb": "RUNNING"}
    cancelled_before = []  # the workers stop first: the driver may be killed while it asks the engine
    phase = Phase(Listener(), "writing", 1, int, stop=lambda: cancelled_before.append(len(flink.cancelled)))
    with pytest.raises(error):
        run_with_progress(Submitted(error, object(), on(flink)), pipeline(), phase)
    assert flink.cancelled == ["shardkit-0011aabb"]
    assert cancelled_before == [0]


def test_ctrl_c_while_a_job_is_submitted_that_nobody_waits_for_stops_it(flink):
    flink.jobs = {"shardkit-0011aabb": "RUNNING"}
    with pytest.raises(KeyboardInterrupt):
        submit(Submitted(KeyboardInterrupt, None, on(flink)), pipeline(), Listener())
    assert flink.cancelled == ["shardkit-0011aabb"]


def test_a_job_that_was_never_submitted_is_not_looked_for(flink):
    flink.jobs = {"shardkit-0011aabb": "RUNNING"}
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        run_with_progress(Submitted(OSError, None, on(flink)), pipeline(), Phase(Listener(), "writing", 1, int))
    assert flink.cancelled == []


def test_a_job_that_goes_on_is_told_to_the_listener():
    listener = Listener()
    submitted = Submitted(KeyboardInterrupt, None, SPARK)
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(submitted, pipeline("a-1"), Phase(listener, "writing", 1, int))
    [said] = listener.said
    assert said.startswith("The job a-1 may still run")
