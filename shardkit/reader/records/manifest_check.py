"""Stop reading a dataset that is converted again while it is read: check its manifests, in Python or in a graph.

A conversion with `overwrite` removes the manifest before it changes a shard. So while the manifest is the one that
the table was made from, all records read are those of the table. Without this check, training would read records of
other shards: TensorFlow opens a file by its name, and every shard has an intact record at its first byte.

An append replaces the manifest and changes no shard, so that reading goes on: it keeps the manifest from before it
under its digest, which a conversion with `overwrite` removes.

A graph that another process runs cannot call Python. TensorFlow folds `tf.io.read_file` of a constant path inside a
dataset's function: the file would be read once, for ever. So the path is joined with an empty text that is made from
the batch.
"""

import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit import naming
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError, MachineError, ManifestError
from shardkit.reader.cache.shard_cache import HeldPaths
from shardkit.reader.table.records import RecordTable
from shardkit.storage import Folder, LocalFolder

_MAX_HASH = (1 << 63) - 1
REMEDY = "make the input function again, or restore the shards"


def manifest_check(table: RecordTable) -> Callable[[Any], Any]:
    """Return a graph function that passes a batch on, and fails if a manifest was changed before it was read.

    It looks for the manifests of local folders where the graph runs, which takes about 0.2 ms. An append changes no
    shard, and keeps the manifest from before it: that one will do.

    Args:
        table: The split's record table.

    Raises:
        DataError: See SourceWatch.check.
    """
    if isinstance(table.paths, HeldPaths):
        return lambda batch: batch  # copies are verified when they are made, and never replaced
    watch = SourceWatch(table)
    local = [root for root in watch.roots if isinstance(root, LocalFolder)]
    paths = [f"{root.url}/{naming.MANIFEST}" for root in local]
    # ParameterServerStrategy calls the input function while it traces a graph: the hashes are values even then.
    with tf.init_scope(), tf.device("CPU:0"):
        expected = [int(_hash(tf.constant(path))) for path in paths]
    watch.check()
    kept = [f"{root.url}/{naming.earlier_manifest(read_manifest(root.url).digest)}" for root in local]

    def checked(batch: Any) -> Any:
        nothing, assertions = _empty_text(batch), list[Any]()
        for path, number, before in zip(paths, expected, kept, strict=True):
            msg = (
                f"{path}: the manifest was removed or replaced while the dataset was read: it was removed, or is "
                f"converted again; {REMEDY}"
            )
            same = tf.equal(_hash_or_zero(tf.strings.join([path, nothing])), number)
            is_kept = tf.cond(
                same,
                lambda: True,
                lambda before=before: tf.size(tf.io.matching_files(tf.strings.join([_glob(before), nothing]))) > 0,
            )
            assertions.append(tf.debugging.Assert(is_kept, [msg]))
        with tf.control_dependencies(assertions):
            return tf.nest.map_structure(tf.identity, batch)

    return checked


def _empty_text(batch: Any) -> Any:
    """Return an empty string[] that TensorFlow cannot compute before it has the batch."""
    values = tf.reshape(tf.nest.flatten(batch, expand_composites=True)[0], [-1])[:1]
    text = values if values.dtype == tf.string else tf.strings.as_string(values)
    return tf.strings.reduce_join(tf.strings.substr(text, 0, 0))


def _hash(path: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.io.read_file(path), _MAX_HASH) + 1


def _hash_or_zero(path: Any) -> Any:
    """Return the hash of a file; 0 if it cannot be read."""
    found = tf.data.Dataset.from_tensors(path).map(_hash).ignore_errors(log_warning=False)
    return found.concatenate(tf.data.Dataset.from_tensors(tf.constant(0, tf.int64))).take(1).get_single_element()


def _glob(path: str) -> str:
    """Return the pattern that only a path matches: the only op that finds out whether a file exists takes a pattern."""
    return re.sub(r"([*?\[\\])", r"\\\1", path)


class SourceWatch:
    """Compares the datasets of a table with what their folders hold now."""

    def __init__(self, table: RecordTable) -> None:
        """Remember the table.

        Args:
            table: The split's record table.
        """
        self._table = table
        self.roots = list({root.url: root for root in table.roots}.values())

    def check(self) -> None:
        """Check that the manifests list the shards of the table.

        Raises:
            DataError: A manifest is gone, or lists other shards.
        """
        for root in self.roots:
            self.check_manifest(root)

    def check_manifest(self, root: Folder) -> None:
        """Check that the manifest of one dataset lists the shards of the table.

        Raises:
            DataError: See check.
        """
        try:
            listed = {(shard.path, shard.sha256) for _, shard in read_manifest(root.url).shards()}
        except MachineError:
            return  # the store does not answer, which shows no change
        except ManifestError as error:
            msg = f"the dataset was removed, or is converted again while it is read: {error}; {REMEDY}"
            raise DataError(msg) from None
        for shard, its_root in zip(self._table.shards, self._table.roots, strict=True):
            if its_root.url == root.url and (shard.path, shard.sha256) not in listed:
                raise DataError(f"{root.url}/{shard.path}: the shard was replaced while the dataset was read; {REMEDY}")
