"""Notice that a dataset is changed while it is read: its manifest, the files of its shards, the keys in its records.

A conversion with `overwrite` removes the manifest before it changes a shard, and a fetch checks after its records were
read. So what passes was read while the dataset was unchanged. An append replaces the manifest and changes
no shard, so that reading goes on.

    after the records of each fetch were read    stat of each local manifest; keys of the records where they are parsed
    at most 2 % of the time, and before the      stat of each local shard, and of manifests in object stores
    last batch of an evaluation

A record of another shard may begin at the same offset, and be intact. So the size, the inode and the modification time
of each shard are compared with those from when the table was made. A file that differs in them is read as a whole.
Reading continues if it has the manifest's checksum, as after a restore, or if some of its records are damaged and all
others have the keys of the index: damaged records are found when they are read. Records of others may have no keys, and
only the checksum counts.
"""

import contextlib
import hashlib
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from shardkit import naming
from shardkit.dataset import tfrecord
from shardkit.dataset.example import decode
from shardkit.dataset.feature_spans import feature_values, find_features
from shardkit.dataset.index.file import key_hashes
from shardkit.dataset.index.shards import READING_THREADS, read_columns
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.stored_names import names_in_records
from shardkit.errors import DataError, MachineError, ManifestError, RecordError
from shardkit.fetch.memory import HeldPixels
from shardkit.fetch.table.records import RecordTable
from shardkit.storage import COPY_BYTES, FileIdentity, Folder, LocalFolder

_LOG = logging.getLogger(__name__)
KEY = "key"  # feature of every record that shardkit writes
REMEDY = "make the input function again, or restore the shards"
# After a check of all shards, as many times its duration pass until the next one: a thousand stats take 2 ms, on some
# network file systems 500 ms.
_WAIT_FACTOR = 50


