"""Stop reading a dataset that is converted again while other processes read it; see `shardkit.fetch.sources`.

An append keeps the manifest from before it under its digest, which a conversion with `overwrite` removes.

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
from shardkit.fetch.sources import REMEDY, Sources
from shardkit.fetch.table.records import RecordTable
from shardkit.storage import LocalFolder

_MAX_HASH = (1 << 63) - 1


def manifest_check(table: RecordTable) -> Callable[[Any], Any]:
    """Return a graph function that passes a batch on, and fails if a manifest was changed before it was read.

    It looks for the manifests of local folders where the graph runs, which takes about 0.2 ms. An append changes no
    shard, and keeps the manifest from before it: that one will do.
    """
    local = [root for root in Sources(table).roots if isinstance(root, LocalFolder)]
    paths = [f"{root.url}/{naming.MANIFEST}" for root in local]
    # ParameterServerStrategy calls the input function while it traces a graph: the hashes are values even then.
    with tf.init_scope(), tf.device("CPU:0"):
        expected = [int(_hash(tf.constant(path))) for path in paths]
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
