"""Write the indexes of adopted files, then the manifest, which makes them a dataset.

The indexes lie in a folder named by the adoption's digest. So an adoption that is repeated with other files or options
overwrites no index of the dataset before it: until the manifest is replaced, readers find the old dataset, and then the
new one. The indexes of older adoptions are removed last. What a killed adoption left, the next one removes, also if it
finds nothing else to do.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from shardkit.dataset.manifest import ADOPTED, Rejected, Source, seal_manifest, write_shard_tables
from shardkit.dataset.stored_names import record_key
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.sources.walking import ancestors
from shardkit.storage import TEMPORARY, Folder
from shardkit.storage.folder import remove_temporaries
from shardkit.storage.kernel_locks import locked

_LOCK = f"{naming.INDEXES}/{TEMPORARY}lock"  # held while the indexes are written


def digest_of(merged: Merged, classes: Sequence[str], splits: Mapping[str, str]) -> str:
    """Return the manifest's ``plan_digest``: equal for equal files, features, classes, splits and versions."""
    decided = {
        "files": [[file.path, splits[file.path], sha256] for file, sha256 in merged.sha256.items()],
        "features": {name: one.model_dump(mode="json") for name, one in merged.features.items()},
        "stored_as": merged.stored_as,
        "classes": classes,
        "software": software.versions(),
    }
    return sha256_hex(canonical_json(decided))


def publish(
    root: Folder,
    merged: Merged,
    splits: Mapping[str, str],
    scans: Callable[[], Iterator[Scan]],
    known: dict[str, Any],
) -> bool:
    """Write the indexes and the manifest, and remove what killed adoptions left; False if the manifest was there.

    `known` has the fields of the manifest that do not follow from `merged` and the shards.
    """
    root.create()
    with locked(root, _LOCK):
        remove_temporaries(root)
        shards, contents, num_classes = dict[str, list[FinishedShard]](), [], len(known["classes"])
        for file, scan in zip(merged.sha256, scans(), strict=True):
            shards.setdefault(splits[file.path], []).append(_write_index(root, file, scan, merged, known))
            # 64 bits of each image are enough to count those that are there twice.
            contents.append(digest_prefixes(scan.rows["content_sha256"]))
        images = np.concatenate(contents)
        source = Source(
            fingerprint=sha256_hex(canonical_json(sorted(merged.sha256.values()))),
            layout=ADOPTED,
            num_files=len(merged.sha256),
            num_bytes=sum(file.num_bytes for file in merged.sha256),
            skipped={},
            groups=None,
            duplicates=len(images) - len(np.unique(images)),
        )
        decided = {
            "features": merged.features,
            "splits": {name: summarise_split(of_split, num_classes) for name, of_split in shards.items()},
            "source": source,
            "rejected": Rejected(num_examples=0, by_reason={}),
            "files": [],
            "software": software.versions(),
            "stored_as": merged.stored_as,
        }
        manifest = seal_manifest(known | decided)
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


def _write_index(
    root: Folder, file: ForeignFile, scan: Scan, merged: Merged, known: Mapping[str, Any]
) -> FinishedShard:
    table, found = _index_of(file, scan.rows, merged.layout.key, known["classes"]), scan.found
    digest, records_root = known["plan_digest"], known["records_root"]
    summary = ShardSummary(len(table), found.num_bytes, found.sha256, digest, num_with_gps=found.num_with_gps)
    raw = serialize_index(table, summary)
    path = f"{naming.INDEXES}/{naming.index_folder(digest)}/{file.path}{naming.INDEX_ENDING}"
    _write_unless_there(root, path, raw)
    records = file.path if records_root is None else f"{records_root}/{file.path}"
    return FinishedShard.written(records, path, summary, table, raw)


def _index_of(file: ForeignFile, rows: pa.Table, key: str | None, classes: Sequence[str]) -> pa.Table:
    """Return the rows of a file with what all records have decided."""
    keys = rows["key"].to_pylist() if key else [record_key(file.path, number) for number in range(len(rows))]
    names = pa.DictionaryArray.from_arrays(rows["label"].combine_chunks(), pa.array([*classes], pa.string()))
    decided = {"key": pa.array(keys, pa.string()), "key_hash": pa.array(key_hashes(keys)), "label_name": names}
    return pa.table([decided.get(name, rows[name]) for name in SCHEMA.names], schema=SCHEMA)
