"""The index of a shard: a Parquet table with a row for each record. Its presence marks the shard as complete.

Its metadata holds a summary of the shard (size, sha256, format), so that resuming and publishing read small files only.
"""

import contextlib
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.errors import CONVERT_AGAIN, DataError
from shardkit.hashing import hash64
from shardkit.storage import Folder, unreadable

FORMAT_VERSION = 1
_SUMMARY_KEY = b"shardkit.shard"
_GPS = "num_with_gps"

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),  # of the record's frame, bytes from the start of the shard
        pa.field("length", pa.int64(), nullable=False),  # of the record's data in bytes, without the frame's 16
        pa.field("key", pa.string(), nullable=False),
        pa.field("key_hash", pa.int64(), nullable=False),  # see key_hashes; seeds an example's augmentation
        pa.field("label", pa.int32()),  # null unless an example has exactly one class
        pa.field("label_name", pa.dictionary(pa.int32(), pa.string())),
        pa.field("labels", pa.list_(pa.int32())),  # labels of an example with several, or of its objects; ascending
        pa.field("height", pa.int32(), nullable=False),  # pixels, as stored
        pa.field("width", pa.int32(), nullable=False),
        pa.field("format", pa.dictionary(pa.int32(), pa.string()), nullable=False),  # of the stored bytes: JPEG or PNG
        # Position and length of the image in the record's data: a reader slices the image out without parsing.
        pa.field("image_start", pa.int32(), nullable=False),
        pa.field("image_bytes", pa.int32(), nullable=False),
        pa.field("group", pa.string()),
        pa.field(
            "source_bytes", pa.int64(), nullable=False
        ),  # of the raw file; of its stored image, if that was a dataset
        pa.field("content_sha256", pa.binary(32), nullable=False),  # of the raw file
        # What normalisation changed, separated by commas; '' if the stored bytes are the source's.
        pa.field("changes", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ]
)

# Without zstd twenty million rows open in half the time; packed differences take no more space.
_NUMBERS = ["offset", "length", "label", "height", "width", "image_start", "image_bytes", "source_bytes"]
_READ_BY_TRAINERS = {*_NUMBERS, "key_hash", "format"}


def key_hashes(keys: Iterable[str | bytes]) -> npt.NDArray[np.int64]:
    """Return the column ``key_hash``: a 64-bit hash of each key (bytes: in UTF-8), the same in every dataset."""
    return hash64(keys, seed=0, purpose="key").view(np.int64)


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """The summary of a shard in its index.

    Attributes:
        num_examples: Number of records.
        num_bytes: Size of the TFRecord file in bytes.
        sha256: SHA-256 of the TFRecord file, in hexadecimal.
        plan_digest: Digest of the plan that the shard was written from; the manifest repeats it.
        format_version: Version of the index format.
        num_with_gps: Number of stored images whose metadata holds a GPS position.
    """

    num_examples: int
    num_bytes: int
    sha256: str
    plan_digest: str
    format_version: int = FORMAT_VERSION
    num_with_gps: int = 0

    def to_json(self) -> bytes:
        """Return the summary as it is stored; the number of images with a GPS position only if there are any."""
        return json.dumps({name: value for name, value in asdict(self).items() if value or name != _GPS}).encode()


def serialize_index(table: pa.Table, summary: ShardSummary) -> bytes:
    """Return the Parquet file of an index; with one version of pyarrow, equal tables give equal bytes."""
    described = table.cast(SCHEMA).replace_schema_metadata({_SUMMARY_KEY: summary.to_json()})
    out = io.BytesIO()
    pq.write_table(
        described,
        out,
        compression={name: "none" if name in _READ_BY_TRAINERS else "zstd" for name in SCHEMA.names},
        use_dictionary=["label_name", "group", "format", "changes"],
        column_encoding=dict.fromkeys(_NUMBERS, "DELTA_BINARY_PACKED"),
        store_schema=True,
    )
    return out.getvalue()


