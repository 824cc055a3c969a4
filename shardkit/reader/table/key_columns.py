"""The keys of shards, read from their indexes when they are first asked for.

A global batch of a shuffled split touches up to as many shards as it has examples. Its keys are wanted one batch after
another, so the keys of a shard are kept once its index has been read and compared with the manifest.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

import pyarrow as pa

# The keys of 6 million examples, at 40 characters each. Of a larger split, those that were not used for longest go.
MAX_BYTES = 256 << 20  # 256 MiB


class KeyColumns:
    """Keys by shard, as many as fit into a number of bytes; from any thread."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Begin without any."""
        self._max_bytes, self._num_bytes = max_bytes, 0
        self._columns: OrderedDict[str, pa.ChunkedArray] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, sha256: str, read: Callable[[], pa.ChunkedArray]) -> pa.ChunkedArray:
        """Return the keys of a shard, in the order of its records.

        Args:
            sha256: The checksum of the shard's index.
            read: Reads the keys, if they are not known.
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
