"""What the steps of a conversion tell the user: messages, findings and events for the log.

A step on a worker writes them into the work folder when it ends, also by an error; the driver reads them there.
``run-log.jsonl`` has the times, hosts and rates of runs; it is the only file that differs between two equal runs.
"""

import contextlib
import datetime as dt
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shardkit import naming
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.errors import ShardkitError
from shardkit.options.call import Call, Change
from shardkit.parallel.for_each import JobEnd
from shardkit.parallel.progress import Level, ProgressListener, Silent
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder

_KIND = "notes"  # of reports


class RunLog:
    """The events of one run, appended to those of earlier runs at its end."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []  # that are not written yet, as JSON values
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def add(self, event: str, **facts: Any) -> None:
        """Record an event with the time, the host and the seconds since the run began."""
        now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds")
        self.events.append(
            {"time": now, "host": platform.node(), "event": event, "seconds": round(self.seconds, 3), **facts}
        )

    def write(self, output: Folder) -> None:
        """Append the events to the folder's log, by reading and writing it: object stores cannot append."""
        before = output.read(naming.RUN_LOG) if output.stat(naming.RUN_LOG) else b""
        lines = "".join(naming.printable_json(event, indent=None) + "\n" for event in self.events)
        with output.atomic_write(naming.RUN_LOG) as file:
            file.write(before + lines.encode())
        self.events.clear()


@dataclass
class Notes:
    """The notes of a run."""

    listener: ProgressListener = field(default_factory=Silent)  # receives messages and progress
    log: RunLog = field(default_factory=RunLog)  # the events
    findings: tuple[Finding, ...] = ()  # facts about the source that the user should check


class _Kept(Silent):
    """A listener that keeps messages."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Level]] = []

    def say(self, text: str, level: Level = "info") -> None:
        self.said.append((text, level))


@contextlib.contextmanager
def worker_notes(fence: Fence, step: int) -> Iterator[Notes]:
    """Make notes on a worker, which are written at the end of the block."""
    kept, ended = _Kept(), None
    notes = Notes(kept)
    try:
        yield notes
    except (ShardkitError, JobEnd) as error:
        ended = error
    findings = [_finding_json(one) for one in notes.findings]
    written = {"said": kept.said, "events": notes.log.events, "findings": findings}
    Reports(fence.folder, _KIND).write(fence, step, data=json.dumps(written).encode())
    if ended is not None:
        raise ended


def _finding_json(finding: Finding) -> dict[str, Any]:
    written = asdict(replace(finding, examples=list(finding.examples), names=list(finding.names), call=None))
    del written["call"]  # the driver knows it
    return written


def _finding(written: dict[str, Any], call: Call | None) -> Finding:
    changes = tuple(Change(**{**one, "sources": tuple(one["sources"])}) for one in written.pop("changes"))
    return Finding(**written, changes=changes, call=call)


def write_workers_log(output: Folder) -> None:
    """Write the events and messages of a job without a driver into the log of a dataset."""
    log = RunLog()
    for written in _read_all(output):
        log.events += written["events"]
        for text, level in written["said"]:
            log.add("said", text=text, level=level)
    log.write(output)


def workers_messages(output: Folder) -> list[str]:
    """Return the messages of a job's steps so far."""
    return [text for written in _read_all(output) for text, _ in written["said"]]


def _read_all(output: Folder) -> list[dict[str, Any]]:
    return [json.loads(output.read(report.path)) for report in Reports(output, _KIND).found()]


class WorkersNotes:
    """Passes the notes of workers on, each once, while a job runs and at its end."""

    def __init__(self, work: Folder, notes: Notes, call: Call | None) -> None:
        self._reports, self._notes, self._call = Reports(work, _KIND), notes, call
        self._reports.remove()
        self._passed = set[int]()

    def pass_on(self) -> None:
        """Pass on what is new."""
        for report in self._reports.found():
            if report.item in self._passed:
                continue
            written = json.loads(self._reports.folder.read(report.path))
            self._passed.add(report.item)
            for text, level in written["said"]:
                self._notes.listener.say(text, level)
            self._notes.log.events += written["events"]
            self._notes.findings += tuple(_finding(one, self._call) for one in written["findings"])
