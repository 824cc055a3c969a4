"""Columns of an index or a plan as arrays and counts: what both kinds of collections hand over in batches."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.hashing import hash64


def labels_of(
    single: pa.ChunkedArray | None, several: pa.ChunkedArray | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return int32[m], all labels end to end, and int64[n], the number of labels of each example."""
    if several is not None and several.null_count < len(several):
        lengths = pc.fill_null(pc.list_value_length(several), 0).to_numpy().astype(np.int64)
        return pc.list_flatten(several).to_numpy().astype(np.int32), lengths
    if single is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    is_valid = pc.is_valid(single).to_numpy().astype(np.int64)
    return single.drop_null().to_numpy().astype(np.int32), is_valid


def prefixes(contents: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return the first 64 bits of each sha256."""
    width = contents.type.byte_width // 8
    words = [
        np.frombuffer(chunk.buffers()[1], "<u8", len(chunk) * width, chunk.offset * width * 8).reshape(-1, width)[:, 0]
        for chunk in contents.chunks
        if len(chunk)
    ]
    return np.concatenate(words) if words else np.zeros(0, np.uint64)


def group_hashes(groups: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return the hash of each example's group, 0 without one."""
    encoded = groups.combine_chunks().dictionary_encode()
    hashes = np.append(hash64(encoded.dictionary.to_pylist(), seed=0, purpose="group"), np.uint64(0))
    found: npt.NDArray[np.uint64] = hashes[pc.fill_null(encoded.indices, len(hashes) - 1).to_numpy()]
    return found


def counts_of(column: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each text occurs."""
    found = Counter[str]()
    for one in pc.value_counts(column).to_pylist():
        found[one["values"] or ""] += one["counts"]
    return found
