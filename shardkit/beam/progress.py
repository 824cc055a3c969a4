"""Run a pipeline in the main thread while another thread polls its progress."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from apache_beam import Pipeline

from shardkit.beam.engine_log import EngineLog, engine_log
from shardkit.beam.interruptions import TimeOverError
from shardkit.beam.job_link import job_link
from shardkit.beam.job_servers import job_servers_ended
from shardkit.beam.options import RunnerConfig
from shardkit.beam.stopping import job_name, stop_job
from shardkit.doctor.failure import likely_causes
from shardkit.doctor.flink_job import look_at_job
from shardkit.parallel.progress import NoAnswerError, Phase, ProgressListener, Show, show_once, show_while

SILENT_SECONDS = 60.0  # an engine takes 10 s to start a job; Beam itself waits for a worker for 3 minutes


def run_with_progress(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    """Run a pipeline to its end and report its progress.

    Raises:
        NoAnswerError: The phase's time is over.
        MachineError: See RunnerConfig.run.
    """
    # The pipeline runs in this thread; see `interruptible`.
    done = threading.Event()

    def started(result: Any) -> None:
        if link := job_link(result):
            phase.listener.say(f"the job's page: {link}")

    with engine_log() as log, job_servers_ended(), phase.listener.phase(phase.name, phase.total) as show:
        poll = threading.Thread(
            target=show_while,
            args=(lambda pause: not done.wait(pause), _Listening(show, runner, pipeline, phase, log), phase),
            name="progress",
            daemon=True,
        )
        poll.start()
        try:
            runner.run(pipeline, log, started, phase.seconds)
        except TimeOverError:
            logging.getLogger("apache_beam").setLevel(logging.CRITICAL)  # a job that is cancelled is an error to Beam
            job = look_at_job(runner.engine, job_name(pipeline))
            said, path = stop_job(runner.engine, pipeline, phase.listener.say), log.keep()
            msg = f"no worker has answered for {phase.seconds:.0f} s" + (f"; {job.sentence}" if job else "")
            msg += f"; the engine's messages are in {path}" if path else ""
            msg += f". {said}" if said else ""
            raise NoAnswerError(msg, likely_causes(runner.engine, job)) from None
        except BaseException as error:
            if phase.is_answer is not None and phase.is_answer(str(error.__cause__ or error)):
                log.is_kept = False  # the job failed on purpose
                return
            _stop(error, runner, pipeline, phase.listener, phase.stop)
            raise
        finally:
            done.set()
            poll.join()
        show_once(show, phase)  # the final numbers


def submit(runner: RunnerConfig, pipeline: Pipeline, listener: ProgressListener) -> None:
    """Give a pipeline to its engine, and say the job's name.

    Raises:
        MachineError: See RunnerConfig.run.
    """
    with engine_log() as log:
        try:
            runner.run(pipeline, log, waits=False)
        except BaseException as error:
            _stop(error, runner, pipeline, listener)
            raise
    listener.say(f"the engine has taken the job {job_name(pipeline)}")
    if link := job_link(pipeline.result):
        listener.say(f"the job's page: {link}")


def _stop(
    error: BaseException,
    runner: RunnerConfig,
    pipeline: Pipeline,
    listener: ProgressListener,
    stop_workers: Callable[[], None] | None = None,
) -> None:
    """Stop the workers and then the job, unless an error came before the job was submitted; Ctrl-C may come between."""
    if isinstance(error, Exception) and getattr(pipeline, "result", None) is None:
        return
    if stop_workers is not None:
        with contextlib.suppress(OSError):  # an unreachable output must not hide the original error
            stop_workers()
    if said := stop_job(runner.engine, pipeline, listener.say):
        listener.say(said)


class _Listening:
    """Passes on the progress, and says once if there is none for SILENT_SECONDS from the start."""

    def __init__(self, show: Show, runner: RunnerConfig, pipeline: Pipeline, phase: Phase, log: EngineLog) -> None:
        self._show, self._runner, self._pipeline, self._phase, self._log = show, runner, pipeline, phase, log
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
            job = look_at_job(self._runner.engine, job_name(self._pipeline))
            causes = likely_causes(self._runner.engine, job)
            self._log.is_kept = True  # the user may look into it after Ctrl-C
            self._phase.listener.say(
                f"No worker has answered for {SILENT_SECONDS:.0f} s{f'; {job.sentence}' if job else ''}; see "
                f"{self._log.path}, or stop this run and let `shardkit doctor` try the workers with the same options. "
                f"Most likely: {causes[0]}",
                "warning",
            )