class Sources:
    """The datasets of a table, compared with what their folders hold now; for one input pipeline."""

    def __init__(self, table: RecordTable, pixels: HeldPixels | None = None) -> None:
        """Check the manifests, and remember their state."""
        self._table, self._held = table, [one for one in (table.held, pixels) if one is not None]
        self._key_name = key_name(table)
        self.roots = list({root.url: root for root in table.roots}.values())
        self._states = {root.url: _state(root) for root in self.roots}  # before the manifests are read
        self._known = list(table.identities)
        # Some network file systems give an unchanged file new inodes; it is read once for that, and not again.
        self._changing_inodes = set[int]()
        self._due = 0.0
        self.check_manifests()

    @property
    def have_keys(self) -> bool:
        """Whether the records have keys; records of others may lack them."""
        return self._key_name is not None

    def check(self, *, is_last: bool) -> None:
        """Check the datasets after records were read."""
        changed = [self._is_changed(root) for root in self.roots if isinstance(root, LocalFolder)]
        if any(changed) or is_last or time.monotonic() >= self._due:
            start = time.monotonic()
            self._check_files()
            for root in self.roots:
                if not isinstance(root, LocalFolder):
                    self._is_changed(root)
            end = time.monotonic()
            self._due = end + _WAIT_FACTOR * (end - start)

    def check_manifests(self) -> None:
        """Check that the manifests list the shards of the table."""
        for root in self.roots:
            self._check_manifest(root)

    def check_record(self, example_id: int, data: bytes) -> None:
        """Check that a record is the one of an example."""
        if self._key_name is not None:
            found = key_of(data, self._key_name)
            if found is None or key_hashes([found])[0] != self._table.key_hash[example_id]:
                raise self._other_record(example_id, found)

    def check_shard(self, example_id: int) -> None:
        """Check that the shard of a damaged record is not another one: its manifest, and the keys before the record."""
        root, _, number = self._table.location(example_id)
        self._check_manifest(root)
        if self._key_name is not None:
            with contextlib.suppress(OSError):  # which does not show another shard
                shard = int(self._table.shard_of(np.asarray([example_id]))[0])
                self._count_damaged(shard, self._key_name, number + 1)

    def check_first_records(self) -> None:
        """Check that the first record of each local shard has the key that the index gives it.

        So shards that were swapped before the table was made are found; their sizes may be equal. Records of others
        that have no key cannot be compared, and damaged records are left to the reader.
        """

        def check(number: int) -> None:
            table, path = self._table, self._table.shards[number].path
            with contextlib.suppress(RecordError, OSError, StopIteration), table.roots[number].open(path) as file:
                file.seek(int(table.offset[table.starts[number]]))
                self.check_record(int(table.starts[number]), next(tfrecord.read_records(file, name=path))[1])

        if self._key_name is not None:
            local = [number for number, root in enumerate(self._table.roots) if isinstance(root, LocalFolder)]
            with ThreadPoolExecutor(READING_THREADS) as pool:
                list(pool.map(check, local))

    def _is_changed(self, root: Folder) -> bool:
        """Check a manifest if its file is another one than before, and return whether it is."""
        state = _state(root)
        if state == self._states[root.url]:
            return False
        self._check_manifest(root)
        self._states[root.url] = state
        return True

    def _check_manifest(self, root: Folder) -> None:
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

    def check_keys(self, keys: Sequence[bytes], expected: npt.NDArray[np.int64]) -> None:
        """Check the keys of parsed records; takes about a microsecond for each."""
        wrong = np.flatnonzero(key_hashes(keys) != expected)
        if len(wrong):
            row = int(wrong[0])
            example_id = int(np.flatnonzero(self._table.key_hash == expected[row])[0])
            raise self._other_record(example_id, keys[row])

    def _check_files(self) -> None:
        """Check that no shard was replaced by another one; takes about 2 microseconds for each shard."""
        for number, known in enumerate(self._known):
            root = self._table.roots[number]
            if known is None or not isinstance(root, LocalFolder):
                continue
            try:
                found = root.identity(self._table.shards[number].path)
            except OSError:
                continue  # shows no other file: reading says what is missing or cannot be read
            if found != known and not (number in self._changing_inodes and found[1:] == known[1:]):
                for held in self._held:
                    held.give_up()
                self._check_content(number, root, found)
                if found[1:] == known[1:]:
                    self._changing_inodes.add(number)
                self._known[number] = found

    def _check_content(self, number: int, root: LocalFolder, found: FileIdentity) -> None:
        shard = self._table.shards[number]
        where = f"{root.url}/{shard.path}"
        try:
            if _sha256(root, shard.path) == shard.sha256:
                _LOG.warning("%s: the file was replaced by an equal one; reading continues", where)
            elif not (self._key_name is not None and self._count_damaged(number, self._key_name)):
                raise DataError(f"{where}: the shard was replaced by another one while the dataset was read; {REMEDY}")
            if root.identity(shard.path) != found:  # it was also changed while it was read
                raise DataError(f"{where}: the shard is being changed while the dataset is read; {REMEDY}")
        except OSError:
            return  # as in _check_files

    def _count_damaged(self, number: int, name: str, stop: int | None = None) -> int:
        """Return how many of a shard's first records are damaged, after checking the keys of all others."""
        root, shard = self._table.roots[number], self._table.shards[number]
        index = read_columns(root, shard, [KEY, "offset", "length"])
        rows = zip(*(index[column][:stop].to_pylist() for column in (KEY, "offset", "length")), strict=True)
        damaged = 0
        with root.open(shard.path) as file:
            for at, (key, offset, length) in enumerate(rows):
                file.seek(offset)
                try:
                    # The first record of another shard may have another length.
                    data = (
                        tfrecord.unframe(file.read(length + tfrecord.OVERHEAD_BYTES), length)
                        if at
                        else next(tfrecord.read_records(file, name=shard.path), (0, b""))[1]
                    )
                    found = key_of(data, name)
                except RecordError:
                    damaged += 1
                    continue
                if found != key.encode():
                    raise _replaced(f"{root.url}/{shard.path}", at, found, key)
        return damaged

    def _other_record(self, example_id: int, found: bytes | None) -> DataError:
        root, shard, number = self._table.location(example_id)
        return _replaced(f"{root.url}/{shard.path}", number, found, self._table.keys(np.asarray([example_id]))[0])


def key_name(table: RecordTable) -> str | None:
    """Return the name of the keys in a table's records; None if they have none."""
    return next(iter(names_in_records(KEY, table.stored_as)), None) if KEY in table.features else None


def key_of(data: bytes, name: str) -> bytes | None:
    """Return the key in a record; None if it does not have one."""
    spans = find_features(data)
    if spans is None:
        values: Sequence[Any] = decode(data).get(name, ())
    else:
        span = spans.get(name.encode())
        values = () if span is None else feature_values(data, *span)
    return values[0] if len(values) == 1 and isinstance(values[0], bytes) else None


def _state(root: Folder) -> Any:
    """Return a value that changes with the manifest's file."""
    try:
        return root.identity(naming.MANIFEST) if isinstance(root, LocalFolder) else root.stat(naming.MANIFEST)
    except (OSError, MachineError) as error:
        return type(error).__name__  # `_check_manifest` finds out what that means


def _sha256(root: LocalFolder, path: str) -> str:
    digest = hashlib.sha256()
    with root.open(path) as file:
        while chunk := file.read(COPY_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _replaced(path: str, number: int, found: bytes | None, key: str) -> DataError:
    shown = "no key" if found is None else f"the key {naming.printable(found.decode(errors='replace'))!r}"
    return DataError(
        f"{path}: the shard was replaced by another one: record {number} has {shown} where the index has "
        f"{naming.printable(key)!r}; {REMEDY}"
    )
