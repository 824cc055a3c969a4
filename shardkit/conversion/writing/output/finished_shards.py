"""Finished shards: a shard's index is its done mark, names the plan that it was written from, and describes the shard.

A writer returns what the index of its shard says, so that one worker publishes without reading all indexes. It counts
while the shard and its index have the sizes that it names; otherwise, and for the shards of earlier runs, the
index is read. A writer that fails returns why: an exception of a worker would reach the user as kilobytes of a runner's
traceback, and as one of many.

The examples that writers reject are files in the work folder, which outlive the run: finished shards lack them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit import naming
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.inventory.parts import remove_parts
from shardkit.conversion.planning.plan_file import ShardTask
from shardkit.dataset.index.file import ShardSummary, indexed_labels, parse_index
from shardkit.dataset.manifest import Index, Shard
from shardkit.errors import DataError, MachineError
from shardkit.hashing import sha256_hex
from shardkit.naming import ShardName
from shardkit.options.words import convert_again
from shardkit.parallel.run_token import Fence
from shardkit.storage import TEMPORARY, Folder
from shardkit.storage.concurrent_reads import read_many

REPORTS = f"{naming.WORK_FOLDER}/shards"
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class FinishedShard:
    """A shard as its index describes it, with the labels that occur: those of its examples do not fit in memory."""

    shard: Shard  # the shard, as in the manifest
    index_bytes: int
    labels: npt.NDArray[np.int32]  # int32[m], the labels that occur
    label_counts: npt.NDArray[np.int64]  # int64[m], how often each of them occurs

    @classmethod
    def of(cls, shard: Shard, index: pa.Table, raw: bytes) -> "FinishedShard":
        """Return a shard by the columns ``label`` and ``labels`` of its index, and the index's bytes."""
        return cls(shard, len(raw), *np.unique(indexed_labels(index), return_counts=True))

    @classmethod
    def written(cls, path: str, index_path: str, summary: ShardSummary, index: pa.Table, raw: bytes) -> "FinishedShard":
        """Return a shard by the summary in its index; see `of`."""
        shard = Shard(
            path=path,
            num_examples=summary.num_examples,
            num_bytes=summary.num_bytes,
            sha256=summary.sha256,
            index=Index(path=index_path, sha256=sha256_hex(raw)),
            num_with_gps=summary.num_with_gps,
        )
        return cls.of(shard, index, raw)


@dataclass(frozen=True, slots=True)
class FailedShard:
    """A shard that could not be written."""

    name: ShardName
    error: str
    exit_code: int  # of the error


def check_finished_shards(
    output: Folder, names: Sequence[ShardName], plan_digest: str, written: Iterable[FinishedShard | FailedShard] = ()
) -> list[FinishedShard]:
    """Check without reading the shards that each is of this plan and is there with its index.

    The proof of a shard that this run has `written` is that both files have the sizes that its writer gave. For any
    other shard, its index is read: it names the plan, covers the shard, and the shard has its size.
    """
    there = {entry.name: entry.num_bytes for entry in output.scan()}
    known, failed = dict[str, FinishedShard](), list[FailedShard]()
    for one in written:
        if isinstance(one, FailedShard):
            failed.append(one)
        elif (there.get(one.shard.path), there.get(one.shard.index.path)) == (one.shard.num_bytes, one.index_bytes):
            known[one.shard.path] = one
    # An engine may have let another worker write the same shard.
    _raise_failure(output, [one for one in failed if find_finished_shard(output, one.name, plan_digest) is None])
    others = [name for name in names if name.records not in known]
    if missing := [name for name in others if name.index not in there]:
        raise MachineError(
            f"{output.url}: {len(missing)} shards are missing, the first is {missing[0].stem}, and no worker reported "
            "an error; check whether the disk is full, and whether every worker reaches the same OUTPUT"
        )
    for one in read_many(lambda name: check_finished_shard(output, name, plan_digest), others):
        known[one.shard.path] = one
    return [known[name.records] for name in names]


def _raise_failure(output: Folder, failed: Sequence[FailedShard]) -> None:
    if not failed:
        return
    worst = max(failed, key=lambda one: one.exit_code)
    more = f" ({len(failed)} shards failed in all)" if len(failed) > 1 else ""
    if worst.exit_code == MachineError.exit_code:
        raise MachineError(worst.error + more)
    # A file is not what its check found, although its size and time may be the same: check all of them again.
    remove_parts(output)
    raise DataError(worst.error + more)


def check_finished_shard(output: Folder, name: ShardName, plan_digest: str) -> FinishedShard:
    """Check one shard by its index; see check_finished_shards. Raises FileNotFoundError, too."""
    where = f"{output.url}/{name.index}"
    raw = output.read(name.index)
    table, summary = parse_index(raw, where=where, columns=["offset", "length", "label", "labels"])
    if summary.plan_digest != plan_digest:
        raise DataError(f"{where}: was written from another plan, digest {summary.plan_digest}; {convert_again()}")
    found = output.stat(name.records)
    if found is None or found.num_bytes != summary.num_bytes:
        size = "is missing" if found is None else f"has {found.num_bytes} bytes"
        where = f"{output.url}/{name.records}"
        raise DataError(f"{where}: the shard {size}, its index says {summary.num_bytes}; {convert_again()}")
    return FinishedShard.written(name.records, name.index, summary, table, raw)


def find_finished_shard(output: Folder, name: ShardName, plan_digest: str) -> FinishedShard | None:
    """Return a shard of the plan with this digest; None if it is not there, or its index does not describe it."""
    try:
        return check_finished_shard(output, name, plan_digest)
    except (FileNotFoundError, DataError):
        return None


def finished_shards(output: Folder, names: Iterable[ShardName], plan_digest: str) -> set[ShardName]:
    """Return the shards of a plan that are done, by their indexes."""
    there = {entry.name for entry in output.scan()}
    listed = [name for name in names if name.records in there and name.index in there]
    found = read_many(lambda name: find_finished_shard(output, name, plan_digest), listed)
    return {name for name, shard in zip(listed, found, strict=True) if shard is not None}


def count_written(output: Folder, num_examples: Mapping[ShardName, int], bytes_per_image: float | None = None) -> int:
    """Return the number of images in finished shards, plus an estimate from the bytes of unfinished ones.

    `bytes_per_image` is the expected size of an image, until the first shard is finished.
    """
    entries = {entry.name: entry.num_bytes for entry in output.scan()}
    done = [name for name in num_examples if name.index in entries]
    images = sum(num_examples[name] for name in done)
    if done:
        bytes_per_image = sum(entries.get(name.records, 0) for name in done) / max(1, images)
    unfinished_bytes = sum(size for name, size in entries.items() if name.startswith(TEMPORARY))
    unfinished = int(unfinished_bytes / bytes_per_image) if bytes_per_image else 0
    return min(images + unfinished, sum(num_examples.values()))


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
