"""Scan files in threads of this process, without Beam: reading, CRCs and hashes run without the interpreter's lock."""

from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.adoption.scan_files import RecordsFile, ScanJob, largest_first, scanning_phase
from shardkit.writing.progress import ProgressListener
from shardkit.writing.run_in_threads import run_in_threads


@dataclass(frozen=True, slots=True)
class ThreadScanner:
    """Scans files in threads; see `scan_files.Scanner`.

    Attributes:
        num_threads: Number of threads, at least 1.
        listener: Receives the progress.
    """

    num_threads: int
    listener: ProgressListener

    def scan_files(self, job: ScanJob, files: Sequence[RecordsFile]) -> None:
        """See Scanner.

        Raises:
            OSError: The work folder cannot be written.
        """
        phase = scanning_phase(job, files, self.listener)
        with phase.listener.phase(phase.name, phase.total) as show:
            run_in_threads(job.scan, largest_first(files), self.num_threads, show, phase)
