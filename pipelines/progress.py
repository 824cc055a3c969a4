"""Run a pipeline in the main thread while another thread polls its progress."""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

from apache_beam import Pipeline

from shardkit.doctor.failure import likely_causes
from shardkit.errors import CallError
from shardkit.parallel.progress import NoAnswerError, Phase, Show, show_once, show_while
from shardkit.pipelines.engine_log import EngineLog, engine_log
from shardkit.pipelines.job_link import job_link
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.stopping import stop_job

SILENT_SECONDS = 60.0  # an engine takes 10 s to start a job; Beam itself waits for a worker for 3 minutes


def run_with_progress(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    """Run a pipeline to its end and report its progress.

    Raises:
        NoAnswerError: The phase's time is over.
        MachineError: See RunnerConfig.run.
    """
    # Runners that start a job server set signal handlers, which Python allows in the main thread only.
    done = threading.Event()

    def started(result: Any) -> None:
        if link := job_link(result):
            phase.listener.say(f"the job's page: {link}")

    with engine_log() as log, phase.listener.phase(phase.name, phase.total) as show:
        poll = threading.Thread(
            target=show_while,
            args=(lambda pause: not done.wait(pause), _Listening(show, runner, phase, log), phase),
            name="progress",
            daemon=True,
        )
        poll.start()
        try:
            with _limited(phase.seconds):
                runner.run(pipeline, log, started)
        except _TimeOverError:
            logging.getLogger("apache_beam").setLevel(logging.CRITICAL)  # a job that is cancelled is an error to Beam
            said, path = stop_job(pipeline, phase.listener.say), log.keep()
            msg = f"no worker has answered for {phase.seconds:.0f} s"
            msg += f"; the engine's messages are in {path}" if path else ""
            msg += f". {said}" if said else ""
            raise NoAnswerError(msg) from None
        except BaseException as error:
            if phase.is_answer is not None and phase.is_answer(str(error.__cause__ or error)):
                log.is_kept = False  # the job failed on purpose
                return
            # An error before the job was submitted leaves nothing to stop; Ctrl-C may come between.
            if not isinstance(error, Exception) or getattr(pipeline, "result", None) is not None:
                _stop(pipeline, phase)
            raise
        finally:
            done.set()
            poll.join()
        show_once(show, phase)  # the final numbers


def _stop(pipeline: Pipeline, phase: Phase) -> None:
    """Stop the workers and then the job."""
    if phase.stop is not None:
        with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
            phase.stop()
    if said := stop_job(pipeline, phase.listener.say):
        phase.listener.say(said)


class _TimeOverError(BaseException):
    """Not an Exception: Beam and RunnerConfig.run catch those."""


@contextlib.contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raise _TimeOverError in the main thread when the time is over.

    Not by waiting for a thread that runs the job: Beam's job servers set signal handlers, so they need this thread.
    """
    if seconds is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        msg = "a job with a limit of time runs in the main thread only"
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


class _Listening:
    """Passes on the progress, and says once if there is none for SILENT_SECONDS from the start."""

    def __init__(self, show: Show, runner: RunnerConfig, phase: Phase, log: EngineLog) -> None:
        self._show, self._runner, self._phase, self._log = show, runner, phase, log
        self._first: tuple[int, int | None] | None = None
        self._until = time.monotonic() + SILENT_SECONDS
        self._is_over = phase.seconds is not None  # then silence ends the job

    def __call__(self, done: int, total: int | None = None, rejected: int | None = None, /) -> None:
        self._show(done, total, rejected)
        if self._is_over:
            return
        self._first = self._first or (done, total)
        if (done, total) != self._first:  # not above 0: a resumed run begins with finished shards
            self._is_over = True
        elif time.monotonic() >= self._until:
            self._is_over = True
            causes = likely_causes(self._runner.engine)
            self._log.is_kept = True  # the user may look into it after Ctrl-C
            self._phase.listener.say(
                f"No worker has answered for {SILENT_SECONDS:.0f} s; see {self._log.path}, or stop this run and let "
                f"`shardkit doctor` try the workers with the same options. Most likely: {causes[0]}",
                "warning",
            )
