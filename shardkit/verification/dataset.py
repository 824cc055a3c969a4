"""Verify a whole dataset: its manifest, the files next to the shards, and every shard, in parallel."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from shardkit.dataset.manifest import Manifest, Shard
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import Reports, work_folder
from shardkit.parallel.run_token import Fence, claimed
from shardkit.storage import Folder
from shardkit.verification.examples import ExampleSpec
from shardkit.verification.folder_contents import leftover_files
from shardkit.verification.shards import (
    DatasetProblem,
    ShardCheck,
    check_shard,
    class_count_problems,
    earlier_manifest_problems,
    file_problems,
    read_checked_manifest,
)


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What each worker needs to check shards; small and pickled into the job."""

    root: Folder  # the dataset's folder
    manifest: Manifest  # the manifest without shards: it has the plan digest that the index of each shard must repeat
    spec: ExampleSpec  # features and classes of every example
    deep: bool  # whether every image is decoded too

    def check(self, numbered: tuple[int, Shard], fence: Fence) -> None:
        """Check one shard, see check_shard, and report the result under its number."""
        index, shard = numbered
        found = check_shard(self.root, shard, self.manifest.plan_digest_of(shard), self.spec, deep=self.deep)
        _checks(fence.folder).write(fence, index, len(found.problems), data=json.dumps(asdict(found)).encode())


def check_shards(
    job: CheckJob, shards: Sequence[Shard], executor: Executor, listener: ProgressListener
) -> list[ShardCheck]:
    """Check shards in parallel, the largest first; return the results in the order of the shards."""
    with work_folder(executor.temp_location) as work, claimed(work) as run:
        reports = _checks(work)
        phase = Phase(
            listener,
            "verifying",
            sum(shard.num_examples for shard in shards),
            lambda: sum(shards[report.item].num_examples for report in reports.found()),
            count_rejected=reports.total,
        )
        largest_first = sorted(enumerate(shards), key=lambda numbered: -numbered[1].num_bytes)
        for_each(executor, run, "VerifyShards", largest_first, job.check, phase, reads=[job.root])
        return [_parse_check(raw) for raw in reports.read(len(shards))]


def _checks(work: Folder) -> Reports:
    """Return the reports of the shards' checks, with their numbers of problems."""
    return Reports(work, "checks")


def _parse_check(raw: bytes) -> ShardCheck:
    fields = json.loads(raw)
    problems = [DatasetProblem(**problem) for problem in fields.pop("problems")]
    counts = {int(label): count for label, count in fields.pop("class_counts").items()}
    return ShardCheck(problems=problems, class_counts=counts, **fields)


def _without_shards(manifest: Manifest) -> Manifest:
    return manifest.model_copy(update={"splits": {}, "files": []})


def verify_dataset(
    root: Folder, executor: Executor, listener: ProgressListener, *, deep: bool, digest: str | None = None
) -> tuple[Manifest | None, list[DatasetProblem]]:
    """Return the manifest of a dataset, None if it cannot be read, and every problem of it, in the manifest's order.

    `digest` names the manifest to check; None for the current one.
    """
    manifest, problems = read_checked_manifest(root, digest)
    if manifest is None:
        return None, problems
    problems += earlier_manifest_problems(root, manifest)
    for file in manifest.files:
        problems += file_problems(root, file)
    problems += leftover_files(root, manifest)
    spec = ExampleSpec(manifest.features, manifest.classes, manifest.stored_as)
    job = CheckJob(root, _without_shards(manifest), spec, deep)
    checks = check_shards(job, [shard for _, shard in manifest.shards()], executor, listener)
    problems += [problem for check in checks for problem in check.problems]
    start = 0
    for name, split in manifest.splits.items():
        problems += class_count_problems(name, split, checks[start : start + len(split.shards)])
        start += len(split.shards)
    return manifest, problems
