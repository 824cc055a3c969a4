"""The progress of a job: its phases, and the interface of what shows them."""

import contextlib
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

_LOG = logging.getLogger("shardkit")
POLL_SECONDS = 0.5
# Counting lists folders: 0.1 s for a million images, more on object stores. It may take 1 % of the time.
POLL_SHARE = 100

Level: TypeAlias = Literal["info", "warning"]


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
        """See ProgressListener."""
        _LOG.log(logging.WARNING if level == "warning" else logging.INFO, "%s", text)


def ignore_progress(done: int, total: int | None = None, rejected: int | None = None, /) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a job and how its progress is measured.

    Attributes:
        listener: Receives the progress.
        name: Name of the phase.
        total: Number of images of the phase; None if unknown.
        count: Returns the number of images done so far. It reads the work folder, so workers report nothing.
        count_total: Returns the total known so far, or None if it is unknown; None if `total` is known.
        count_rejected: Returns the number of images rejected so far; None if the phase rejects none.
        watch: Called every second or so, so that the driver can end the phase; None for nothing.
        stop: Makes the workers stop by themselves; called before the engine is asked to end the job, which may take
            longer than the driver is given to live after SIGTERM. None for nothing.
        seconds: Time after which a job on an engine is stopped; None to wait.
    """

    listener: ProgressListener
    name: str
    total: int | None
    count: Callable[[], int]
    count_total: Callable[[], int | None] | None = None
    count_rejected: Callable[[], int] | None = None
    watch: Callable[[], None] | None = None
    stop: Callable[[], None] | None = None
    seconds: float | None = None

    def poll(self, show: Show) -> None:
        """Show the progress once."""
        total = None if self.count_total is None else self.count_total()
        show(self.count(), total, None if self.count_rejected is None else self.count_rejected())


def show_while(goes_on: Callable[[float], bool], show: Show, phase: Phase) -> None:
    """Show the progress of a phase until it ends.

    Args:
        goes_on: Waits for as many seconds at most, and returns whether the phase goes on.
        show: Receives the progress.
        phase: The phase. What its functions raise is ignored: a listing may fail where the job does not.
    """
    next_poll = 0.0
    while goes_on(POLL_SECONDS):
        if phase.watch is not None:
            with contextlib.suppress(Exception):
                phase.watch()
        if (started := time.monotonic()) >= next_poll:
            show_once(show, phase)
            ended = time.monotonic()
            next_poll = ended + POLL_SHARE * (ended - started)


def show_once(show: Show, phase: Phase) -> None:
    """Show the progress of a phase; what its functions raise is ignored."""
    with contextlib.suppress(Exception):
        phase.poll(show)
