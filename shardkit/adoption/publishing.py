"""Write the indexes of adopted files, then the manifest, which makes them a dataset.

The indexes lie in a folder named by the adoption's digest. So an adoption that is repeated with other files or options
overwrites no index of the dataset before it: until the manifest is replaced, readers find the old dataset, and then the
new one. The indexes of older adoptions are removed last. What a killed adoption left, the next one removes, also if it
finds nothing else to do.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit import naming, software
from shardkit.adoption.features import AdoptedFeatures
from shardkit.adoption.keys import KeyChoice, keys_of
from shardkit.adoption.scan_files import RecordsFile, read_scan
from shardkit.adoption.scanning import Scan
from shardkit.dataset.index.file import SCHEMA, ShardSummary, indexed_labels, key_hashes, serialize_index
from shardkit.dataset.manifest import (
    ADOPTED,
    Balance,
    Index,
    Rejected,
    Shard,
    Source,
    Split,
    seal_manifest,
    write_shard_tables,
)
from shardkit.dataset.manifest.readopting import ADOPT
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.storage import TEMPORARY, Folder
from shardkit.storage.folder import remove_temporaries
from shardkit.storage.kernel_locks import locked

_LOCK = f"{TEMPORARY}lock"  # in the folder of the indexes, while they are written


@dataclass(frozen=True, slots=True)
class Adoption:
    """Everything that decides the manifest and the indexes.

    Attributes:
        root: The dataset's folder.
        records_root: Path from there to the folder of the records; None if they are in it.
        name: Name of the dataset.
        files: The files, in the order of the dataset.
        sha256: SHA-256 of each file.
        adopted: The dataset's features.
        classes: Class names in label order.
        keys: Where the keys come from.
        options: What the manifest keeps of the user's options; see `dataset.manifest.readopting`.
    """

    root: Folder
    records_root: str | None
    name: str
    files: Sequence[RecordsFile]
    sha256: Sequence[str]
    adopted: AdoptedFeatures
    classes: Sequence[str]
    keys: KeyChoice
    options: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The manifest's ``plan_digest``: equal for equal files, features, classes, splits and versions."""
        decided = {
            "files": [[file.path, file.split, sha256] for file, sha256 in zip(self.files, self.sha256, strict=True)],
            "features": {name: one.model_dump(mode="json") for name, one in self.adopted.features.items()},
            "stored_as": self.adopted.stored_as,
            "classes": list(self.classes),
            "software": software.versions(),
        }
        return sha256_hex(canonical_json(decided))

    def path_of(self, file: RecordsFile) -> str:
        """Return the path of a file in the manifest."""
        return file.path if self.records_root is None else f"{self.records_root}/{file.path}"


class _Written(NamedTuple):
    shard: Shard
    class_counts: npt.NDArray[np.int64]
    contents: npt.NDArray[np.uint64]  # the first 64 bits of each image's sha256


def publish(adoption: Adoption, work: Folder, scans: Sequence[str]) -> bool:
    """Write the indexes and the manifest, and remove what killed adoptions left.

    Args:
        adoption: What was decided.
        work: The work folder.
        scans: Name of each file's scan there.

    Returns:
        False if the manifest was there already.

    Raises:
        MachineError: Another process publishes into the folder.
    """
    adoption.root.create()
    with locked(adoption.root, f"{naming.INDEXES}/{_LOCK}"):
        remove_temporaries(adoption.root)
        return _publish(adoption, work, scans)


def _publish(adoption: Adoption, work: Folder, scans: Sequence[str]) -> bool:
    root, digest = adoption.root, adoption.digest
    folder = f"{naming.INDEXES}/{naming.index_folder(digest)}"
    totals: dict[str, _Totals] = {}
    contents = []
    for file, name in zip(adoption.files, scans, strict=True):
        written = _write_index(adoption, file, read_scan(work, name), folder, digest)
        totals.setdefault(file.split, _Totals(len(adoption.classes))).add(written)
        contents.append(written.contents)
    images = np.concatenate(contents)
    manifest = seal_manifest(
        {
            "name": adoption.name,
            "features": adoption.adopted.features,
            "classes": list(adoption.classes),
            "splits": {split: one.as_split() for split, one in totals.items()},
            "source": Source(
                fingerprint=sha256_hex(canonical_json(sorted(adoption.sha256))),
                layout=ADOPTED,
                num_files=len(adoption.files),
                num_bytes=sum(file.num_bytes for file in adoption.files),
                skipped={},
                groups=None,
                duplicates=len(images) - len(np.unique(images)),
            ),
            "options": {ADOPT: adoption.options},
            "plan_digest": digest,
            "rejected": Rejected(num_examples=0, by_reason={}),
            "files": [],
            "software": software.versions(),
            "stored_as": adoption.adopted.stored_as,
            "records_root": adoption.records_root,
        }
    )
    write_shard_tables(root, manifest)
    is_new = _write_unless_there(root, naming.MANIFEST, manifest.to_bytes())
    for entry in root.scan(naming.INDEXES):
        if entry.name != _LOCK and f"{naming.INDEXES}/{entry.name}" != folder:
            remove = root.remove_tree if entry.is_folder else root.remove
            remove(f"{naming.INDEXES}/{entry.name}")
    _remove_unknown(root, folder, {shard.index.path for _, shard in manifest.shards()})
    return is_new


