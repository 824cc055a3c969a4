"""Show a phase while it runs: a live line on a terminal, otherwise a line now and then, as text or JSON.

A thread shows the progress, so that it does not depend on how often a phase reports: counting what workers have written
may take minutes on an object store.
"""

import contextlib
import itertools
import logging
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from types import TracebackType

from shardkit.cli.progress.measure import Progress, Status, live_line, plain_line
from shardkit.naming import printable_json

LOG_FORMATS = ("text", "json")
JSON = "json"
_OPTION = "--log-format"
_END_OF_OPTIONS = "--"
LIVE_SECONDS = 0.25
FIRST_LOG_SECONDS = 2  # a phase that ends sooner is not worth a line
LOG_SECONDS, NUM_SOON = 5, 12  # between the first lines of a log; a log of hours has a line every 30 seconds
LATER_LOG_SECONDS = 30
ERASE_LINE = "\r\x1b[2K"
_ERASE_REST = "\x1b[K"


def log_format_of(arguments: list[str]) -> str:
    """Return the log format that a command line asks for: errors in other options are written in that format too."""
    end = arguments.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in arguments else len(arguments)
    found = LOG_FORMATS[0]
    for number, argument in enumerate(arguments[:end]):
        if argument == _OPTION and number + 1 < end:
            found = arguments[number + 1]
        elif argument.startswith(f"{_OPTION}="):
            found = argument.partition("=")[2]
    return found


def json_line(level: str, message: str, status: Status | None = None, time: datetime | None = None) -> str:
    """Return a line of the log; without a status it is a message."""
    seconds_left = None if status is None else status.seconds_left
    rate = None if status is None else status.rate
    fields = {
        "time": (time or datetime.now(timezone.utc)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "phase": None if status is None else status.phase,
        "done": None if status is None else status.done,
        "total": None if status is None else status.total,
        "rate": None if rate is None else round(rate, 3),
        "seconds_left": None if seconds_left is None else round(seconds_left, 1),
        "rejected": None if status is None else status.rejected,
        "message": message,
    }
    return printable_json(fields, indent=None, only_ascii=True)  # for log collectors without UTF-8


def write_json(level: str, message: str, status: Status | None = None) -> None:
    """Write a line of the log to standard error."""
    if sys.stderr is not None:  # closed by the caller, as daemons do
        sys.stderr.write(f"{json_line(level, message, status)}\n")
        sys.stderr.flush()


def write_progress(status: Status) -> None:
    """Write the state of a phase to standard error."""
    write_json("info", plain_line(status), status)


def capture_other_output() -> None:
    """Write log records and warnings of other packages, and tracebacks, as JSON too."""
    logging.captureWarnings(capture=True)
    logging.basicConfig(handlers=[_Records()], force=True)
    sys.excepthook = _write_traceback


class _Records(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = (
            "error" if record.levelno >= logging.ERROR else "warning" if record.levelno >= logging.WARNING else "info"
        )
        write_json(level, record.getMessage())


def _write_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    write_json("error", "".join(traceback.format_exception(kind, error, trace)))


def log_pauses() -> Iterator[float]:
    """Yield the seconds before each line of a log: the first comes soon, then a minute of many, then fewer."""
    yield FIRST_LOG_SECONDS
    yield from itertools.repeat(LOG_SECONDS, NUM_SOON)
    yield from itertools.repeat(LATER_LOG_SECONDS)


@contextlib.contextmanager
def repeated(call: Callable[[], None], pauses: Iterator[float]) -> Iterator[None]:
    """Call a function again and again in a thread while the context lasts; `pauses` are seconds before the calls."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(next(pauses)):
            with contextlib.suppress(OSError, ValueError):  # standard error was closed: nobody looks any more
                call()

    thread = threading.Thread(target=repeat, name="display", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class LiveLine:
    """The last line of a terminal. It is overwritten, never wrapped, and erased at the end, also on Ctrl-C.

    The cursor stays visible: a hidden one would stay hidden in the terminal of a process that is killed.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._progress: Progress | None = None
        self._drawn = ""

    @contextlib.contextmanager
    def shown(self, progress: Progress) -> Iterator[None]:
        """Show a phase."""
        with self._lock:
            self._progress = progress
            self._draw()
        try:
            with repeated(self._draw, itertools.repeat(LIVE_SECONDS)):
                yield
        finally:
            with self._lock:
                self._progress = None
                self._erase()

    @contextlib.contextmanager
    def interrupted(self) -> Iterator[None]:
        """Erase the line while something else is printed, and draw it again below that."""
        with self._lock:
            if self._progress is None:
                yield
                return
            self._erase()
            yield
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self._progress is not None:
                # The last column stays empty: some terminals wrap when it is filled.
                line = live_line(self._progress.status(time.monotonic()), width() - 1, is_ascii=not _has_unicode())
                if line != self._drawn:  # notebooks keep all that is written
                    _write(f"\r{line}{_ERASE_REST}")
                    self._drawn = line

    def _erase(self) -> None:
        _write(ERASE_LINE)
        self._drawn = ""


def is_live() -> bool:
    """Return whether standard error is a terminal that can overwrite a line."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the number of columns of the terminal on standard error; standard output may be a pipe."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or shutil.get_terminal_size().columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _has_unicode() -> bool:
    try:
        "━─".encode(sys.stderr.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
