"""Columns of an index or a plan as arrays and counts, and the rejected files that a report shows.

Both kinds of collections hand columns over in batches. Of the rejected files, the first ones of each reason are shown.
"""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.hashing import hash64
from shardkit.report.collection import RejectedFile


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


def first_rejected(table: pa.Table, per_reason: int) -> list[RejectedFile]:
    """Return the first rejected files of each reason, the most frequent reason first.

    Args:
        table: The rejected files; REJECTED_SCHEMA.
        per_reason: Maximum number of files of each reason.
    """
    counts = pc.value_counts(table["reason"]).to_pylist()
    found = []
    for one in sorted(counts, key=lambda one: (-one["counts"], one["values"])):
        rows = table.filter(pc.equal(table["reason"], one["values"])).slice(0, per_reason).to_pylist()
        found += [RejectedFile(row["key"], row["reason"], row["message"], row["source_bytes"]) for row in rows]
    return found
