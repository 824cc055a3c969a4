"""Notice that the file of a shard was replaced or changed, while the manifest stays as it is.

A record of another shard may begin at the same offset, and be intact. So the size, the inode and the modification time
of each shard are compared with those from when the table was made. A file that differs in them is read as a whole.
Reading continues if it has the manifest's checksum, as after a restore, or if some of its records are damaged and all
others have the keys of the index: damaged records are found when they are read. Records of others may have no keys, and
only the checksum counts.
"""

import hashlib
import io
import logging
from concurrent.futures import ThreadPoolExecutor

from shardkit.dataset import tfrecord
from shardkit.dataset.index.shards import READING_THREADS
from shardkit.errors import DataError, RecordError
from shardkit.reader.records.manifest_check import REMEDY
from shardkit.reader.records.record_keys import RecordKeys
from shardkit.reader.table.records import RecordTable
from shardkit.storage import COPY_BYTES, FileIdentity, LocalFolder

_LOG = logging.getLogger(__name__)


class ShardFiles:
    """The files of a table's shards in local folders."""

    def __init__(self, table: RecordTable) -> None:
        """Remember the identities of the table.

        Args:
            table: The split's record table.
        """
        self._table = table
        self._known = list(table.identities)
        # Some network file systems give an unchanged file new inodes; it is read once for that, and not again.
        self._changing_inodes = set[int]()
        self._refused: dict[int, tuple[FileIdentity, str]] = {}  # with the reason
        self._keys = RecordKeys(table)

    def check(self) -> None:
        """Check that no shard was replaced by another one; takes about 2 microseconds for each shard.

        Raises:
            DataError: A shard was replaced.
        """
        for number, known in enumerate(self._known):
            root = self._table.roots[number]
            if known is None or not isinstance(root, LocalFolder):
                continue
            path = self._table.shards[number].path
            try:
                found = root.identity(path)
            except OSError:
                continue  # shows no other file: the record reader says what is missing or cannot be read
            if found != known and not (number in self._changing_inodes and found[1:] == known[1:]):
                if self._table.held is not None:
                    self._table.held.give_up()
                self._check_content(number, root, found)
                if found[1:] == known[1:]:
                    self._changing_inodes.add(number)
                self._known[number] = found

    def _check_content(self, number: int, root: LocalFolder, found: FileIdentity) -> None:
        if self._refused.get(number, (None, ""))[0] == found:
            raise DataError(self._refused[number][1])
        shard = self._table.shards[number]
        where = f"{root.url}/{shard.path}"
        try:
            if _sha256(root, shard.path) == shard.sha256:
                _LOG.warning("%s: the file was replaced by an equal one; reading continues", where)
            elif not self._is_damaged(number):
                raise DataError(f"{where}: the shard was replaced by another one while the dataset was read; {REMEDY}")
            if root.identity(shard.path) != found:  # it was also changed while it was read
                raise DataError(f"{where}: the shard is being changed while the dataset is read; {REMEDY}")
        except OSError:
            return  # as in check
        except DataError as error:
            self._refused[number] = found, str(error)
            raise

    def _is_damaged(self, number: int) -> bool:
        """Return whether this is the shard with damaged records, which are found when they are read.

        Raises:
            DataError: It is another shard.
        """
        return self._keys.are_stored and self._keys.count_damaged(number) > 0


def check_first_records(table: RecordTable) -> None:
    """Check that the first record of each local shard has the key that the index gives it.

    So shards that were swapped before the table was made are found; their sizes may be equal. Records of others that
    have no key cannot be compared, and damaged records are left to the reader.

    Args:
        table: All examples of the split.

    Raises:
        DataError: The shard is another one.
    """
    keys = RecordKeys(table)
    if not keys.are_stored:
        return

    def check(number: int) -> None:
        first = int(table.starts[number])
        data = _first_record(table, number)
        if data is not None:
            keys.check(first, data)

    local = [number for number, root in enumerate(table.roots) if isinstance(root, LocalFolder)]
    with ThreadPoolExecutor(READING_THREADS) as pool:
        list(pool.map(check, local))


def _first_record(table: RecordTable, number: int) -> bytes | None:
    """Return the data of the first record of a shard; None if it cannot be read or is damaged."""
    root, shard, first = table.roots[number], table.shards[number], int(table.starts[number])
    stop = int(table.offset[first + 1]) if shard.num_examples > 1 else shard.num_bytes
    start = int(table.offset[first])
    try:
        frame = root.read_range(shard.path, start, stop - start)
        try:
            return next(tfrecord.read_records(io.BytesIO(frame), name=shard.path))[1]
        except RecordError:  # a longer record of another shard, or a damaged one
            with root.open(shard.path) as file:
                file.seek(start)
                return next(tfrecord.read_records(file, name=shard.path))[1]
    except (RecordError, OSError, StopIteration):
        return None


def _sha256(root: LocalFolder, path: str) -> str:
    digest = hashlib.sha256()
    with root.open(path) as file:
        while chunk := file.read(COPY_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