def _write_unless_there(root: Folder, path: str, content: bytes) -> bool:
    """Write a file; return False if it has this content already, so that no reader sees a file change without need."""
    there = root.stat(path)
    if there is not None and there.num_bytes == len(content) and root.read(path) == content:
        return False
    with root.atomic_write(path) as out:
        out.write(content)
    return True


def _remove_unknown(root: Folder, folder: str, known: Collection[str]) -> None:
    """Remove the files below the folder of the indexes that are no indexes: temporary files of a killed process."""
    for entry in root.scan(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            _remove_unknown(root, path, known)
        elif path not in known:
            root.remove(path)


def _write_index(adoption: Adoption, file: RecordsFile, scan: Scan, folder: str, digest: str) -> _Written:
    table = index_of(file, scan, adoption.keys, adoption.classes)
    summary = ShardSummary(len(table), scan.num_bytes, scan.sha256, digest, num_with_gps=scan.found.num_with_gps)
    raw = serialize_index(table, summary)
    path = f"{folder}/{file.path}{naming.INDEX_ENDING}"
    _write_unless_there(adoption.root, path, raw)
    shard = Shard(
        path=adoption.path_of(file),
        num_examples=len(table),
        num_bytes=scan.num_bytes,
        sha256=scan.sha256,
        index=Index(path=path, sha256=sha256_hex(raw)),
        num_with_gps=scan.found.num_with_gps,
    )
    counts = np.bincount(indexed_labels(table), minlength=len(adoption.classes)).astype(np.int64)
    heads = [value[:8] for value in scan.rows["content_sha256"].to_pylist()]
    return _Written(shard, counts, np.frombuffer(b"".join(heads), "<u8"))


def index_of(file: RecordsFile, scan: Scan, keys: KeyChoice, classes: Sequence[str]) -> pa.Table:
    """Return the index of an adopted file.

    Args:
        file: The file.
        scan: Its scan.
        keys: Where the keys come from.
        classes: Class names in label order.
    """
    rows = scan.rows
    texts = keys_of(keys, file.path, rows["key_text"])
    num = len(rows)
    names = pa.DictionaryArray.from_arrays(rows["label"].combine_chunks(), pa.array([*classes], pa.string()))
    made: Mapping[str, Any] = {
        "key": pa.array(texts, pa.string()),
        "key_hash": pa.array(key_hashes(texts), pa.int64()),
        "label_name": names,
        "group": pa.nulls(num, pa.string()),
        "source_bytes": rows["image_bytes"].cast(pa.int64()),
        "perceptual_hash": pa.nulls(num, SCHEMA.field("perceptual_hash").type),
        "changes": pa.DictionaryArray.from_arrays(pa.array(np.zeros(num, np.int32)), pa.array([""], pa.string())),
    }
    columns = [made[field.name] if field.name in made else rows[field.name] for field in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


class _Totals:
    """The sums of a split. The class counts of single shards are not kept: thousands of both would fill the memory."""

    def __init__(self, num_classes: int) -> None:
        self._shards: list[Shard] = []
        self._least = np.full(num_classes, np.iinfo(np.int64).max)
        self._most, self._total = np.zeros(num_classes, np.int64), np.zeros(num_classes, np.int64)

    def add(self, written: _Written) -> None:
        counts = written.class_counts
        self._shards.append(written.shard)
        np.minimum(self._least, counts, out=self._least)
        np.maximum(self._most, counts, out=self._most)
        self._total += counts

    def as_split(self) -> Split:
        examples = np.array([shard.num_examples for shard in self._shards])
        num_bytes = np.array([shard.num_bytes for shard in self._shards])
        return Split(
            num_examples=int(examples.sum()),
            num_bytes=int(num_bytes.sum()),
            class_counts=self._total.tolist(),
            balance=Balance(
                count_spread=int(np.ptp(examples)),
                class_spread=int((self._most - self._least).max(initial=0)),
                bytes_spread=round(float(max(1, num_bytes.max()) / max(1, num_bytes.min()) - 1), 6),
            ),
            shards=self._shards,
        )
