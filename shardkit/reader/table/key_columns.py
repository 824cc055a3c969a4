"""Keep the keys of shards in memory after their indexes were read.

A global batch of a shuffled split has examples of up to as many shards as it has examples, and `batch_keys` is called
for one batch after another. So the keys of a shard are kept after its index was read and compared with the manifest.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

import pyarrow as pa

# The keys of 6 million examples of 40 characters each. Of a larger split, the least recently used keys are dropped.
MAX_BYTES = 256 << 20  # 256 MiB


class KeyColumns:
    """The keys of shards, up to a number of bytes; may be used from any thread."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Make an empty collection."""
        self._max_bytes, self._num_bytes = max_bytes, 0
        self._columns: OrderedDict[str, pa.ChunkedArray] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, sha256: str, read: Callable[[], pa.ChunkedArray]) -> pa.ChunkedArray:
        """Return the keys of a shard, in the order of its records.

        Args:
            sha256: Checksum of the shard's index.
            read: Function that reads the keys; called if they are not in memory.
        """
        with self._lock:
            column = self._columns.get(sha256)
            if column is not None:
                self._columns.move_to_end(sha256)
                return column
        column = read()
        with self._lock:
            if sha256 not in self._columns:
                self._columns[sha256] = column
                self._num_bytes += column.nbytes
            while self._num_bytes > self._max_bytes:
                _, oldest = self._columns.popitem(last=False)
                self._num_bytes -= oldest.nbytes
        return column
