"""Check the shards of a dataset on Beam; results travel as files in a work folder."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

from shardkit.dataset.manifest import Shard
from shardkit.errors import MachineError
from shardkit.pipelines.first_failure import UntilFirstFailure
from shardkit.pipelines.for_each import run_for_each
from shardkit.pipelines.options import RunnerConfig
from shardkit.storage import Folder
from shardkit.storage.retry import retried
from shardkit.verification.dataset import CheckJob, largest_first
from shardkit.verification.shards import DatasetProblem, ShardCheck
from shardkit.writing.output.finished_shards import READING_THREADS
from shardkit.writing.progress import Phase, ProgressListener
from shardkit.writing.worker_checks.driver_view import DriverView

_REPORT = "shard-"


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
            MachineError: The runner failed, a worker does not fit the driver, or reports are missing.
        """
        phase = Phase(
            self.listener,
            "verifying",
            sum(shard.num_examples for shard in shards),
            lambda: sum(shards[index].num_examples for index in _reports(self.work)),
            count_rejected=lambda: sum(problems for _, problems in _reports(self.work).values()),
        )
        check = UntilFirstFailure(
            partial(check_and_report, job=job, work=self.work), self.work, DriverView.of([job.root])
        )
        run_for_each(self.runner, "VerifyShards", largest_first(shards), check, phase)
        check.raise_failure()
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


def check_and_report(numbered: tuple[int, Shard], job: CheckJob, work: Folder) -> None:
    """Check a shard and write its report; the name alone is enough for the progress."""
    index, shard = numbered
    check = job.check(shard)

    def write() -> None:
        with work.atomic_write(f"{_REPORT}{index:08d}-{len(check.problems)}.json") as file:
            file.write(json.dumps(asdict(check)).encode())

    retried(write)


def _reports(work: Folder) -> dict[int, tuple[str, int]]:
    """Return the name of each shard's report and its number of problems, by the shard's index."""
    names = [entry.name for entry in work.scan() if entry.name.startswith(_REPORT)]
    numbers = [name.removeprefix(_REPORT).removesuffix(".json").split("-") for name in names]
    return {int(index): (name, int(problems)) for name, (index, problems) in zip(names, numbers, strict=True)}
