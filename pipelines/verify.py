"""Check the shards of a dataset on Beam; results travel as files in a work folder."""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam

from shardkit.dataset.manifest import Shard
from shardkit.errors import MachineError
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress
from shardkit.pipelines.spread import Spread
from shardkit.storage import Folder
from shardkit.storage.retry import retried
from shardkit.verification.dataset import CheckJob
from shardkit.verification.shards import DatasetProblem, ShardCheck
from shardkit.writing.output.finished_shards import READING_THREADS
from shardkit.writing.progress import Phase, ProgressListener
from shardkit.writing.worker_checks.driver_view import DriverView, check_worker

_FAILURE = "failure.json"
_REPORT = "shard-"


@dataclass
class VerifyShards(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(index, Shard) pairs to one report per shard in `work`."""

    job: CheckJob
    work: Folder
    driver: DriverView | None = None

    def expand(self, shards: Any) -> Any:
        """See PTransform."""
        return (
            shards
            | "SpreadShards" >> Spread(self.driver is not None)  # (index, [Shard])
            | "VerifyShard" >> beam.Map(_verify, self.job, self.work, self.driver)  # None
        )


def _verify(spread: tuple[int, Iterable[Shard]], job: CheckJob, work: Folder, driver: DriverView | None) -> None:
    index, shards = spread
    for shard in shards:
        if work.stat(_FAILURE) is not None:
            return
        try:
            check_worker(driver)
        except MachineError as error:
            _write(work, _FAILURE, {"error": str(error)})
            return
        check = job.check(shard)
        _write(work, f"{_REPORT}{index:08d}-{len(check.problems)}.json", asdict(check))


def _write(work: Folder, name: str, fields: dict[str, Any]) -> None:
    def write() -> None:
        with work.atomic_write(name) as file:
            file.write(json.dumps(fields).encode())

    retried(write)


def _reports(work: Folder) -> dict[int, tuple[str, int]]:
    """Return the name of each shard's report and its number of problems, by the shard's index."""
    names = [entry.name for entry in work.scan() if entry.name.startswith(_REPORT)]
    numbers = [name.removeprefix(_REPORT).removesuffix(".json").split("-") for name in names]
    return {int(index): (name, int(problems)) for name, (index, problems) in zip(names, numbers, strict=True)}


@dataclass(frozen=True, slots=True)
class BeamChecker:
    """Checks shards on a runner; see `verification.dataset.Checker`.

    Attributes:
        runner: The runner and its options.
        work: An empty folder that all workers reach, for their reports.
        listener: Receives the progress.
    """

    runner: RunnerConfig
    work: Folder
    listener: ProgressListener

    def check_shards(self, job: CheckJob, shards: Sequence[Shard]) -> list[ShardCheck]:
        """See Checker.

        Raises:
            MachineError: The runner failed, or reports are missing.
        """
        pipeline = self.runner.pipeline()
        driver = None if self.runner.in_process else DriverView.of([job.root])
        largest_first = sorted(enumerate(shards), key=lambda one: -one[1].num_bytes)
        _ = (
            pipeline
            | "Shards" >> beam.Create(largest_first, reshuffle=False)  # (index, Shard)
            | "VerifyShards" >> VerifyShards(job, self.work, driver)
        )
        phase = Phase(
            self.listener,
            "verifying",
            sum(shard.num_examples for shard in shards),
            lambda: sum(shards[index].num_examples for index in _reports(self.work)),
            count_rejected=lambda: sum(problems for _, problems in _reports(self.work).values()),
        )
        run_with_progress(self.runner, pipeline, phase)
        if self.work.stat(_FAILURE) is not None:
            raise MachineError(json.loads(self.work.read(_FAILURE))["error"])
        reports = _reports(self.work)
        if len(reports) < len(shards):
            msg = f"{self.work.url}: workers' reports are missing; a remote --runner needs a --temp_location that they "
            raise MachineError(f"{msg}reach")
        with ThreadPoolExecutor(READING_THREADS) as pool:
            return list(pool.map(self._read_check, [reports[index][0] for index in range(len(shards))]))

    def _read_check(self, report: str) -> ShardCheck:
        fields = json.loads(self.work.read(report))
        problems = [DatasetProblem(**problem) for problem in fields.pop("problems")]
        counts = {int(label): count for label, count in fields.pop("class_counts").items()}
        return ShardCheck(problems=problems, class_counts=counts, **fields)
