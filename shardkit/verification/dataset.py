"""Verify a whole dataset: its manifest, the files next to the shards, and every shard.

A checker runs the shards in parallel: `threads.ThreadChecker` in this process, `pipelines.verify.BeamChecker` on a
runner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shardkit.dataset.manifest import Manifest, Shard
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
    """What each worker needs to check shards; small and pickled into the pipeline's graph.

    Attributes:
        root: The dataset's folder.
        manifest: The manifest without shards: it has the plan digest that the index of each shard must repeat.
        spec: Features and classes of every example.
        deep: Whether every image is decoded too.
    """

    root: Folder
    manifest: Manifest
    spec: ExampleSpec
    deep: bool

    def check(self, shard: Shard) -> ShardCheck:
        """Check one shard; see check_shard."""
        return check_shard(self.root, shard, self.manifest.plan_digest_of(shard), self.spec, deep=self.deep)


class Checker(Protocol):
    """Checks shards in parallel."""

    def check_shards(self, job: CheckJob, shards: Sequence[Shard]) -> list[ShardCheck]:
        """Return the result of each shard, in their order.

        Raises:
            MachineError: The engine failed.
        """
        ...


def largest_first(shards: Sequence[Shard]) -> list[tuple[int, Shard]]:
    """Return (index, shard) pairs in the order in which to start them."""
    return sorted(enumerate(shards), key=lambda numbered: -numbered[1].num_bytes)


def _without_shards(manifest: Manifest) -> Manifest:
    return manifest.model_copy(update={"splits": {}, "files": []})


def verify_dataset(
    root: Folder, checker: Checker, *, deep: bool, digest: str | None = None
) -> tuple[Manifest | None, list[DatasetProblem]]:
    """Check a whole dataset.

    Args:
        root: The dataset's folder.
        checker: Checks the shards.
        deep: Whether every image is decoded too.
        digest: Digest of the manifest to check; None for the current one.

    Returns:
        The manifest, or None if it cannot be read, and every problem found, in the order of the manifest.

    Raises:
        MachineError: See Checker.
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
    checks = checker.check_shards(job, [shard for _, shard in manifest.shards()])
    problems += [problem for check in checks for problem in check.problems]
    start = 0
    for name, split in manifest.splits.items():
        problems += class_count_problems(name, split, checks[start : start + len(split.shards)])
        start += len(split.shards)
    return manifest, problems
