"""Write the indexes of adopted files, then the manifest, which makes them a dataset.

The indexes lie in a folder named by the adoption's digest. So an adoption that is repeated with other files or options
overwrites no index of the dataset before it: until the manifest is replaced, readers find the old dataset, and then the
new one. The indexes of older adoptions are removed last. What a killed adoption left, the next one removes, also if it
finds nothing else to do.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shardkit import naming, software
from shardkit.adoption.merging import Merged
from shardkit.adoption.scanning import Scan
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.conversion.writing.output.finished_shards import FinishedShard
from shardkit.conversion.writing.publishing import summarise_split
from shardkit.dataset.foreign.files import ForeignFile
from shardkit.dataset.index.file import SCHEMA, ShardSummary, key_hashes, serialize_index
from shardkit.dataset.manifest import ADOPTED, Index, Rejected, Shard, Source, seal_manifest, write_shard_tables
from shardkit.dataset.manifest.readopting import ADOPT
from shardkit.dataset.stored_names import record_key
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.sources.walking import ancestors
from shardkit.storage import TEMPORARY, Folder
from shardkit.storage.folder import remove_temporaries
from shardkit.storage.kernel_locks import locked

_LOCK = f"{naming.INDEXES}/{TEMPORARY}lock"  # held while the indexes are written


@dataclass(frozen=True, slots=True)
class Adoption:
    """Everything that decides the manifest and the indexes."""

    root: Folder  # the dataset's folder
    records_root: str | None  # path from there to the folder of the records; None if they are in it
    name: str
    files: Sequence[ForeignFile]  # in the order of the dataset
    splits: Mapping[str, str]  # by the paths of the files
    merged: Merged
    classes: Sequence[str]
    options: Mapping[str, Any]  # see `dataset.manifest.readopting`

    @property
    def digest(self) -> str:
        """The manifest's ``plan_digest``: equal for equal files, features, classes, splits and versions."""
        files = zip(self.files, self.merged.sha256, strict=True)
        decided = {
            "files": [[file.path, self.splits[file.path], sha256] for file, sha256 in files],
            "features": {name: one.model_dump(mode="json") for name, one in self.merged.features.items()},
            "stored_as": self.merged.stored_as,
            "classes": list(self.classes),
            "software": software.versions(),
        }
        return sha256_hex(canonical_json(decided))


def publish(adoption: Adoption, scans: Callable[[], Iterator[Scan]]) -> bool:
    """Write the indexes and the manifest, and remove what killed adoptions left; False if the manifest was there."""
    adoption.root.create()
    with locked(adoption.root, _LOCK):
        remove_temporaries(adoption.root)
        return _publish(adoption, scans)


def _publish(adoption: Adoption, scans: Callable[[], Iterator[Scan]]) -> bool:
    root, digest = adoption.root, adoption.digest
    shards: dict[str, list[FinishedShard]] = {}
    contents = []
    for file, scan in zip(adoption.files, scans(), strict=True):
        shards.setdefault(adoption.splits[file.path], []).append(_write_index(adoption, file, scan, digest))
        # 64 bits of each image are enough to count those that are there twice.
        contents.append(digest_prefixes(scan.rows["content_sha256"]))
    images = np.concatenate(contents)
    manifest = seal_manifest(
        {
            "name": adoption.name,
            "features": adoption.merged.features,
            "classes": list(adoption.classes),
            "splits": {split: summarise_split(of_split, len(adoption.classes)) for split, of_split in shards.items()},
            "source": Source(
                fingerprint=sha256_hex(canonical_json(sorted(adoption.merged.sha256))),
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
            "stored_as": adoption.merged.stored_as,
            "records_root": adoption.records_root,
        }
    )
    write_shard_tables(root, manifest)
    is_new = _write_unless_there(root, naming.MANIFEST, manifest.to_bytes())
    kept = {_LOCK, *(shard.index.path for _, shard in manifest.shards())}
    _remove_others(root, naming.INDEXES, kept.union(*map(ancestors, kept)))
    return is_new


def _write_unless_there(root: Folder, path: str, content: bytes) -> bool:
    """Write a file; return False if it has this content already, so that no reader sees a file change without need."""
    entry = root.stat(path)
    if entry is not None and entry.num_bytes == len(content) and root.read(path) == content:
        return False
    with root.atomic_write(path) as out:
        out.write(content)
    return True


def _remove_others(root: Folder, folder: str, kept: Collection[str]) -> None:
    """Remove what is below the folder of the indexes: older ones, and temporary files of a killed process."""
    for entry in root.scan(folder):
        path = f"{folder}/{entry.name}"
        if path not in kept:
            (root.remove_tree if entry.is_folder else root.remove)(path)
        elif entry.is_folder:
            _remove_others(root, path, kept)


def _write_index(adoption: Adoption, file: ForeignFile, scan: Scan, digest: str) -> FinishedShard:
    table, found = _index_of(file, scan.rows, adoption.merged.key, adoption.classes), scan.found
    facts: dict[str, Any] = {"num_examples": len(table), "num_bytes": found.num_bytes, "sha256": found.sha256}
    facts["num_with_gps"] = found.num_with_gps
    raw = serialize_index(table, ShardSummary(plan_digest=digest, **facts))
    path = f"{naming.INDEXES}/{naming.index_folder(digest)}/{file.path}{naming.INDEX_ENDING}"
    _write_unless_there(adoption.root, path, raw)
    records = file.path if adoption.records_root is None else f"{adoption.records_root}/{file.path}"
    return FinishedShard.of(Shard(path=records, index=Index(path=path, sha256=sha256_hex(raw)), **facts), table, raw)


def _index_of(file: ForeignFile, rows: pa.Table, key: str | None, classes: Sequence[str]) -> pa.Table:
    num = len(rows)
    numbered = [record_key(file.path, number) for number in range(num if key is None else 0)]
    keys = pa.array(numbered, pa.string()) if key is None else rows["key_text"].cast(pa.string())
    decided: Mapping[str, Any] = {
        "key": keys,
        "key_hash": pa.array(key_hashes(keys.to_pylist()), pa.int64()),
        "label_name": pa.DictionaryArray.from_arrays(rows["label"].combine_chunks(), pa.array([*classes], pa.string())),
        "group": pa.nulls(num, pa.string()),
        "source_bytes": rows["image_bytes"].cast(pa.int64()),
        "perceptual_hash": pa.nulls(num, SCHEMA.field("perceptual_hash").type),
        "changes": pa.DictionaryArray.from_arrays(pa.array(np.zeros(num, np.int32)), pa.array([""], pa.string())),
    }
    columns = [decided[field.name] if field.name in decided else rows[field.name] for field in SCHEMA]
    return pa.table(columns, schema=SCHEMA)
