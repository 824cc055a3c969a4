"""Tables of shards: what the manifest of a dataset with very many shards names in place of listing them.

A shard takes 358 bytes or more in a manifest and 65 in a table, which takes two thirds of the time to read. A table is
a Parquet file with a row for each shard of a split, named by its content, in the folder of earlier manifests. So a
manifest from before an append keeps its tables, and writing a table never replaces one that another manifest names.
"""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from shardkit import naming
from shardkit.dataset.manifest.parts import Shard, ShardTable
from shardkit.dataset.unpacking import unpacked_problem
from shardkit.errors import DataError, ManifestError, SpecialFileError
from shardkit.hashing import sha256_hex
from shardkit.parquet import ParquetReader
from shardkit.storage import Folder

LISTED_SHARDS = 1 << 15  # of all splits: up to 17 MB of manifest
_MAX_BYTES = 1 << 30  # 1 GiB: some 15 million shards
_HASH_BYTES = 32
_SHARDS = TypeAdapter(list[Shard])
_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("num_examples", pa.int64(), nullable=False),
        pa.field("num_bytes", pa.int64(), nullable=False),
        pa.field("sha256", pa.binary(_HASH_BYTES), nullable=False),
        pa.field("index_path", pa.string(), nullable=False),
        pa.field("index_sha256", pa.binary(_HASH_BYTES), nullable=False),
        pa.field("num_with_gps", pa.int64(), nullable=False),
    ]
)


def serialize_shards(shards: Sequence[Shard]) -> bytes:
    """Return the Parquet file of a table; with one version of pyarrow, equal shards give equal bytes."""
    columns = [
        [shard.path for shard in shards],
        [shard.num_examples for shard in shards],
        [shard.num_bytes for shard in shards],
        [bytes.fromhex(shard.sha256) for shard in shards],
        [shard.index.path for shard in shards],
        [bytes.fromhex(shard.index.sha256) for shard in shards],
        [shard.num_with_gps for shard in shards],
    ]
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, _SCHEMA.types, strict=True)]
    out = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=_SCHEMA),
        out,
        compression={name: "none" if name.endswith("sha256") else "zstd" for name in _SCHEMA.names},
        use_dictionary=False,
        column_encoding=dict.fromkeys(("path", "index_path"), "DELTA_BYTE_ARRAY")
        | dict.fromkeys(("num_examples", "num_bytes", "num_with_gps"), "DELTA_BINARY_PACKED"),
    )
    return out.getvalue()


def table_of(shards: Sequence[Shard]) -> ShardTable:
    """Return how a manifest names the table of some shards."""
    raw = serialize_shards(shards)
    digest = sha256_hex(raw)
    return ShardTable(path=naming.shard_table(digest), num_bytes=len(raw), sha256=digest, num_shards=len(shards))


def read_shards(root: Folder, table: ShardTable) -> list[Shard]:
    """Read a table.

    Args:
        root: The dataset's folder.
        table: How the manifest names it.

    Raises:
        ManifestError: It is missing or damaged; the message is a sentence without a remedy.
        OSError: It cannot be read.
    """
    try:
        raw = root.read_at_most(table.path, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise ManifestError(f"the table of shards {table.path} is missing") from None
    except SpecialFileError:
        raise
    except DataError as error:
        raise ManifestError(f"the table of shards is not the manifest's: {error}") from None
    if (len(raw), sha256_hex(raw)) != (table.num_bytes, table.sha256):
        raise ManifestError(f"the table of shards {table.path} has other bytes than the manifest says")
    try:
        return _parsed(raw, table)
    except ValidationError as error:
        first = error.errors()[0]
        row, *field = first["loc"]
        found = f"{'.'.join(map(str, field))} of shard {row}: {first['msg']}"
        raise ManifestError(f"the table of shards {table.path} is not valid at {found}; it was changed") from None
    except (pa.ArrowException, ValueError, OSError) as error:
        found = str(error).splitlines()[0]
        raise ManifestError(f"the table of shards {table.path} cannot be used: {found}") from None


def _parsed(raw: bytes, table: ShardTable) -> list[Shard]:
    """Return the shards of a table, which may be a stranger's.

    Raises:
        ValueError: The table holds what a list of shards may not hold.
    """
    file = ParquetReader(pa.BufferReader(raw))
    num_rows = file.metadata.num_rows
    if num_rows != table.num_shards or num_rows * 2 * _HASH_BYTES > len(raw):  # the hashes are stored as they are
        raise ValueError(f"it has {num_rows:,} rows in {len(raw):,} bytes, and the manifest says {table.num_shards:,}")
    if not file.schema_arrow.equals(_SCHEMA):
        raise ValueError("its columns are not those of a table of shards")
    if problem := unpacked_problem(file.metadata, len(raw)):
        raise ValueError(problem)
    columns = [column.to_pylist() for column in file.read().columns]
    return _SHARDS.validate_python([_as_json(*row) for row in zip(*columns, strict=True)])


def _as_json(
    path: str, num_examples: int, num_bytes: int, sha256: bytes, index_path: str, index_sha256: bytes, num_with_gps: int
) -> dict[str, Any]:
    return {
        "path": path,
        "num_examples": num_examples,
        "num_bytes": num_bytes,
        "sha256": sha256.hex(),
        "index": {"path": index_path, "sha256": index_sha256.hex()},
        "num_with_gps": num_with_gps,
    }
