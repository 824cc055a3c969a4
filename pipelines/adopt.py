"""Scan TFRecord files that are adopted on Beam; what is found travels as files in a work folder."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from shardkit.adoption.scan_files import RecordsFile, ScanJob, num_scanned
from shardkit.adoption.threads import records_so_far
from shardkit.errors import MachineError, ShardkitError
from shardkit.pipelines.options import RunnerConfig
from shardkit.pipelines.progress import run_with_progress
from shardkit.pipelines.spread import Spread
from shardkit.storage import Folder
from shardkit.storage.retry import retried
from shardkit.writing.progress import Phase, ProgressListener
from shardkit.writing.worker_checks.driver_view import DriverView, check_worker

_FAILURE = "failure.json"


@dataclass
class ScanFiles(beam.PTransform):  # type: ignore[misc] # Beam is untyped; not frozen: Beam sets `label`
    """(number, RecordsFile) pairs to one scan per file in the job's work folder."""

    job: ScanJob
    driver: DriverView | None = None

    def expand(self, files: Any) -> Any:
        """See PTransform."""
        return (
            files
            | "SpreadFiles" >> Spread(self.driver is not None)  # (number, [RecordsFile])
            | "ScanFile" >> beam.Map(_scan, self.job, self.driver)  # None
        )


def _scan(spread: tuple[int, Iterable[RecordsFile]], job: ScanJob, driver: DriverView | None) -> None:
    _, files = spread
    for file in files:
        if job.work.stat(_FAILURE) is not None:
            return
        try:
            check_worker(driver)
            job.scan(file)
        except (OSError, ShardkitError) as error:
            # As data: a runner would repeat the task, and print a traceback.
            _write_failure(job.work, str(error))
            return


def _write_failure(work: Folder, sentence: str) -> None:
    def write() -> None:
        with work.atomic_write(_FAILURE) as file:
            file.write(json.dumps({"error": sentence}).encode())

    retried(write)


@dataclass(frozen=True, slots=True)
class BeamScanner:
    """Scans files on a runner; see `adoption.scan_files.Scanner`.

    Attributes:
        runner: The runner and its options.
        listener: Receives the progress.
    """

    runner: RunnerConfig
    listener: ProgressListener

    def scan_files(self, job: ScanJob, files: Sequence[RecordsFile]) -> None:
        """See Scanner.

        Raises:
            MachineError: The runner failed, or a worker cannot read a file.
        """
        pipeline = self.runner.pipeline()
        driver = None if self.runner.in_process else DriverView.of([job.records])
        largest_first = sorted(((file.number, file) for file in files), key=lambda one: -one[1].num_bytes)
        _ = (
            pipeline
            | "Files" >> beam.Create(largest_first, reshuffle=False)  # (number, RecordsFile)
            | "ScanFiles" >> ScanFiles(job, driver)
        )
        phase = Phase(
            self.listener,
            "scanning",
            None,
            lambda: sum(num_scanned(job.work).values()),
            count_total=lambda: records_so_far(job, files)[1] or 0,
        )
        run_with_progress(self.runner, pipeline, phase)
        if job.work.stat(_FAILURE) is not None:
            raise MachineError(json.loads(job.work.read(_FAILURE))["error"])
