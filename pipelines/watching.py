"""Run a pipeline while its progress is polled: `run()` blocks, so the pipeline gets the side thread."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from apache_beam import Pipeline

from pipelines.options import Running

POLL_SECONDS = 0.5
# Counting lists folders, which is slow on object stores: it may take a twentieth of the time.
POLL_SHARE = 20


class Watch(Protocol):
    """Who looks on while a job runs."""

    def say(self, text: str) -> None:
        """A sentence that is known now."""
        ...

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """A phase begins; what it gives is called with the number of images done so far, out of `total` where known."""
        ...


def run_watched(
    running: Running, pipeline: Pipeline, watch: Watch, *, phase: str, total: int | None, count: Callable[[], int]
) -> None:
    """Run to the end; Ctrl-C is answered at once, because the waiting thread is this one.

    Raises:
        MachineError: see Running.run.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            running.run(pipeline)
        except BaseException as error:  # noqa: BLE001 - handed over to the waiting thread, whatever it is
            failures.append(error)

    thread = threading.Thread(target=run, name="pipeline", daemon=True)
    with watch.phase(phase, total) as show:
        thread.start()
        pause = POLL_SECONDS
        while thread.is_alive():
            thread.join(pause)
            started = time.monotonic()
            show(count())
            pause = max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - started))
    if failures:
        raise failures[0]
