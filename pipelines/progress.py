"""Run a pipeline while its progress is polled: `run()` blocks, so one of the two needs a thread of its own."""

import contextlib
import threading
import time
from collections.abc import Callable

from apache_beam import Pipeline

from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.stopping import stop_job
from shardkit.writing.progress import Phase, Show

POLL_SECONDS = 0.5
# Counting lists folders: 0.1 s for a million images, more on object stores. It may take 1 % of the time.
POLL_SHARE = 100


def run_with_progress(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    """Run a pipeline to its end and report its progress.

    Raises:
        MachineError: See RunnerConfig.run.
    """
    if runner.in_process:
        _run_in_thread(runner, pipeline, phase)
    else:
        _poll_in_thread(runner, pipeline, phase)


def _run_in_thread(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    # The main thread polls, so it answers Ctrl-C at once.
    failures: list[BaseException] = []

    def run() -> None:
        try:
            runner.run(pipeline)
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            failures.append(error)

    thread = threading.Thread(target=run, name="pipeline", daemon=True)
    with phase.listener.phase(phase.name, phase.total) as show:
        thread.start()
        _show_until(lambda pause: not _ended(thread, pause), show, phase)
    if failures:
        raise failures[0]


def _poll_in_thread(runner: RunnerConfig, pipeline: Pipeline, phase: Phase) -> None:
    # Runners that start a job server set signal handlers, which Python allows in the main thread only.
    done = threading.Event()
    with phase.listener.phase(phase.name, phase.total) as show:
        poll = threading.Thread(
            target=_show_until,
            args=(lambda pause: not done.wait(pause), show, phase),
            name="progress",
            daemon=True,
        )
        poll.start()
        try:
            runner.run(pipeline)
        except BaseException as error:
            # An error before the job was submitted leaves nothing to stop; Ctrl-C may come between.
            if (not isinstance(error, Exception) or getattr(pipeline, "result", None) is not None) and (
                said := stop_job(pipeline)
            ):
                phase.listener.say(said)
            raise
        finally:
            done.set()
            poll.join()


def _ended(thread: threading.Thread, pause: float) -> bool:
    thread.join(pause)
    return not thread.is_alive()


def _show_until(goes_on: Callable[[float], bool], show: Show, phase: Phase) -> None:
    next_poll = 0.0
    while goes_on(POLL_SECONDS):
        with contextlib.suppress(Exception):  # a listing may fail where the job does not
            if phase.watch is not None:
                phase.watch()
            if (started := time.monotonic()) >= next_poll:
                phase.poll(show)
                ended = time.monotonic()
                next_poll = ended + POLL_SHARE * (ended - started)
