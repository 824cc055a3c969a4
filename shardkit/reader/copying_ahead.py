"""Shards copied into the cache ahead of their use, in the order in which training will want them first.

The graph asks `paths` once a block of examples: a shard that is not here yet is read record by record from the source,
so the first batch waits for no copy, and which shards are here changes how fast batches come, never what is in them.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shardkit.manifest import Shard
from shardkit.reader.caching import ShardCache
from shardkit.storage import Folder

SHARDS_AT_A_TIME = 4


def first_use(shard_indices: npt.NDArray[np.int64], num_shards: int) -> list[int]:
    """The shards of a stretch of the order by when they are used first, then all others by number.

    Args:
        shard_indices: int64[n], the shard of each example in the order of training.
        num_shards: all of them are in the result, once.
    """
    used, first = np.unique(shard_indices, return_index=True)
    ahead: list[int] = used[np.argsort(first)].tolist()
    return ahead + sorted(set(range(num_shards)).difference(ahead))


class CopiesAhead:
    """Copies shards in threads of their own and holds them; for shards that all fit into the cache at a time."""

    def __init__(self, cache: ShardCache, root: Folder, shards: Sequence[Shard], order: Sequence[int]) -> None:
        """Start copying.

        Args:
            cache: where to; it goes on holding the shards until it is closed.
            root: folder of the dataset.
            shards: [num_shards].
            order: indices into shards, the first to be copied first; those left out are copied when `wait` asks.

        Raises:
            CallError: the cache's limit is smaller than the shards.
        """
        cache.check_fits(list(shards))
        self._cache, self._root, self._shards = cache, root, list(shards)
        self._paths: npt.NDArray[np.object_] = np.full(len(self._shards), b"", object)
        self._left = iter(list(order))
        self._lock = threading.Lock()
        self._stopped = False
        self._error: BaseException | None = None
        # Daemons: a trainer that ends does not wait for the rest of its copies.
        self._threads = [
            threading.Thread(target=self._work, daemon=True, name=f"shardkit-ahead-{number}")
            for number in range(min(SHARDS_AT_A_TIME, len(self._shards)))
        ]
        for thread in self._threads:
            thread.start()

    def paths(self) -> npt.NDArray[np.object_]:
        """bytes[num_shards]: the local path of every shard that is here, and b"" for others; does not wait.

        Raises:
            DataError, MachineError: what ended the copying.
        """
        if self._error is not None:
            raise self._error
        found: npt.NDArray[np.object_] = self._paths.copy()
        return found

    def wait(self, shard_index: int) -> str:
        """The local path of a shard, copied now where it is not here; raises what `ShardCache.hold` does."""
        path = self._cache.fetch(self._root, self._shards[shard_index])
        self._paths[shard_index] = path.encode()
        return path

    def join(self) -> None:
        """Wait for all of the order; raises what `paths` does."""
        for thread in self._threads:
            thread.join()
        self.paths()

    def close(self) -> None:
        """Begin no further copies, and wait for those under way."""
        self._stopped = True
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._stopped and self._error is None:
            with self._lock:
                shard_index = next(self._left, None)
            if shard_index is None:
                return
            try:
                self.wait(shard_index)
            except BaseException as error:  # noqa: BLE001 - told by `paths`, where the trainer sees it
                self._error = error
