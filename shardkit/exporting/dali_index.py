"""The index files of NVIDIA DALI's ``fn.readers.tfrecord``, as its ``tfrecord2idx`` writes them.

One file for each shard, one line for each record: offset and length of the whole frame in bytes, header and footer
included. The indexes know both, so no shard is read.
"""

import pyarrow as pa

from shardkit import naming
from shardkit.dataset.tfrecord import OVERHEAD_BYTES

ENDING = ".idx"


def dali_index(rows: pa.Table) -> bytes:
    """Return the content of an index file.

    Args:
        rows: The columns ``offset`` and ``length`` of a shard's index.
    """
    pairs = zip(rows["offset"].to_pylist(), rows["length"].to_pylist(), strict=True)
    return "".join(f"{offset} {length + OVERHEAD_BYTES}\n" for offset, length in pairs).encode()


def index_path(shard_path: str) -> str:
    """Return the path of the index file of a shard: the ending is replaced."""
    return shard_path.removesuffix(naming.RECORDS_ENDING) + ENDING
