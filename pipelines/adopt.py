"""Scan TFRecord files that are adopted on Beam; what is found travels as files in a work folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.adoption.scan_files import RecordsFile, ScanJob, largest_first, scanning_phase
from shardkit.pipelines.first_failure import UntilFirstFailure
from shardkit.pipelines.for_each import run_for_each
from shardkit.pipelines.options import RunnerConfig
from shardkit.writing.progress import ProgressListener
from shardkit.writing.worker_checks.driver_view import DriverView


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
        scan = UntilFirstFailure(job.scan, job.work, DriverView.of([job.records]))
        run_for_each(self.runner, "ScanFiles", largest_first(files), scan, scanning_phase(job, files, self.listener))
        scan.raise_failure()
