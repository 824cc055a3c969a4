"""Stop reading a dataset that is converted again while it is read.

A conversion with `overwrite` removes the manifest before it changes a shard. So while the manifest is the one that
the table was made from, all records read are those of the table. Without this check, training would read records of
other shards: TensorFlow opens a file by its name, and every shard has an intact record at its first byte.

An append replaces the manifest and changes no shard, so that reading goes on: it keeps the manifest from before it
under its digest, which a conversion with `overwrite` removes.
"""

from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError, MachineError, ManifestError
from shardkit.reader.table.records import RecordTable
from shardkit.storage import Folder

REMEDY = "make the input function again, or restore the shards"


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
