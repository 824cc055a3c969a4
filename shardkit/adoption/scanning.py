"""Scan one TFRecord file: check both CRCs of every record, and collect the rows of its index.

The file is read once, front to back. Nothing is decoded but the headers of the images.
"""

from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from shardkit.adoption.records import ROWS, Found, row_of
from shardkit.dataset.foreign.frames import frames
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.values import read_record
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.errors import RecordError
from shardkit.hashing import HashedFile
from shardkit.naming import printable

MAX_PROBLEMS = 20  # of a file; the scan goes on behind a damaged record


class ScanProblem(NamedTuple):
    """Why a record cannot be adopted.

    Attributes:
        number: The record's number in its file.
        sentence: What is wrong, as a sentence without the record's place.
        is_end: Whether nothing after it can be read.
    """

    number: int
    sentence: str
    is_end: bool = False


@dataclass(slots=True)
class Scan:
    """What the scan of a file found.

    Attributes:
        rows: A row for each record, of the schema ROWS; empty if there are problems.
        num_bytes: Size of the file in bytes.
        sha256: SHA-256 of the file, in hexadecimal.
        found: What its records hold besides.
        problems: At most MAX_PROBLEMS.
    """

    rows: pa.Table
    num_bytes: int
    sha256: str
    found: Found = field(default_factory=Found)
    problems: list[ScanProblem] = field(default_factory=list)


def scan_file(file: BinaryIO, layout: RecordLayout) -> Scan:
    """Scan a TFRecord file.

    Args:
        file: The open file, at its start.
        layout: Which feature is what.

    Raises:
        OSError: The file cannot be read.
    """
    hashed = HashedFile(file)
    scan = Scan(ROWS.empty_table(), 0, "")
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    num_records = 0
    for frame in frames(hashed.buffered()):
        num_records += not frame.is_end
        try:
            if frame.problem is not None:
                msg = f"at byte {frame.offset - HEADER_BYTES}: {frame.problem}"
                raise RecordError(msg)
            row = row_of(read_record(frame.data), frame.number, layout, scan.found)
        except RecordError as error:
            scan.problems.append(ScanProblem(frame.number, str(error), frame.is_end))
            if len(scan.problems) >= MAX_PROBLEMS:
                break
            continue
        for name, value in (("offset", frame.offset - HEADER_BYTES), ("length", len(frame.data)), *row.items()):
            columns[name].append(value)
    if scan.found.num_without_labels == num_records > 0 and not scan.problems:  # of another program, not of no objects
        name = printable(layout.label.name)
        sentence = f"it has no feature {name!r}, which holds the labels, nor has any record of the file"
        scan.problems.append(ScanProblem(0, sentence))
    scan.num_bytes, scan.sha256 = hashed.num_bytes, hashed.sha256
    if not scan.problems:
        scan.rows = pa.table(columns, schema=ROWS)
    return scan
