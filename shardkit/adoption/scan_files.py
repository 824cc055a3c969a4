"""What workers leave of each file in the work folder: a Parquet file of rows, with all else that was found as JSON."""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.adoption.records import ROWS, FeatureCount, Found
from shardkit.adoption.scanning import Scan, ScanProblem, scan_file
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.naming import printable
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence, Run
from shardkit.storage import Folder, unreadable
from shardkit.storage.retry import retried

_FOUND = b"shardkit.scan"


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """A TFRecord file that is adopted.

    Attributes:
        number: Its number among all files of the adoption, from 0.
        path: Its path in the folder of the records.
        num_bytes: Its size.
        split: Name of its split.
        num_records: Number of records that the dataset's own files announce; None if they do not.
    """

    number: int
    path: str
    num_bytes: int
    split: str
    num_records: int | None = None


@dataclass(frozen=True, slots=True)
class ScanJob:
    """What each worker needs to scan files; small and pickled into the pipeline's graph.

    Attributes:
        records: The folder of the records; it is only read.
        layout: Which feature is what.
    """

    records: Folder
    layout: RecordLayout

    def scan(self, file: RecordsFile, fence: Fence) -> None:
        """Scan a file, and write what was found into the work folder.

        Raises:
            MachineError: The file cannot be read.
            OSError: The work folder cannot be written.
        """

        def read() -> Scan:
            with self.records.open(file.path) as opened:
                return scan_file(opened, self.layout)

        try:
            scan = retried(read)
        except OSError as error:
            raise unreadable(f"{self.records.url}/{printable(file.path)}", error) from error

        _scans(fence.folder).write(fence, file.number, len(scan.rows), data=serialize_scan(scan))


def serialize_scan(scan: Scan) -> bytes:
    """Return a scan as a Parquet file."""
    found = {"num_bytes": scan.num_bytes, "sha256": scan.sha256, "found": asdict(scan.found), "problems": scan.problems}
    out = io.BytesIO()
    pq.write_table(scan.rows.replace_schema_metadata({_FOUND: json.dumps(found).encode()}), out, compression="zstd")
    return out.getvalue()


def parse_scan(raw: bytes) -> Scan:
    """Return the scan in a Parquet file that `serialize_scan` made."""
    table = pq.read_table(pa.BufferReader(raw))
    kept = json.loads(table.schema.metadata[_FOUND])
    found = Found(**kept["found"])
    found.features = {name: FeatureCount(**count) for name, count in kept["found"]["features"].items()}
    found.class_texts = {int(label): text for label, text in found.class_texts.items()}  # keys of JSON are texts
    problems = [ScanProblem(*one) for one in kept["problems"]]
    rows = table.replace_schema_metadata(None).cast(ROWS)
    return Scan(rows, kept["num_bytes"], kept["sha256"], found, problems)


def scan_files(
    job: ScanJob, files: Sequence[RecordsFile], executor: Executor, run: Run, listener: ProgressListener
) -> list[str]:
    """Scan files in parallel, the largest first.

    Args:
        job: What the workers need.
        files: The files.
        executor: Runs the scans.
        run: The run whose work folder receives what is found.
        listener: Receives the progress: records, and an estimate of all from the sizes of the files.

    Returns:
        The path of each file's scan in the run's folder, by the files' numbers; see `read_scan`.

    Raises:
        DataError: A file cannot be adopted.
        MachineError: The engine failed, a file cannot be read, or scans are missing.
    """
    reports = _scans(run.folder)

    def estimate() -> int | None:
        done = {report.item: report.numbers[0] for report in reports.found()}
        num_records = sum(done.values())
        scanned_bytes = sum(files[number].num_bytes for number in done)
        if not scanned_bytes or not num_records:
            return None
        if len(done) == len(files):
            return num_records
        return max(num_records, round(num_records * sum(file.num_bytes for file in files) / scanned_bytes))

    phase = Phase(listener, "scanning", None, reports.total, count_total=estimate)
    largest_first = sorted(files, key=lambda file: -file.num_bytes)
    for_each(executor, run, "ScanFiles", largest_first, job.scan, phase, reads=[job.records])
    return [report.path for report in reports.complete(len(files))]


def read_scan(work: Folder, path: str) -> Scan:
    """Return the scan of a file; `path` is its path in the work folder, see `scan_files`."""
    return parse_scan(work.read(path))


def _scans(work: Folder) -> Reports:
    """Return the reports of the scans, with their numbers of records."""
    return Reports(work, "scans")
