"""Stop reading a dataset that is converted again while it is read.

A conversion with `--overwrite` removes the manifest before it changes a shard. So while the manifest is the one that
the table was made from, all records read are those of the table. Without this check, training would read records of
other shards: TensorFlow opens a file by its name, and every shard has an intact record at its first byte.

An append replaces the manifest and changes no shard, so that reading goes on: it keeps the manifest from before it
under its digest, which a conversion with `--overwrite` removes.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit import naming
from shardkit.dataset import tfrecord
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.shard_indexes import read_columns
from shardkit.dataset.stored_names import names_in_records
from shardkit.errors import DataError, MachineError, ManifestError, RecordError
from shardkit.reader.table.records import RecordTable
from shardkit.storage import Folder, LocalFolder

_KEY = "key"  # feature of every record that shardkit writes
_REMEDY = "make the input function again, or restore the shards"
_MAX_HASH = (1 << 63) - 1


class SourceWatch:
    """Compares the datasets of a table with what their folders hold now."""

    def __init__(self, table: RecordTable) -> None:
        """Remember the table.

        Args:
            table: The split's record table.
        """
        self._table = table
        self._roots = list({root.url: root for root in table.roots}.values())

    def check(self) -> None:
        """Check that the manifests list the shards of the table.

        Raises:
            DataError: A manifest is gone, or lists other shards.
        """
        for root in self._roots:
            self._check_manifest(root)

    def in_graph(self) -> Callable[[], Any]:
        """Return a graph function that fails, without calling Python, if a manifest was changed since.

        It reads the manifests of local folders, which takes about 20 microseconds each. Only `check` reads those in
        object stores, where it takes 50 milliseconds.

        Raises:
            DataError: See check.
        """
        self.check()
        local = [root for root in self._roots if isinstance(root, LocalFolder)]
        paths = [f"{root.url}/{naming.MANIFEST}" for root in local]
        with tf.device("CPU:0"):
            expected = [int(_hash(path)) for path in paths]
        kept = [f"{root.url}/{naming.earlier_manifest(read_manifest(root.url).digest)}" for root in local]

        def unchanged() -> Any:
            texts = [f"{path}: the manifest was changed while the dataset was read; {_REMEDY}" for path in paths]
            checks = [
                tf.debugging.Assert(_unchanged(path, number, before), [text])
                for path, number, before, text in zip(paths, expected, kept, texts, strict=True)
            ]
            return tf.group(*[one for one in checks if one is not None])

        return unchanged

    def check_shard(self, example_id: int) -> None:
        """Check that the shard of a damaged record was not replaced by another shard.

        Reads the shard up to that record and compares the keys: records of another shard would not have the same ones.

        Raises:
            DataError: It was replaced.
        """
        root, (shard, number) = self._table.root(example_id), self._table.location(example_id)
        self._check_manifest(root)
        try:
            keys = read_columns(root, shard, ["key"])["key"][: number + 1].to_pylist()
            with root.open(shard.path) as file:
                for key, (_, data) in zip(keys, tfrecord.read_records(file, name=shard.path), strict=False):
                    self._check_key(root, shard.path, data, key)
        except (RecordError, OSError):
            return  # neither of these shows another shard

    def check_record(self, example_id: int, data: bytes) -> None:
        """Check that an intact record is the one of the table.

        Args:
            example_id: Row in the table.
            data: The record's data.

        Raises:
            DataError: It is another record.
        """
        shard, _ = self._table.location(example_id)
        key = self._table.keys(np.asarray([example_id]))[0]
        self._check_key(self._table.root(example_id), shard.path, data, key)

    def _check_key(self, root: Folder, path: str, data: bytes, key: str) -> None:
        names = names_in_records(_KEY, self._table.stored_as) if _KEY in self._table.features else ()
        if not names:
            return
        found = tf.train.Example.FromString(data).features.feature[names[0]].bytes_list.value
        if list(found) != [key.encode()]:
            shown = naming.printable(found[0].decode(errors="replace")) if found else "none"
            msg = (
                f"{root.url}/{path}: the shard was replaced while it was read: key {shown!r} where the index has "
                f"{naming.printable(key)!r}; {_REMEDY}"
            )
            raise DataError(msg)

    def _check_manifest(self, root: Folder) -> None:
        try:
            listed = {(shard.path, shard.sha256) for _, shard in read_manifest(root.url).shards()}
        except MachineError:
            return  # the store does not answer, which shows no change
        except ManifestError as error:
            msg = f"the dataset was removed, or is converted again while it is read: {error}; {_REMEDY}"
            raise DataError(msg) from None
        for shard, its_root in zip(self._table.shards, self._table.roots, strict=True):
            if its_root.url == root.url and (shard.path, shard.sha256) not in listed:
                msg = f"{root.url}/{shard.path}: the shard was replaced while the dataset was read; {_REMEDY}"
                raise DataError(msg)


def _unchanged(path: str, number: int, before: str) -> Any:
    """Return whether a manifest is the one with a hash, or an append has kept that one."""
    pattern = re.sub(r"([*?\[\\])", r"\\\1", before)  # the only op that finds out whether a file exists takes a glob
    same = tf.equal(_hash(path), number)
    return tf.cond(same, lambda: same, lambda: tf.size(tf.io.matching_files(pattern)) > 0)


def _hash(path: str) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.io.read_file(path), _MAX_HASH)
