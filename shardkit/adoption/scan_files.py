"""Scan many TFRecord files: workers leave Parquet files of rows in the work folder, with all else as JSON in them."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from shardkit.adoption.scanning import ROWS, Found, Scan, scan_file
from shardkit.dataset.foreign.files import ForeignFile
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.naming import printable
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import Reports
from shardkit.parallel.run_token import Fence, Run
from shardkit.storage import Folder, unreadable
from shardkit.storage.retry import retried

_FOUND = b"shardkit.scan"
_KIND = "scans"


@dataclass(frozen=True, slots=True)
class ScanJob:
    """What each worker needs to scan files of a folder; small and pickled into the pipeline's graph."""

    records: Folder
    layout: RecordLayout

    def scan(self, item: tuple[int, ForeignFile], fence: Fence) -> None:
        """Scan the file of a number, and write what was found into the work folder."""
        number, file = item

        def read() -> Scan:
            with self.records.open(file.path) as opened:
                return scan_file(opened, self.layout)

        try:
            scan = retried(read)
        except OSError as error:
            raise unreadable(f"{self.records.url}/{printable(file.path)}", error) from error
        found = {_FOUND: json.dumps(asdict(scan.found)).encode()}
        out = io.BytesIO()
        pq.write_table(scan.rows.replace_schema_metadata(found), out, compression="zstd")
        Reports(fence.folder, _KIND).write(fence, number, len(scan.rows), data=out.getvalue())


def scan_files(
    job: ScanJob, files: Sequence[ForeignFile], executor: Executor, run: Run, listener: ProgressListener
) -> Callable[[], Iterator[Scan]]:
    """Scan files in parallel, the largest first; return what reads their scans one by one, in the files' order."""
    reports = Reports(run.folder, _KIND)
    num_bytes = sum(file.num_bytes for file in files)

    def estimate() -> int | None:
        """Return the number of all records, from the sizes of the files."""
        done = {report.item: report.numbers[0] for report in reports.found()}
        num_records, scanned = sum(done.values()), sum(files[number].num_bytes for number in done)
        if not scanned or not num_records:
            return None
        return num_records if len(done) == len(files) else max(num_records, round(num_records * num_bytes / scanned))

    phase = Phase(listener, "scanning", None, reports.total, count_total=estimate)
    largest_first = sorted(enumerate(files), key=lambda one: -one[1].num_bytes)
    for_each(executor, run, "ScanFiles", largest_first, job.scan, phase, reads=[job.records])
    paths = [report.path for report in reports.complete(len(files))]
    return lambda: map(_read_scan, map(run.folder.read, paths))


def _read_scan(raw: bytes) -> Scan:
    table = pq.read_table(pa.BufferReader(raw))
    found = TypeAdapter(Found).validate_python(json.loads(table.schema.metadata[_FOUND]))
    return Scan(table.replace_schema_metadata(None).cast(ROWS), found)
