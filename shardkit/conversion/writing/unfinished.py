"""Look at a conversion that is not finished: which step it is in, how far it is, and whether it lives or has failed.

Everything is found in the files of the output, so it does not matter which process or engine does the work.
"""

import itertools
import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shardkit.conversion.inventory import parts
from shardkit.conversion.planning.plan_file import find_planned
from shardkit.conversion.writing import inventory_tasks
from shardkit.conversion.writing.output.finished_shards import REPORTS, LateRejectsCount
from shardkit.conversion.writing.reject_limit import counted_rejects
from shardkit.conversion.writing.step_notes import workers_messages
from shardkit.naming import MANIFEST, WORK_FOLDER, counted
from shardkit.parallel.for_each import untold_failure
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import read_run_file, waiting_job
from shardkit.storage import Folder

Step = Literal["checking", "planning", "writing", "publishing"]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The state of an unfinished conversion."""

    step: Step  # the step that it is in
    num_images: int  # number of images known so far, with rejected ones; before planning those that are listed
    num_checked: int  # number of images that are checked
    num_shards: int | None  # number of shards; None before planning
    num_finished_shards: int  # number of those that are finished
    num_rejected: int  # number of images rejected so far
    seconds: float  # seconds since something was written, by this host's clock
    waiting: str | None  # that the job was submitted and has not begun; None otherwise
    error: str | None  # why the job failed, if it was submitted and failed; None otherwise
    messages: tuple[str, ...]  # what the steps of a job had to say

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        done = f"{self.num_checked:,} of {counted(self.num_images, 'image')} checked"
        if self.num_shards is not None:
            done = f"{self.num_finished_shards:,} of {counted(self.num_shards, 'shard')} finished"
        said = [f"{self.step}: {done}, {self.num_rejected:,} rejected", f"last sign of life {self.seconds:.0f} s ago"]
        said.append(self.waiting or "if it does not run any more, run the same `shardkit convert` again to finish it")
        if self.error is not None:
            said.append(f"the job has failed: {self.error}")
        return [*self.messages, *said]


def find_unfinished(output: Folder) -> Unfinished | None:
    """Return the state of an unfinished conversion into a folder; None if there is none."""
    if output.stat(MANIFEST) is not None or output.stat(WORK_FOLDER) is None:
        return None
    planned, run = find_planned(output), read_run_file(output)
    if planned is not None and run is not None and run.token != planned.run:
        planned = None  # of an earlier run; this one is not so far
    num_checked = parts.count_rows(output)
    num_listed = Reports(output, inventory_tasks.LISTED).total()
    step: Step = "planning" if inventory_tasks.is_taken(output) else "checking"
    num_finished, num_rejected = 0, Reports(output, inventory_tasks.REJECTED).total()
    if planned is not None:
        there = {entry.name for entry in output.scan()}
        num_finished = sum(name.index in there for name in planned.shard_counts)
        step = "publishing" if num_finished == len(planned.shard_counts) else "writing"
        late = LateRejectsCount(output, planned.digest).count()
        num_listed, num_rejected = planned.num_listed, len(counted_rejects(planned.rejected)) + late
    return Unfinished(
        step=step,
        num_images=num_listed,
        num_checked=num_checked if planned is None else planned.num_listed,
        num_shards=None if planned is None else len(planned.shard_counts),
        num_finished_shards=num_finished,
        num_rejected=num_rejected,
        seconds=_seconds_since_sign_of_life(output),
        waiting=waiting_job(output),
        error=untold_failure(output),
        messages=tuple(workers_messages(output)),
    )


def _seconds_since_sign_of_life(output: Folder) -> float:
    folders = ("", WORK_FOLDER, parts.PARTS, REPORTS)
    entries = itertools.chain.from_iterable(map(output.scan, folders))
    newest = max((entry.mtime_ns for entry in entries if not entry.is_folder), default=0)
    return max(0.0, time.time() - newest / 1e9)
