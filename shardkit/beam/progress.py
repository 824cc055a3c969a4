"""Run a pipeline in the main thread while another thread polls its progress, and stop it after Ctrl-C or an error.

The workers of a job stop within seconds, because the driver removes the run's token. Beam's cancel() ends the job on
some engines only.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from apache_beam import Pipeline
from apache_beam.options.pipeline_options import GoogleCloudOptions
from apache_beam.runners.portability.job_server import StopOnExitJobServer

from shardkit.beam.interruptions import TimeOverError
from shardkit.beam.options import RunnerConfig
from shardkit.errors import MachineError
from shardkit.parallel.progress import Phase, Poll, ProgressListener, poll_while, shown

SILENT_SECONDS = 60.0  # an engine takes 10 s to start a job; Beam itself waits for a worker for 3 minutes
CANCEL_SECONDS = 5.0
_CAUSES = (
    "the engine has no free slot, no worker pool runs on its hosts, or the workers have another version of Python or "
    "Beam; see the engine's own page and logs"
)


def run_with_progress(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    """Run a pipeline to its end and report its progress."""
    done = threading.Event()  # the pipeline runs in this thread; see `interruptible`
    with job_servers_ended(), shown(phase) as poll:
        polling = threading.Thread(
            target=poll_while,
            args=(lambda pause: not done.wait(pause), _telling_silence(poll, phase), phase.watch),
            name="progress",
            daemon=True,
        )
        polling.start()
        try:
            runner.run(pipeline, lambda result: _say_link(result, phase.listener), phase.seconds)
        except BaseException as error:
            _stop(error, runner, pipeline, phase.listener, phase.stop)
            if not isinstance(error, TimeOverError):
                raise
            raise MachineError(f"no worker has answered for {phase.seconds:.0f} s: {_CAUSES}") from None
        finally:
            done.set()
            polling.join()
        poll()  # the final numbers


def submit(runner: RunnerConfig, pipeline: Pipeline, listener: ProgressListener) -> None:
    """Give a pipeline to its engine, and say the job's name."""
    try:
        runner.run(pipeline, waits=False)
    except BaseException as error:
        _stop(error, runner, pipeline, listener)
        raise
    listener.say(f"the engine has taken the job {_job_name(pipeline)}")
    _say_link(pipeline.result, listener)


def _say_link(result: Any, listener: ProgressListener) -> None:
    """Say the address of a job's page; only Dataflow's have one."""
    job = getattr(result, "_job", None)
    project = getattr(job, "project_id", None) or getattr(job, "projectId", None)  # Beam changed its client library
    names = [getattr(job, "location", None), getattr(job, "id", None), project]
    if all(isinstance(name, str) and name for name in names):
        region, number, name = (quote(str(part), safe="") for part in names)
        listener.say(f"the job's page: https://console.cloud.google.com/dataflow/jobs/{region}/{number}?project={name}")


def _job_name(pipeline: Pipeline) -> str:
    return str(pipeline.options.view_as(GoogleCloudOptions).job_name)


def _stop(
    error: BaseException,
    runner: RunnerConfig,
    pipeline: Pipeline,
    listener: ProgressListener,
    stop_workers: Callable[[], None] | None = None,
) -> None:
    """Stop the workers and then the job, unless an error came before the job was submitted; Ctrl-C may come between."""
    result = getattr(pipeline, "result", None)
    if isinstance(error, Exception) and result is None:
        return
    if stop_workers is not None:
        with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
            stop_workers()
    engine = runner.engine
    runs_here = engine.kind in {"direct", "other"} and result is None  # there is a result only after all work
    if runs_here or engine.is_inside_job_server or (result is not None and _is_ended(result)):
        return
    listener.say(
        f"The job {_job_name(pipeline)} may still run on its engine, where it writes nothing more; cancel it there"
    )


def _is_ended(result: Any) -> bool:
    """Return whether a job has ended, after asking Beam to cancel it."""
    if _has_ended(result):
        return True

    def cancel() -> None:
        with contextlib.suppress(Exception):
            result.cancel()

    thread = threading.Thread(target=cancel, name="cancel", daemon=True)  # some runners wait for the end
    thread.start()
    thread.join(CANCEL_SECONDS)
    return _has_ended(result)


def _has_ended(result: Any) -> bool:
    try:
        state = result.state
    except Exception:  # noqa: BLE001 - the job service may be gone, as one that the runner started: then the last state
        state = getattr(result, "_state", None)
    return str(state) in {"DONE", "FAILED", "CANCELLED", "DRAINED"}


def _telling_silence(poll: Poll, phase: Phase) -> Poll:
    """Return a function that polls the progress, and says once if there is none for SILENT_SECONDS from the start."""
    first: tuple[int, int | None] | None = None
    until = math.inf if phase.seconds is not None else time.monotonic() + SILENT_SECONDS

    def poll_and_tell() -> tuple[int, int | None] | None:
        nonlocal first, until
        found = poll()
        first = first or found
        if found not in {None, first}:  # not above 0: a resumed run begins with finished shards
            until = math.inf
        elif time.monotonic() >= until:
            until = math.inf
            phase.listener.say(
                f"No worker has answered for {SILENT_SECONDS:.0f} s: {_CAUSES}. Or stop this run, and let `shardkit "
                "doctor` try the workers with the same options",
                "warning",
            )
        return found

    return poll_and_tell


@contextlib.contextmanager
def job_servers_ended() -> Iterator[None]:
    """End all job servers that Beam starts in the body: Prism, and those of Flink and Spark in Java.

    Beam ends them when Python exits, which a process that is interrupted never reaches: they would stay for ever. Beam
    starts one again that it needs again.
    """
    started: list[Any] = []
    start = StopOnExitJobServer.start

    def noted(server: Any) -> Any:
        started.append(server)  # first: an interrupted start may leave a process
        return start(server)

    StopOnExitJobServer.start = noted
    try:
        yield
    finally:
        StopOnExitJobServer.start = start
        for server in started:
            with contextlib.suppress(Exception):
                server.stop()
