"""Interrupt a job in the main thread, by Ctrl-C or after a time, and again until the job has been left.

Python ignores an exception that a signal's handler raises in a finalizer or in the callback of a weak reference, where
a garbage collection may run it. Beam's pipelines have many of both: of 8 Ctrl-C during a submission, 6 were lost, and
the dataset was published with exit code 0. Runners also replace handlers, and turn what these raise into other errors.
"""

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from apache_beam.utils import subprocess_server

from shardkit.errors import CallError

TICK_SECONDS = 0.2
AGAIN_SECONDS = 10.0  # before an exception that nobody lost is raised again: Beam takes 5 s to end a job server
_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class TimeOverError(BaseException):
    """The time of a job is over. Not an Exception: Beam catches those."""


@contextlib.contextmanager
def interruptible(seconds: float | None = None) -> Iterator[None]:
    """End the body by what the handlers of Ctrl-C and SIGTERM raise, whatever Python, Beam and runners do with it.

    The body stays in the main thread, because Beam's job servers set handlers, which Python allows there only. In other
    threads, which get no signals, nothing changes.

    Args:
        seconds: Time after which TimeOverError is raised in the body; None for no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        if seconds is not None:
            raise CallError("a job with a limit of time runs in the main thread only")
        yield
        return
    watch = _Watch(math.inf if seconds is None else seconds)
    try:
        yield
    except Exception as error:
        watch.end()
        if watch.raised is not None:
            raise watch.raised from error
        raise
    finally:
        watch.end()
    if watch.raised is not None:  # it was lost, and the job has ended since
        raise watch.raised


class _Watch:
    """The handlers of a job's signals, and a timer that raises again what was lost: `raised` is the last of it."""

    def __init__(self, seconds: float) -> None:
        self.raised: BaseException | None = None
        self._until, self._again, self._is_over = time.monotonic() + seconds, math.inf, False
        self._before: dict[int, Callable[..., Any]] = {}
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler):  # neither ignored, as by nohup, nor the system's
                self._before[number] = handler
                signal.signal(number, self._handle)
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        self._alarm = signal.signal(signal.SIGALRM, self._tick)
        self._timer = signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)

    def end(self) -> None:
        """Put the handlers and the timer back that were there before."""
        if self._is_over:
            return
        self._is_over = True  # first: a tick may come before the next line
        signal.setitimer(signal.ITIMER_REAL, *self._timer)
        signal.signal(signal.SIGALRM, self._alarm or signal.SIG_DFL)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self._unraisable

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before[number](number, frame)
        except BaseException as error:
            self.raised = error
            if _is_starting_a_server(frame):
                self._again = 0.0
                return
            self._again = time.monotonic() + AGAIN_SECONDS
            raise

    def _on_unraisable(self, lost: Any) -> None:
        if lost.exc_value is self.raised:  # Python has no other place for it; the next tick has
            self._again = 0.0
        else:
            self._unraisable(lost)

    def _tick(self, _: int, frame: FrameType | None) -> None:
        if self._is_over or _is_starting_a_server(frame):
            return
        for number in self._before:
            if signal.getsignal(number) != self._handle:  # Beam's job servers end the server first
                signal.signal(number, self._handle)
        now = time.monotonic()
        if self.raised is None and now >= self._until:
            self.raised, self._again = TimeOverError(), now
        if self.raised is not None and now >= self._again:
            self._again = now + AGAIN_SECONDS
            raise self.raised


def _is_starting_a_server(frame: FrameType | None) -> bool:
    """Return whether Beam starts a process that it has not noted yet: an exception would leave it running for ever."""
    while frame is not None:
        if (frame.f_code.co_filename, frame.f_code.co_name) == (subprocess_server.__file__, "get"):
            return True
        frame = frame.f_back
    return False
