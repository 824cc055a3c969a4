"""Verify a dataset on Beam: read every shard again; results travel as files in a work folder."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam

from shardkit.dataset.manifest import Manifest, Shard
from shardkit.errors import MachineError
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress
from shardkit.storage import Folder
from shardkit.verification.examples import ExampleSpec
from shardkit.verification.shards import (
    DatasetProblem,
    ShardCheck,
    check_shard,
    class_count_problems,
    file_problems,
    leftover_files,
    read_checked_manifest,
)
from shardkit.writing.progress import Phase, ProgressListener


@dataclass
class VerifyShards(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, Shard) pairs to one report per shard in `work`."""

    root: Folder
    work: Folder
    plan_digest: str
    spec: ExampleSpec
    deep: bool

    def expand(self, shards: Any) -> Any:
        """See PTransform."""
        return (
            shards
            | "SpreadShards" >> beam.GroupByKey()  # (index, [Shard]); see pipelines/inventory.py
            | "VerifyShard" >> beam.Map(_verify, self.root, self.work, self.plan_digest, self.spec, self.deep)  # None
        )


def _verify(  # positional: Beam's side inputs
    spread: tuple[int, Iterable[Shard]],
    root: Folder,
    work: Folder,
    plan_digest: str,
    spec: ExampleSpec,
    deep: bool,  # noqa: FBT001
) -> None:
    index, shards = spread
    for shard in shards:
        check = check_shard(root, shard, plan_digest, spec, deep=deep)
        with work.atomic_write(_report(index)) as file:
            file.write(json.dumps(asdict(check)).encode())


def _report(index: int) -> str:
    return f"shard-{index:08d}.json"


def verify_dataset(
    root: Folder, work: Folder, runner: RunnerConfig, listener: ProgressListener, *, deep: bool
) -> tuple[Manifest | None, list[DatasetProblem]]:
    """Check a whole dataset.

    Args:
        root: The dataset's folder.
        work: An empty folder that all workers reach, for their reports.
        runner: The runner and its options.
        listener: Receives the progress.
        deep: Whether every image is decoded too.

    Returns:
        The manifest, or None if it cannot be read, and every problem found, in the order of the manifest.

    Raises:
        MachineError: The runner failed, or reports are missing.
    """
    manifest, problems = read_checked_manifest(root)
    if manifest is None:
        return None, problems
    for file in manifest.files:
        problems += file_problems(root, file)
    problems += leftover_files(root, manifest)
    shards = [shard for _, shard in manifest.shards()]
    spec = ExampleSpec(manifest.features, manifest.classes)
    pipeline = runner.pipeline()
    _ = (
        pipeline
        | "Shards" >> beam.Create(list(enumerate(shards)), reshuffle=False)  # (index, Shard)
        | "VerifyShards" >> VerifyShards(root, work, manifest.plan_digest, spec, deep)
    )
    counts = {_report(index): shard.num_examples for index, shard in enumerate(shards)}

    def count() -> int:
        return sum(counts.get(entry.name, 0) for entry in work.scan())

    run_with_progress(runner, pipeline, Phase(listener, "verifying", sum(counts.values()), count))
    checks = [_read_check(work, index) for index in range(len(shards))]
    problems += [problem for check in checks for problem in check.problems]
    start = 0
    for name, split in manifest.splits.items():
        problems += class_count_problems(name, split, checks[start : start + len(split.shards)])
        start += len(split.shards)
    return manifest, problems


def _read_check(work: Folder, index: int) -> ShardCheck:
    try:
        fields = json.loads(work.read(_report(index)))
    except FileNotFoundError:
        msg = f"{work.url}: workers' reports are missing; a remote --runner needs a --temp_location that they reach"
        raise MachineError(msg) from None
    problems = [DatasetProblem(**problem) for problem in fields.pop("problems")]
    counts = {int(label): count for label, count in fields.pop("class_counts").items()}
    return ShardCheck(problems=problems, class_counts=counts, **fields)
