"""Scan files in threads of this process, without Beam: reading, CRCs and hashes run without the interpreter's lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass

from shardkit.adoption.scan_files import RecordsFile, ScanJob, num_scanned

POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ThreadScanner:
    """Scans files in threads; see `scan_files.Scanner`.

    Attributes:
        num_threads: Number of threads, at least 1.
        progress: Begins the phase; its value is called with the number of records scanned so far, and an estimate of
            the number of all.
    """

    num_threads: int
    progress: Callable[[], AbstractContextManager[Callable[[int, int | None], None]]]

    def scan_files(self, job: ScanJob, files: Sequence[RecordsFile]) -> None:
        """See Scanner.

        Raises:
            OSError: A file cannot be read.
        """
        pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="adopt")
        try:
            with self.progress() as show:
                largest_first = sorted(files, key=lambda file: -file.num_bytes)
                futures = [pool.submit(job.scan, file) for file in largest_first]
                # Wait in short steps: the main thread answers Ctrl-C between them.
                while wait(futures, POLL_SECONDS, return_when="FIRST_EXCEPTION").not_done:
                    if any(future.done() and future.exception() for future in futures):
                        break
                    show(*records_so_far(job, files))
                for future in futures:
                    if future.done():
                        future.result()
                show(*records_so_far(job, files))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def records_so_far(job: ScanJob, files: Sequence[RecordsFile]) -> tuple[int, int | None]:
    """Return the number of records scanned so far, and an estimate of all from the sizes of the files."""
    done = num_scanned(job.work)
    num_records = sum(done.values())
    scanned_bytes = sum(files[number].num_bytes for number in done)
    if not scanned_bytes or not num_records:
        return num_records, None
    if len(done) == len(files):
        return num_records, num_records
    return num_records, max(num_records, round(num_records * sum(file.num_bytes for file in files) / scanned_bytes))
