"""Check before each batch is given that it was read from the dataset that the table was made from.

A conversion with `overwrite` removes the manifest before it changes a shard, and a batch is checked after its records
were read. So a batch that passes was read while the dataset was unchanged. In this process Python checks: TensorFlow
folds operations on constants, and would read a file of a constant path once, for ever. See `manifest_check` for graphs
that other processes run.

    after the records of each batch were read    stat of each local manifest, keys of the records where they are parsed
    at most 2 % of the time, and before the      stat of each local shard, and of manifests in object stores
    last batch of an evaluation
"""

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from shardkit import naming
from shardkit.errors import MachineError
from shardkit.reader.cache.shard_cache import HeldPaths
from shardkit.reader.python_calls import callable_in_graph
from shardkit.reader.records.manifest_check import SourceWatch
from shardkit.reader.records.record_keys import RecordKeys
from shardkit.reader.records.shard_files import ShardFiles
from shardkit.reader.table.records import RecordTable
from shardkit.storage import Folder, LocalFolder

# After a check of all shards, as many times its duration pass until the next one: a thousand stats take 2 ms, on some
# network file systems 500 ms.
_WAIT_FACTOR = 50


class BatchCheck:
    """Checks the batches of one input pipeline in this process."""

    def __init__(self, table: RecordTable) -> None:
        """Check the manifests, and remember their state.

        Args:
            table: The split's record table.

        Raises:
            DataError: A dataset was removed or converted again since the table was made.
        """
        self._watch, self._files, self._keys = SourceWatch(table), ShardFiles(table), RecordKeys(table)
        self._states = {root.url: _state(root) for root in self._watch.roots}  # before the manifests are read
        self._watch.check()
        self._due = 0.0

    def check(self, is_last: np.bool_, keys: npt.NDArray[Any], key_hashes: npt.NDArray[np.int64]) -> np.bool_:
        """Check the dataset after a batch was read.

        Args:
            is_last: Whether no batch follows.
            keys: Keys in the records of the batch; empty if they are not parsed.
            key_hashes: int64, as many; their hashes in the index.

        Raises:
            DataError: The dataset was removed or converted again, or a shard was replaced.
        """
        if len(keys):
            self._keys.check_batch(keys.tolist(), key_hashes)
        local = [root for root in self._watch.roots if isinstance(root, LocalFolder)]
        changed = [self._check_manifest(root) for root in local]
        if any(changed) or is_last or time.monotonic() >= self._due:
            start = time.monotonic()
            self._files.check()
            for root in self._watch.roots:
                if not isinstance(root, LocalFolder):
                    self._check_manifest(root)
            end = time.monotonic()
            self._due = end + _WAIT_FACTOR * (end - start)
        return np.bool_(True)  # noqa: FBT003 - for the graph, which needs a value

    def _check_manifest(self, root: Folder) -> bool:
        """Check a manifest if its file is another one than before, and return whether it is."""
        state = _state(root)
        if state == self._states[root.url]:
            return False
        self._watch.check_manifest(root)
        self._states[root.url] = state
        return True


def _state(root: Folder) -> Any:
    """Return a value that changes with the manifest's file."""
    try:
        return root.identity(naming.MANIFEST) if isinstance(root, LocalFolder) else root.stat(naming.MANIFEST)
    except (OSError, MachineError) as error:
        return type(error).__name__  # `check_manifest` finds out what that means


class CheckBatches:
    """The graph function that calls `BatchCheck`."""

    def __init__(self, table: RecordTable) -> None:
        """Make the check, without one for copies in a cache: they are verified when they are made, and never replaced.

        Raises:
            DataError: See BatchCheck.
        """
        is_copied = isinstance(table.paths, HeldPaths)
        self._check = None if is_copied else callable_in_graph(BatchCheck(table).check, [tf.bool])

    def __call__(self, batch: Any, is_last: Any, keys: tuple[Any, Any] | None) -> Any:
        """Return a batch, which fails if the dataset was changed.

        Args:
            batch: Any nest of tensors.
            is_last: bool[], whether no batch follows.
            keys: The keys in the records, string[n], and their hashes in the index, int64[n]; None if the records are
                not parsed.
        """
        if self._check is None:
            return batch
        found, expected = (tf.constant([], tf.string), tf.constant([], tf.int64)) if keys is None else keys
        with tf.control_dependencies(self._check(is_last, found, expected)):
            return tf.nest.map_structure(tf.identity, batch)
