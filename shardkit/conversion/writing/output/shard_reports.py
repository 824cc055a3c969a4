"""Reports of writers, as files in the work folder: examples rejected while writing, and errors.

An exception of a worker would reach the user as kilobytes of a runner's traceback, and as one of many.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from shardkit import naming
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.inventory.parts import remove_parts
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.conversion.writing.output.finished_shards import finished_shards
from shardkit.errors import DataError, MachineError
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder

REPORTS = f"{naming.WORK_FOLDER}/shards"
_ERROR_ENDING = ".error.json"


@dataclass(frozen=True, slots=True)
class ShardReport:
    """The result of writing a shard."""

    run: str  # token of the writer's run
    plan_digest: str = ""
    rejected: tuple[Reject, ...] = ()  # examples rejected while writing
    error: str = ""  # message of the error; '' if the shard was written
    exit_code: int = 0  # exit code of the error

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> "ShardReport":
        fields = json.loads(raw)
        rejected = tuple(Reject(*late) for late in fields.pop("rejected"))
        return cls(rejected=rejected, **fields)


def rejects_path(name: naming.ShardName) -> str:
    """Return the path of a shard's late rejects; without rejects there is no file."""
    return f"{REPORTS}/{name.stem}.json"


def error_path(name: naming.ShardName) -> str:
    """Return the path of a writer's error, a separate file so that a failing copy of a task hides no rejects."""
    return f"{REPORTS}/{name.stem}{_ERROR_ENDING}"


def late_rejects(output: Folder, plan_digest: str) -> list[Reject]:
    """Return the examples that the writers of a plan rejected, in the order of the shards' names."""
    return [late for one in _rejects(output).values() if one.plan_digest == plan_digest for late in one.rejected]


def _rejects(output: Folder) -> dict[str, ShardReport]:
    """Return the reports with rejects, by the shards' names without ending."""
    names = [entry.name for entry in output.scan(REPORTS) if _is_rejects(entry.name)]
    return {name.removesuffix(".json"): _read_report(output, name) for name in names}


class LateRejectsCount:
    """Counts the examples that the writers of a plan have rejected so far; each report is read once."""

    def __init__(self, output: Folder, plan_digest: str) -> None:
        self._output, self._plan_digest = output, plan_digest
        self._counts: dict[str, int] = {}

    def count(self) -> int:
        """Return the number in the reports that exist now."""
        names = [entry.name for entry in self._output.scan(REPORTS) if _is_rejects(entry.name)]
        for name in names:
            if name not in self._counts:
                report = _read_report(self._output, name)
                self._counts[name] = len(report.rejected) if report.plan_digest == self._plan_digest else 0
        return sum(self._counts[name] for name in names)


def errors(output: Folder, run: str, plan_digest: str, names: Iterable[naming.ShardName]) -> list[ShardReport]:
    """Return the errors of this run's writers for these shards; those of ended runs are ignored."""
    wanted = {name.stem for name in names}
    found = [
        _read_report(output, entry.name)
        for entry in output.scan(REPORTS)
        if entry.name.endswith(_ERROR_ENDING) and entry.name.removesuffix(_ERROR_ENDING) in wanted
    ]
    return [report for report in found if (report.run, report.plan_digest) == (run, plan_digest)]


def raise_failures(output: Folder, names: Sequence[naming.ShardName], run: str, plan_digest: str) -> None:
    """Check that shards are finished after this run's writers have ended."""
    finished = finished_shards(output, names, plan_digest)
    missing = [name for name in names if name not in finished]
    if failed := errors(output, run, plan_digest, missing):
        worst = max(failed, key=lambda report: report.exit_code)
        if worst.exit_code == DataError.exit_code:
            # A file is not what its check found, although its size and time may be the same: check all of them again.
            remove_parts(output)
        more = f" ({len(failed)} shards failed in all)" if len(failed) > 1 else ""
        raise (MachineError if worst.exit_code == MachineError.exit_code else DataError)(worst.error + more)
    if missing:
        raise MachineError(
            f"{output.url}: {len(missing)} shards are missing, the first is {missing[0].stem}, and no worker reported "
            "an error; check whether the disk is full, and whether every worker reaches the same OUTPUT"
        )


def remove_stale_reports(output: Folder, finished: Iterable[naming.ShardName]) -> None:
    """Remove the reports of earlier runs, except the rejects of finished shards."""
    kept = {f"{name.stem}.json" for name in finished}
    for entry in output.scan(REPORTS):
        if entry.name not in kept:
            output.remove(f"{REPORTS}/{entry.name}")


def shards_with_rejects(output: Folder, reason: str) -> set[str]:
    """Return the names without ending of the shards whose writers rejected an example for a reason."""
    found = _rejects(output)
    return {stem for stem, report in found.items() if any(one.reason == reason for one in report.rejected)}


def forget_shards_with_rejects(output: Folder, reason: str) -> None:
    """Remove the done marks of the shards whose writers rejected an example for a reason, and their reports."""
    for stem in sorted(shards_with_rejects(output, reason)):
        output.remove(stem + naming.INDEX_ENDING)
        output.remove(f"{REPORTS}/{stem}.json")


def _is_rejects(file_name: str) -> bool:
    return file_name.endswith(".json") and not file_name.endswith(_ERROR_ENDING)


def _read_report(output: Folder, file_name: str) -> ShardReport:
    return ShardReport.from_bytes(output.read(f"{REPORTS}/{file_name}"))


def report(task: ShardTask, fence: Fence, rejected: Sequence[Reject] = (), error: str = "", exit_code: int = 0) -> None:
    """Report the examples rejected while writing a shard, or the error that ended it."""
    path = error_path(task.name) if error else rejects_path(task.name)
    fence.write(path, ShardReport(fence.token, task.plan_digest, tuple(rejected), error, exit_code).to_bytes())
