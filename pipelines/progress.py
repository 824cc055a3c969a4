"""Run a pipeline while its progress is polled: `run()` blocks, so the pipeline gets the side thread."""

import contextlib
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from apache_beam import Pipeline

from shardkit.pipelines.options import RunnerConfig

POLL_SECONDS = 0.5
# Counting lists folders, which is slow on object stores: it may take a twentieth of the time.
POLL_SHARE = 20


class ProgressListener(Protocol):
    """Who looks on while a job runs."""

    def say(self, text: str) -> None:
        """A sentence that is known now."""
        ...

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """A phase begins; what it gives is called with the number of images done so far, out of `total` where known."""
        ...


def run_with_progress(
    runner: RunnerConfig,
    pipeline: Pipeline,
    listener: ProgressListener,
    *,
    phase: str,
    total: int | None,
    count: Callable[[], int],
) -> None:
    """Run to the end; Ctrl-C is answered at once, because the waiting thread is this one.

    Raises:
        MachineError: see RunnerConfig.run.
    """
    if runner.in_process:
        _wait(runner, pipeline, listener, phase, total, count)
    else:
        _run_here(runner, pipeline, listener, phase, total, count)


def _wait(
    runner: RunnerConfig,
    pipeline: Pipeline,
    listener: ProgressListener,
    phase: str,
    total: int | None,
    count: Callable[[], int],
) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            runner.run(pipeline)
        except BaseException as error:  # noqa: BLE001 - handed over to the waiting thread, whatever it is
            failures.append(error)

    thread = threading.Thread(target=run, name="pipeline", daemon=True)
    with listener.phase(phase, total) as show:
        thread.start()
        _show_until(lambda pause: not _ended(thread, pause), show, count)
    if failures:
        raise failures[0]


def _run_here(
    runner: RunnerConfig,
    pipeline: Pipeline,
    listener: ProgressListener,
    phase: str,
    total: int | None,
    count: Callable[[], int],
) -> None:
    # Runners that start a job server of their own set signal handlers, which Python allows in this thread only.
    done = threading.Event()
    with listener.phase(phase, total) as show:
        poll = threading.Thread(
            target=_show_until, args=(lambda pause: not done.wait(pause), show, count), name="progress", daemon=True
        )
        poll.start()
        try:
            runner.run(pipeline)
        finally:
            done.set()
            poll.join()


def _ended(thread: threading.Thread, pause: float) -> bool:
    thread.join(pause)
    return not thread.is_alive()


def _show_until(goes_on: Callable[[float], bool], show: Callable[[int], None], count: Callable[[], int]) -> None:
    pause = POLL_SECONDS
    while goes_on(pause):
        started = time.monotonic()
        with contextlib.suppress(Exception):  # progress is best effort: a listing may fail where the job does not
            show(count())
        pause = max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - started))
