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
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit.dataset.features import NO_LABEL
from shardkit.dataset.index.checks import column_problem
from shardkit.dataset.manifest.parts import MAX_COUNT
from shardkit.dataset.tfrecord import OVERHEAD_BYTES
from shardkit.dataset.unpacking import unpacked_problem
from shardkit.errors import DataError
from shardkit.hashing import hash64
from shardkit.options.words import convert_again
from shardkit.parquet import ParquetReader

FORMAT_VERSION = 2
_SUMMARY_KEY = b"shardkit.shard"
_GPS = "num_with_gps"

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),  # of the record's frame, bytes from the start of the shard
        pa.field("length", pa.int64(), nullable=False),  # of the record's data in bytes, without the frame's 16
        pa.field("key", pa.string(), nullable=False),
        pa.field("key_hash", pa.int64(), nullable=False),  # see key_hashes; seeds an example's augmentation
        # Null unless an example has exactly one class, or none on purpose (NO_LABEL).
        pa.field("label", pa.int32()),
        pa.field("label_name", pa.dictionary(pa.int32(), pa.string())),  # null also for NO_LABEL
        # Labels of an example with several, or of its objects, ascending; [NO_LABEL] if it has none on purpose.
        pa.field("labels", pa.list_(pa.int32())),
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
        pa.field("perceptual_hash", pa.binary(16)),  # of the raw file; null if it is small, flat, or was not decoded
        # What normalisation changed, separated by commas; '' if the stored bytes are the source's.
        pa.field("changes", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ]
)

# Columns that indexes of format 1 lack: they are null there.
_SINCE_2 = {"perceptual_hash"}
_KINDS = {field.name: (field.type, field.nullable) for field in SCHEMA}

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

    def has_valid_types(self) -> bool:
        """Return whether the values, which a file may have given, are of the types above and not negative."""
        numbers = (self.num_examples, self.num_bytes, self.format_version, self.num_with_gps)
        texts = (self.sha256, self.plan_digest)
        return all(type(one) is int and one >= 0 for one in numbers) and all(type(one) is str for one in texts)

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


def is_index(raw: bytes) -> bool:
    """Return whether a file is an index that shardkit wrote, of any format version."""
    try:
        metadata = pq.read_schema(pa.BufferReader(raw)).metadata or {}
    except (pa.ArrowException, OSError, ValueError):
        return False
    return _SUMMARY_KEY in metadata


def parse_index(
    raw: bytes, *, where: str, columns: list[str] | None = None, labels: range | None = None
) -> tuple[pa.Table, ShardSummary]:
    """Return the rows of an index, or some of their columns, and the summary of its shard.

    All of the columns are checked that are returned, see `checks`.

    Args:
        raw: Content of the file.
        where: Name of the file for errors.
        columns: Names of the columns; None for all.
        labels: The labels that the manifest allows; None if they are not known.

    Raises:
        DataError: The file is not an index, or its numbers cannot be those of the shard in its summary.
    """
    file = _parquet(raw, where)
    if problem := _size_problem(file, len(raw)):
        raise DataError(f"{where}: the index would take too much memory: {problem}; {convert_again()}")
    with _readable(where):
        table = file.read(columns)
    # From the table's schema, because the file would convert its own once more, for each of thousands of indexes.
    summary = _summary(table.schema, where)
    for name in _SINCE_2.difference(table.column_names).intersection(columns or SCHEMA.names):
        table = table.append_column(SCHEMA.field(name), pa.nulls(len(table), SCHEMA.field(name).type))
    present = set(table.column_names)
    missing = [name for name in columns or SCHEMA.names if name not in present]
    if missing:
        raise DataError(f"{where}: the index lacks the column {missing[0]!r}; {convert_again()}")
    with _readable(where):
        problem = _summary_problem(summary, len(table)) or column_problem(table, _KINDS, summary.num_bytes, labels)
    if problem:
        raise DataError(f"{where}: {problem}; the index is damaged, restore it or {convert_again()}")
    return table, summary


def _size_problem(file: Any, num_bytes: int) -> str | None:
    """Return why a Parquet file must not be read: it is small and its rows are not."""
    metadata = file.metadata
    if metadata.num_rows * 8 > num_bytes:  # the column key_hash is stored as it is, eight bytes a row
        return f"{metadata.num_rows:,} rows in a file of {num_bytes:,} bytes"
    return unpacked_problem(metadata, num_bytes)


def _summary_problem(summary: ShardSummary, num_rows: int) -> str | None:
    if num_rows != summary.num_examples:
        return f"it has {num_rows:,} rows, its summary says {summary.num_examples:,}"
    if summary.num_examples * OVERHEAD_BYTES > summary.num_bytes or summary.num_bytes > MAX_COUNT:
        return f"its summary says {summary.num_examples:,} records in {summary.num_bytes:,} bytes"
    return None


def indexed_labels(index: pa.Table) -> npt.NDArray[np.int32]:
    """Return int32[m], the labels of all rows end to end, one or several for each row, with NO_LABEL."""
    several = index["labels"].combine_chunks().flatten()
    return (index["label"].drop_null() if not len(several) else several).to_numpy().astype(np.int32)  # type: ignore[no-any-return]


def are_unlabelled(index: pa.Table) -> npt.NDArray[np.bool_]:
    """Return bool[num_rows], whether the images of an index have no label on purpose."""
    found: npt.NDArray[np.bool_] = pc.equal(index["label"], NO_LABEL).fill_null(False).to_numpy()  # noqa: FBT003
    several = index["labels"].combine_chunks()
    rows = pc.list_parent_indices(several).to_numpy()[several.flatten().to_numpy() == NO_LABEL]
    if len(rows):
        found = found.copy()
        found[rows] = True
    return found


@contextlib.contextmanager
def _readable(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        found = str(error).splitlines()[0]
        msg = (
            f"{where}: the index cannot be read ({found}); run `shardkit verify` on the dataset, then {convert_again()}"
        )
        raise DataError(msg) from None


def _parquet(raw: bytes, where: str) -> Any:
    with _readable(where):
        return ParquetReader(pa.BufferReader(raw))


def _summary(schema: pa.Schema, where: str) -> ShardSummary:
    metadata = schema.metadata or {}
    try:
        summary = ShardSummary(**json.loads(metadata[_SUMMARY_KEY]))
        is_newer = summary.format_version > FORMAT_VERSION
        if not summary.has_valid_types():
            raise TypeError
    except (KeyError, TypeError, ValueError, RecursionError):
        raise DataError(f"{where}: this Parquet file is not an index written by shardkit") from None
    if is_newer:
        raise DataError(
            f"{where}: index format {summary.format_version} is newer than this shardkit's {FORMAT_VERSION}; "
            "install a newer shardkit"
        )
    return summary
