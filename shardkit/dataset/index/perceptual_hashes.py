"""The perceptual hashes in an index or an inventory, as numbers."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

HASH_WORDS = 2  # 64-bit words of a hash


def hash_words(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the rows that have a hash, and the hashes as uint64[n, HASH_WORDS]."""
    known = np.flatnonzero(pc.is_valid(column).to_numpy())
    chunk = column.take(pa.array(known)).combine_chunks() if column.null_count else column.combine_chunks()
    return known, words_of(chunk) if len(known) else np.zeros((0, HASH_WORDS), np.uint64)


def words_of(values: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint64]:
    """Return values without nulls, each of the same number of 64-bit words, as uint64[n, number of words]."""
    num_words = values.type.byte_width // 8
    if not len(values):
        return np.zeros((0, num_words), np.uint64)
    words: npt.NDArray[np.uint64] = np.frombuffer(values.buffers()[1], "<u8").reshape(-1, num_words)
    return words[values.offset : values.offset + len(values)]
