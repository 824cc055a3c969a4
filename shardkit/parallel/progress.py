"""The progress of a job: its phases, and the interface of what shows them.

The driver finds the stage of a job on an engine by the files that workers have written. Counters and distributions of
workers are for people who watch a job: an engine shows them on its page, and threads of this process count nothing.
What decides anything, such as the number of rejects, travels in files, because engines count repeated elements twice.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

_LOG = logging.getLogger("shardkit")
POLL_SECONDS = 0.5
# Counting lists folders: 0.1 s for a million images, more on object stores. It may take 1 % of the time.
POLL_SHARE = 100

Level: TypeAlias = Literal["info", "warning"]
Counting = Callable[[str, int], None]
Poll: TypeAlias = Callable[[], tuple[int, int | None] | None]  # shows progress; returns it unless that failed
_functions: dict[str, Counting] = {}  # of this process


class Show(Protocol):
    """Receives the progress of a phase."""

    def __call__(self, done: int, total: int | None = None, rejected: int | None = None, /) -> None:
        """Show the progress.

        Args:
            done: Number of images done so far.
            total: Number of images of the phase known so far, which grows while they are listed; None if unchanged.
            rejected: Number of images rejected so far, earlier phases included; None if unchanged.
        """
        ...


class ProgressListener(Protocol):
    """Receives messages and progress while a job runs."""

    def say(self, text: str, level: Level = "info") -> None:
        """Receive a message for the user.

        Args:
            text: The message, of one or more lines.
            level: Whether it is a warning, such as signs of a misread source.
        """
        ...

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Show]:
        """Begin a phase.

        Args:
            name: Name of the phase, such as "writing".
            total: Number of images of the phase; None if unknown.

        Returns:
            A context manager that ends the phase; its value takes the progress.
        """
        ...


class Silent:
    """A listener that shows nothing."""

    def say(self, text: str, level: Level = "info") -> None:
        """Ignore the message."""

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Show]:
        """Ignore the phase."""
        return contextlib.nullcontext(ignore_progress)


class Logged(Silent):
    """A listener of a worker: it writes messages into the log, which engines show."""

    def say(self, text: str, level: Level = "info") -> None:
        _LOG.log(logging.WARNING if level == "warning" else logging.INFO, "%s", text)


def ignore_progress(done: int, total: int | None = None, rejected: int | None = None, /) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a job and how its progress is measured: by the work folder, so that workers report nothing."""

    listener: ProgressListener
    name: str
    total: int | None  # number of images of the phase
    count: Callable[[], int]  # images done so far
    count_total: Callable[[], int | None] | None = None  # known so far, if `total` is not known
    count_rejected: Callable[[], int] | None = None  # so far; None if the phase rejects none
    watch: Callable[[], None] | None = None  # called every second or so, so that the driver can end the phase
    # Makes the workers stop by themselves, before the engine is asked to end the job: that may take longer than the
    # driver is given to live after SIGTERM.
    stop: Callable[[], None] | None = None
    seconds: float | None = None  # after which a job on an engine is stopped

    following: Callable[[], "Phase | None"] = lambda: None  # the next phase of the same job, once it has begun

    def poll(self, show: Show) -> tuple[int, int | None]:
        """Show the progress once, and return it: the numbers done and known."""
        done, total = self.count(), None if self.count_total is None else self.count_total()
        show(done, total, None if self.count_rejected is None else self.count_rejected())
        return done, total


@contextlib.contextmanager
def shown(phase: Phase) -> Iterator[Poll]:
    """Show a phase, and those that follow it, during the block; its value polls once."""
    with contextlib.ExitStack() as open_phase:
        show = open_phase.enter_context(phase.listener.phase(phase.name, phase.total))

        def poll() -> tuple[int, int | None] | None:
            nonlocal phase, show
            with contextlib.suppress(Exception):  # a listing may fail where the job does not
                while (following := phase.following()) is not None:
                    phase.poll(show)
                    open_phase.close()
                    phase = following
                    show = open_phase.enter_context(phase.listener.phase(phase.name, phase.total))
                return phase.poll(show)
            return None

        yield poll


def poll_while(goes_on: Callable[[float], bool], poll: Poll, watch: Callable[[], None] | None) -> None:
    """Poll the progress while `goes_on`, which waits for as many seconds at most, is true; see `Phase.watch`."""
    next_poll = 0.0
    while goes_on(POLL_SECONDS):
        if watch is not None:
            with contextlib.suppress(Exception):
                watch()
        if (started := time.monotonic()) >= next_poll:
            poll()
            ended = time.monotonic()
            next_poll = ended + POLL_SHARE * (ended - started)


def count(name: str, number: int = 1) -> None:
    """Add to a counter, such as ``shards_written``."""
    if "count" in _functions:
        _functions["count"](name, number)


def measure(name: str, value: int) -> None:
    """Add a value to a distribution, such as ``shard_bytes``."""
    if "measure" in _functions:
        _functions["measure"](name, value)


def count_with(count_by: Counting, measure_by: Counting) -> None:
    """Count by these functions in this process, from now on."""
    _functions.update(count=count_by, measure=measure_by)
