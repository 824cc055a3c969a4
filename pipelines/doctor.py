"""A tiny job that shows what an engine's workers see: as many elements as reach every worker, each a look around.

Its result is a file in OUT. If the workers cannot write there, the job fails on purpose: engines pass on the text of an
error, and nothing else, from a worker that shares no storage with the driver.
"""

import base64
import contextlib
import logging
import re
import signal
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.doctor.worker_report import DRIVER_FILE, LookJob, WorkerReport, as_payload, look, merged, of_payload
from shardkit.errors import CallError, MachineError
from shardkit.pipelines.engine_log import engine_log
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.stopping import stop_job

NUM_ELEMENTS = 256  # more than a usual cluster has slots
REPORTS = "reports.json"
_MARK = "shardkit-doctor-reports:"
_MARKED = re.compile(rf"{_MARK}([A-Za-z0-9+/=]+):")


class NoAnswerError(MachineError):
    """The workers did not answer in time."""


class _TimeOverError(BaseException):
    """Not an Exception: Beam and RunnerConfig.run catch those."""


@dataclass
class LookAround(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """Numbers to one file with the reports of all workers."""

    job: LookJob

    def expand(self, numbers: Any) -> Any:
        """See PTransform."""
        return (
            numbers
            | "SpreadLooks" >> beam.Reshuffle()  # int
            | "Look" >> beam.Map(_look, self.job)  # (0, WorkerReport as JSON)
            | "GatherReports" >> beam.GroupByKey()  # (0, [WorkerReport as JSON])
            | "WriteReports" >> beam.Map(_write_reports, self.job)  # None
        )


def _look(_number: int, job: LookJob) -> tuple[int, str]:
    return 0, look(job, beam.__version__).as_json()


def _write_reports(gathered: tuple[int, Iterable[str]], job: LookJob) -> None:
    payload = as_payload(merged(map(WorkerReport.of_json, gathered[1]))).encode()
    with contextlib.suppress(OSError):
        if job.output.read(f"{job.folder}/{DRIVER_FILE}") == job.token.encode():
            with job.output.atomic_write(f"{job.folder}/{REPORTS}") as file:
                file.write(payload)
            return
    msg = f"{_MARK}{base64.b64encode(zlib.compress(payload)).decode()}:"
    raise RuntimeError(msg)


def reports_in(text: str) -> list[WorkerReport] | None:
    """Return the reports that an engine's error carries; None if there are none."""
    found = _MARKED.search(text)
    return None if found is None else of_payload(zlib.decompress(base64.b64decode(found[1])).decode())


def worker_reports(
    runner: RunnerConfig, job: LookJob, seconds: float, say: Callable[[str], None]
) -> tuple[list[WorkerReport], set[str]]:
    """Run the tiny job; return one report for each process, and the paths of their files that the driver sees.

    Args:
        runner: The runner and its options.
        job: The job; see `look_job`.
        seconds: Time after which the job is given up, and stopped on its engine.
        say: Receives a sentence about a job that Ctrl-C could not stop.

    Raises:
        NoAnswerError: No worker answered in time.
        MachineError: The runner failed.
    """
    pipeline = runner.pipeline()
    _ = pipeline | "Numbers" >> beam.Create(range(NUM_ELEMENTS), reshuffle=False) | "LookAround" >> LookAround(job)
    with engine_log() as log:
        try:
            with _limited(seconds):
                runner.run(pipeline, log)
        except _TimeOverError:
            said = _stop(pipeline, say)
            path = log.keep()
            msg = f"no worker has answered for {seconds:.0f} s"
            msg += f"; the engine's messages are in {path}" if path else ""
            msg += f". {said}" if said else ""
            raise NoAnswerError(msg) from None
        except KeyboardInterrupt:
            if said := _stop(pipeline, say):
                say(said)
            raise
        except MachineError as error:
            reports = reports_in(str(error.__cause__ or error))
            if reports is None:
                raise
            log.is_kept = False  # it failed on purpose
            return reports, set()
    probes = {f"{job.folder}/{entry.name}" for entry in job.output.scan(job.folder)}
    return of_payload(job.output.read(f"{job.folder}/{REPORTS}").decode()), probes


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _TimeOverError in the main thread when the time is over.

    Not by waiting for a thread that runs the job: Beam's job servers set signal handlers, so they need this thread.
    """
    if threading.current_thread() is not threading.main_thread():
        msg = "the doctor's job runs in the main thread only"
        raise CallError(msg)

    def give_up(*_: object) -> None:
        raise _TimeOverError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(pipeline: beam.Pipeline, say: Callable[[str], None]) -> str:
    """Stop the job as a conversion's; see stop_job."""
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)  # a job that is cancelled is an error to Beam
    return stop_job(pipeline, say)