def read_index(folder: Folder, path: str, columns: list[str] | None = None) -> pa.Table:
    """Read an index or some of its columns.

    Args:
        folder: The dataset's folder.
        path: Path of the index.
        columns: Names of the columns; None for all.

    Raises:
        DataError: The file is missing, or it is not an index.
        MachineError: The file cannot be read.
    """
    try:
        raw = folder.read(path)
    except FileNotFoundError:
        msg = f"{folder.url}/{path}: the index is missing; run `shardkit verify` on the dataset, then {CONVERT_AGAIN}"
        raise DataError(msg) from None
    except OSError as error:
        raise unreadable(f"{folder.url}/{path}", error) from error
    return parse_index(raw, where=f"{folder.url}/{path}", columns=columns)[0]


def is_index(raw: bytes) -> bool:
    """Return whether a file is an index that shardkit wrote, of any format version."""
    try:
        metadata = pq.read_schema(pa.BufferReader(raw)).metadata or {}
    except (pa.ArrowException, OSError, ValueError):
        return False
    return _SUMMARY_KEY in metadata


def parse_summary(raw: bytes, *, where: str) -> ShardSummary:
    """Return the summary in an index without decoding any rows; see `parse_index`."""
    return _summary(_parquet(raw, where).schema_arrow, where)


def parse_index(raw: bytes, *, where: str, columns: list[str] | None = None) -> tuple[pa.Table, ShardSummary]:
    """Return the rows of an index, or some of their columns, and the summary of its shard.

    Args:
        raw: Content of the file.
        where: Name of the file for errors.
        columns: Names of the columns; None for all.

    Raises:
        DataError: The file is not an index.
    """
    file = _parquet(raw, where)
    with _readable(where):
        table = file.read(columns, use_threads=False)  # threads make columns of this size a third slower
    # From the table's schema, because the file would convert its own once more, for each of thousands of indexes.
    summary = _summary(table.schema, where)
    present = set(table.column_names)
    missing = [name for name in columns or SCHEMA.names if name not in present]
    if missing:
        msg = f"{where}: the index lacks the column {missing[0]!r}; {CONVERT_AGAIN}"
        raise DataError(msg)
    return table, summary


def indexed_labels(index: pa.Table) -> npt.NDArray[np.int32]:
    """Return int32[m], the labels of all rows end to end, one or several for each row."""
    several = index["labels"].combine_chunks().flatten()
    return (index["label"].drop_null() if not len(several) else several).to_numpy().astype(np.int32)  # type: ignore[no-any-return]


def coverage_problem(index: pa.Table, num_bytes: int) -> str | None:
    """Return why the records of an index do not cover the shard end to end; None if they do."""
    offsets, lengths = index["offset"].to_numpy(), index["length"].to_numpy()
    ends = np.concatenate(([0], np.cumsum(lengths + OVERHEAD_BYTES)))
    wrong = np.flatnonzero(offsets != ends[:-1])
    if len(wrong):
        return f"record {wrong[0]} should start at byte {ends[wrong[0]]}, its row says byte {offsets[wrong[0]]}"
    if ends[-1] != num_bytes:
        return f"its records end at byte {ends[-1]}, the shard at {num_bytes}"
    return None


@contextlib.contextmanager
def _readable(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        found = str(error).splitlines()[0]
        msg = f"{where}: the index cannot be read ({found}); run `shardkit verify` on the dataset, then {CONVERT_AGAIN}"
        raise DataError(msg) from None


def _parquet(raw: bytes, where: str) -> Any:
    with _readable(where):
        return pq.ParquetFile(pa.BufferReader(raw))


def _summary(schema: pa.Schema, where: str) -> ShardSummary:
    metadata = schema.metadata or {}
    try:
        summary = ShardSummary(**json.loads(metadata[_SUMMARY_KEY]))
        is_newer = summary.format_version > FORMAT_VERSION
    except (KeyError, TypeError, ValueError):
        msg = f"{where}: this Parquet file is not an index written by shardkit"
        raise DataError(msg) from None
    if is_newer:
        msg = (
            f"{where}: index format {summary.format_version} is newer than this shardkit's {FORMAT_VERSION}; "
            "install a newer shardkit"
        )
        raise DataError(msg)
    return summary
