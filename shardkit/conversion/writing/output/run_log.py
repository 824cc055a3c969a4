"""``run-log.jsonl``: the times, hosts and rates of runs; the only file that differs between two equal runs."""

import datetime as dt
import platform
import time
from typing import Any

from shardkit import naming
from shardkit.storage import Folder


class RunLog:
    """The events of one run, appended to those of earlier runs at its end."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._start

    def add(self, event: str, **facts: Any) -> None:
        """Record an event with the time, the host and the seconds since the run began."""
        now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds")
        self._events.append(
            {"time": now, "host": platform.node(), "event": event, "seconds": round(self.seconds, 3), **facts}
        )

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that are not written yet, as JSON values."""
        return list(self._events)

    def extend(self, events: list[dict[str, Any]]) -> None:
        """Add events that another process recorded."""
        self._events += events

    def write(self, output: Folder) -> None:
        """Append the events to the folder's log, by reading and writing it: object stores cannot append."""
        before = output.read(naming.RUN_LOG) if output.stat(naming.RUN_LOG) else b""
        lines = "".join(naming.printable_json(event, indent=None) + "\n" for event in self._events)
        with output.atomic_write(naming.RUN_LOG) as file:
            file.write(before + lines.encode())
        self._events.clear()
