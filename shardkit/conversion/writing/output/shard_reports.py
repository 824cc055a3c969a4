"""The examples that writers reject, as files in the work folder, which outlive the run: finished shards lack them."""

import json
from collections.abc import Iterable, Iterator

from shardkit import naming
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder

REPORTS = f"{naming.WORK_FOLDER}/shards"
_ENDING = ".json"


def rejects_path(name: naming.ShardName) -> str:
    """Return the path of a shard's late rejects; without rejects there is no file."""
    return f"{REPORTS}/{name.stem}{_ENDING}"


def report(task: ShardTask, fence: Fence, rejected: Iterable[Reject]) -> None:
    """Report the examples rejected while writing a shard."""
    written = {"plan_digest": task.plan_digest, "rejected": list(rejected)}
    fence.write(rejects_path(task.name), json.dumps(written).encode())


def late_rejects(output: Folder, plan_digest: str) -> list[Reject]:
    """Return the examples that the writers of a plan rejected, in the order of the shards' names."""
    return [one for stem in _stems(output) for one in _read_report(output, stem, plan_digest)]


def _stems(output: Folder) -> list[str]:
    """Return the names without ending of the shards with rejects."""
    return [entry.name.removesuffix(_ENDING) for entry in output.scan(REPORTS) if entry.name.endswith(_ENDING)]


def _read_report(output: Folder, stem: str, plan_digest: str | None = None) -> Iterator[Reject]:
    """Yield the rejects of a shard; none if it is of another plan."""
    written = json.loads(output.read(f"{REPORTS}/{stem}{_ENDING}"))
    if plan_digest in {None, written["plan_digest"]}:
        yield from (Reject(*one) for one in written["rejected"])


class LateRejectsCount:
    """Counts the examples that the writers of a plan have rejected so far; each report is read once."""

    def __init__(self, output: Folder, plan_digest: str) -> None:
        self._output, self._plan_digest = output, plan_digest
        self._counts: dict[str, int] = {}

    def count(self) -> int:
        """Return the number in the reports that exist now."""
        stems = _stems(self._output)
        for stem in stems:
            if stem not in self._counts:
                self._counts[stem] = len([*_read_report(self._output, stem, self._plan_digest)])
        return sum(self._counts[stem] for stem in stems)


def remove_stale_reports(output: Folder, finished: Iterable[naming.ShardName]) -> None:
    """Remove the reports of earlier runs, except the rejects of finished shards."""
    kept = {f"{name.stem}{_ENDING}" for name in finished}
    for entry in output.scan(REPORTS):
        if entry.name not in kept:
            output.remove(f"{REPORTS}/{entry.name}")


def shards_with_rejects(output: Folder, reason: str) -> set[str]:
    """Return the names without ending of the shards whose writers rejected an example for a reason."""
    return {stem for stem in _stems(output) if any(one.reason == reason for one in _read_report(output, stem))}


def forget_shards_with_rejects(output: Folder, reason: str) -> None:
    """Remove the done marks of the shards whose writers rejected an example for a reason, and their reports."""
    for stem in sorted(shards_with_rejects(output, reason)):
        output.remove(stem + naming.INDEX_ENDING)
        output.remove(f"{REPORTS}/{stem}{_ENDING}")
