"""Write one JSON object a line on standard error, for schedulers and log collectors."""

import logging
import sys
import traceback
from datetime import datetime, timezone
from types import TracebackType

from shardkit.cli.progress.measure import Status
from shardkit.cli.progress.text import plain_line
from shardkit.naming import printable_json

LOG_FORMATS = ("text", "json")
JSON = "json"
_OPTION = "--log-format"
_END_OF_OPTIONS = "--"


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
