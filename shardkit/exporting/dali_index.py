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


def dali_path(index_path: str) -> str:
    """Return the path of the file for a shard, given the path of the shard's index, which never leaves the folder."""
    return index_path.removesuffix(naming.INDEX_ENDING) + ENDING
