"""What workers leave of each file in the work folder: a Parquet file of rows, with all else that was found as JSON."""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.adoption.records import ROWS, FeatureCount, Found
from shardkit.adoption.scanning import Scan, ScanProblem, scan_file
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.errors import MachineError
from shardkit.naming import printable
from shardkit.storage import Folder, unreadable
from shardkit.storage.retry import retried
from shardkit.writing.progress import Phase, ProgressListener

_FOUND = b"shardkit.scan"
_PREFIX, _ENDING = "scan-", ".parquet"


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """A TFRecord file that is adopted.

    Attributes:
        number: Its number among all files of the adoption, from 0.
        path: Its path in the folder of the records.
        num_bytes: Its size.
        split: Name of its split.
    """

    number: int
    path: str
    num_bytes: int
    split: str


@dataclass(frozen=True, slots=True)
class ScanJob:
    """What each worker needs to scan files; small and pickled into the pipeline's graph.

    Attributes:
        records: The folder of the records; it is only read.
        work: Folder for what the scans find, which all workers reach.
        layout: Which feature is what.
    """

    records: Folder
    work: Folder
    layout: RecordLayout

    def scan(self, file: RecordsFile) -> None:
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

        def write() -> None:
            with self.work.atomic_write(_name(file.number, len(scan.rows))) as out:
                out.write(serialize_scan(scan))

        retried(write)


class Scanner(Protocol):
    """Scans files in parallel."""

    def scan_files(self, job: ScanJob, files: Sequence[RecordsFile]) -> None:
        """Scan all files.

        Raises:
            MachineError: The engine failed, or a file cannot be read.
        """
        ...


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


def read_scan(work: Folder, name: str) -> Scan:
    """Return the scan of a file.

    Args:
        work: The work folder.
        name: Its name there, see `scan_names`.
    """
    return parse_scan(work.read(name))


def scan_names(work: Folder, num_files: int) -> list[str]:
    """Return the name of each file's scan in the work folder, by the files' numbers.

    Raises:
        MachineError: Some are missing.
    """
    names = sorted(entry.name for entry in work.scan() if entry.name.startswith(_PREFIX))
    if len(names) != num_files:
        msg = (
            f"{work.url}: what workers found in {num_files - len(names)} of {num_files} files is missing; a remote "
            "--runner needs a --temp_location that they reach"
        )
        raise MachineError(msg)
    return names


def largest_first(files: Sequence[RecordsFile]) -> list[RecordsFile]:
    """Return files in the order in which to start them."""
    return sorted(files, key=lambda file: -file.num_bytes)


def scanning_phase(job: ScanJob, files: Sequence[RecordsFile], listener: ProgressListener) -> Phase:
    """Return the phase of a scan: it counts records, and estimates the number of all from the sizes of the files."""

    def estimate() -> int | None:
        done = _num_scanned(job.work)
        num_records = sum(done.values())
        scanned_bytes = sum(files[number].num_bytes for number in done)
        if not scanned_bytes or not num_records:
            return None
        if len(done) == len(files):
            return num_records
        return max(num_records, round(num_records * sum(file.num_bytes for file in files) / scanned_bytes))

    return Phase(listener, "scanning", None, lambda: sum(_num_scanned(job.work).values()), count_total=estimate)


def _num_scanned(work: Folder) -> dict[int, int]:
    """Return the number of records of each file that was scanned so far, by the file's number."""
    found = [entry.name for entry in work.scan() if entry.name.startswith(_PREFIX)]
    numbers = [name.removeprefix(_PREFIX).removesuffix(_ENDING).split("-") for name in found]
    return {int(number): int(records) for number, records in numbers}


def _name(number: int, num_records: int) -> str:
    return f"{_PREFIX}{number:08d}-{num_records}{_ENDING}"
