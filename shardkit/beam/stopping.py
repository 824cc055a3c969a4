"""Stop a job on its engine after Ctrl-C or an error.

Beam's own cancel() returns at once on portable runners, and the job goes on. Its workers stop within seconds, because
the driver removes the run's token, but the job holds slots of the cluster until the engine has noticed. So each job
gets a unique name, and the engine's own interface is asked to cancel it.
"""

import contextlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from apache_beam import Pipeline
from apache_beam.options.pipeline_options import GoogleCloudOptions

from shardkit.doctor.engine import Engine
from shardkit.doctor.flink import DIRECT

REQUEST_SECONDS = 5.0
REQUESTS = 3  # before Flink counts as gone: while it receives a job's jars on a busy host, one was seen to take longer
CANCEL_SECONDS = 10.0  # until the engine has stopped the job
APPEAR_SECONDS = 3.0  # of a job whose submission may not have begun
UPLOAD_SECONDS = 30.0  # of a job that the job server has taken: it uploads its jars to Flink first, 13 s were seen
LOOK_SECONDS = 0.5  # between two looks
_OVER = {"FINISHED", "CANCELED", "FAILED"}


def unique_job_name(given: str | None) -> str:
    """Return a name by which a job is found on its engine: the user's --job_name and random digits.

    It is one that Dataflow takes: lower-case letters, digits and hyphens.
    """
    return f"{given or 'shardkit'}-{secrets.token_hex(4)}"


def job_name(pipeline: Pipeline) -> str:
    """Return the name of a pipeline's job."""
    return str(pipeline.options.view_as(GoogleCloudOptions).job_name)


def stop_job(engine: Engine, pipeline: Pipeline, say: Callable[[str], None]) -> str:
    """Ask the engine to cancel a job that may still run.

    Args:
        engine: The engine, by the options that the user gave: Beam changes those of the pipeline.
        pipeline: The pipeline; its options have the job's name, and its `result` the job if it was submitted.
        say: Receives a sentence if this takes longer than a user expects of Ctrl-C.

    Returns:
        A sentence about the job for the user; '' if it is over.
    """
    name = job_name(pipeline)
    flink = flink_rest_url(engine)
    result = getattr(pipeline, "result", None)
    if flink is not None:
        return _stop_on_flink(flink, name, result, say)
    runs_here = engine.kind in {"direct", "other"}  # then there is a result only after all work
    if _has_ended(result) or engine.is_inside_job_server or (result is None and runs_here):
        return ""
    if result is not None:
        _cancel(result)
    if _has_ended(result):
        return ""
    return f"The job {name} may still run on its engine, without writing anything. To stop it, {_how(engine, name)}"


def flink_rest_url(engine: Engine) -> str | None:
    """Return the address of Flink's REST interface; None if the options do not name a Flink cluster."""
    master = engine.flink_master.strip().rstrip("/")
    if master.startswith(("http://", "https://")):
        return master
    return None if engine.flink is None else f"http://{engine.flink}"


def _stop_on_flink(url: str, name: str, result: Any, say: Callable[[str], None]) -> str:
    """Cancel a job by its name; see stop_job."""
    try:
        job = _find(url, name, APPEAR_SECONDS)
        if job is None and _is_going_on(result):
            say(f"waiting for the job {name} to appear on Flink, to cancel it: {UPLOAD_SECONDS:.0f} s at most …")
            job = _find(url, name, UPLOAD_SECONDS)
            if job is None and _is_going_on(result):
                return (
                    f"The job {name} may still appear on its engine, where it will write nothing. To stop it, look its "
                    f"id up at {url}/jobs/overview, and run: curl -X PATCH '{url}/jobs/ID?mode=cancel'"
                )
        if job is None or _cancel_on_flink(url, job):
            return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        found = f"did not answer ({getattr(error, 'reason', None) or error})"
        how = f"look its id up at {url}/jobs/overview, and run: curl -X PATCH '{url}/jobs/ID?mode=cancel'"
    else:
        found, how = (
            f"did not end it within {CANCEL_SECONDS:.0f} s",
            f"run: curl -X PATCH '{url}/jobs/{job}?mode=cancel'",
        )
    return f"The job {name} may still run on its engine, without writing anything: Flink {found}. To stop it, {how}"


def _cancel_on_flink(url: str, job: str) -> bool:
    """Cancel a job; return whether it ended in time."""
    deadline = time.monotonic() + CANCEL_SECONDS
    while _ask(f"{url}/jobs/{job}")["state"] not in _OVER:
        if time.monotonic() > deadline:
            return False
        with contextlib.suppress(urllib.error.HTTPError):  # the job has ended in between
            _ask(f"{url}/jobs/{job}?mode=cancel", "PATCH")
        time.sleep(LOOK_SECONDS)
    return True


def _find(url: str, name: str, seconds: float) -> str | None:
    """Return the id of the job with this name, waiting for it to appear."""
    digits = name.rpartition("-")[2]  # the job server may add to the name, and the digits are in no other job's
    deadline = time.monotonic() + seconds
    while True:
        jobs = _ask(f"{url}/jobs/overview")["jobs"]
        job = next((str(one["jid"]) for one in jobs if digits in one["name"]), None)
        if job is not None or time.monotonic() > deadline:
            return job
        time.sleep(LOOK_SECONDS)


def _ask(url: str, method: str = "GET", requests: int = REQUESTS) -> Any:
    request = urllib.request.Request(url, method=method)  # noqa: S310 - the user's own --flink_master
    try:
        with DIRECT.open(request, timeout=REQUEST_SECONDS) as answer:
            return json.loads(answer.read() or b"{}")
    except OSError as error:
        is_late = isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)
        if not is_late or requests == 1:
            raise
    return _ask(url, method, requests - 1)


def _has_ended(result: Any) -> bool:
    try:
        state = None if result is None else result.state
    except Exception:  # noqa: BLE001 - the job service may be gone, as one that the runner started: then the last state
        state = getattr(result, "_state", None)
    return str(state) in {"DONE", "FAILED", "CANCELLED", "DRAINED"}


def _is_going_on(result: Any) -> bool:
    """Return whether the job server has taken the job, is there, and has not ended the job."""
    try:
        return result is not None and str(result.state) in {"STARTING", "RUNNING", "STOPPED", "UNKNOWN"}
    except Exception:  # noqa: BLE001 - the job server is gone, and with it the upload: the runner's own dies of Ctrl-C
        return False


def _cancel(result: Any) -> None:
    """Ask Beam to cancel, and wait for a while: some runners do."""

    def cancel() -> None:
        with contextlib.suppress(Exception):
            result.cancel()

    thread = threading.Thread(target=cancel, name="cancel", daemon=True)
    thread.start()
    thread.join(REQUEST_SECONDS)


def _how(engine: Engine, name: str) -> str:
    if engine.kind == "dataflow":
        return f"run: gcloud dataflow jobs list --filter=name={name}, and gcloud dataflow jobs cancel with its id"
    if engine.kind == "spark":
        return "end the application of this name in Spark's web page or, if the job server started it, end that server"
    return (
        f"cancel the job of this name on the engine behind {engine.job_endpoint or engine.runner}; with "
        "--flink_master=HOST:8081, shardkit cancels jobs on Flink itself"
    )
