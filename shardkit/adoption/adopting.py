"""Adopt TFRecord files: scan each once, decide features, keys and classes, write the indexes, then the manifest.

The indexes lie in a folder named by the adoption's digest. So an adoption that is repeated with other files or options
overwrites no index of the dataset before it: until the manifest is replaced, readers find the old dataset, and then the
new one. The indexes of older adoptions are removed last. What a killed adoption left, the next one removes, also if it
finds nothing else to do.
"""

import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from shardkit import naming, software
from shardkit.adoption.files import (
    adoptable_layout,
    adopted_before,
    assign_splits,
    dataset_place,
    find_files,
    own_datasets,
    refuse_changed,
    refuse_compressed,
    refuse_other,
    refuse_own,
    refuse_read_only,
    unfinished,
)
from shardkit.adoption.merging import Merged, choose_classes, found_lines, merge_scans
from shardkit.adoption.scanning import ROWS, Found, Scan, Scans, scan_file
from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.conversion.writing.output.finished_shards import FinishedShard
from shardkit.conversion.writing.publishing import summarise_split
from shardkit.dataset.foreign.files import ForeignFile, ForeignFiles
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.index.file import SCHEMA, ShardSummary, key_hashes, serialize_index
from shardkit.dataset.manifest import ADOPTED, Rejected, Source, seal_manifest, write_shard_tables
from shardkit.dataset.manifest.readopting import ADOPT, relative_to
from shardkit.dataset.stored_names import record_key
from shardkit.hashing import canonical_json, sha256_hex
from shardkit.naming import printable, split_order
from shardkit.options.values import LabelType
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import Reports, work_folder
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.parquet import ParquetReader
from shardkit.sources.walking import ancestors, join
from shardkit.storage import TEMPORARY, Folder, os_errors_as, unreadable
from shardkit.storage.folder import remove_temporaries
from shardkit.storage.kernel_locks import locked
from shardkit.storage.retry import retried

_FOUND = b"shardkit.scan"
_KIND = "scans"
_LOCK = f"{naming.INDEXES}/{TEMPORARY}lock"  # held while the indexes are written
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """What the user says; see `shardkit.adopt`."""

    into: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)  # by pattern of paths
    classes: Sequence[str] | None = None
    image_feature: str | None = None
    label_feature: str | None = None
    label_type: LabelType = "auto"
    unlabelled: bool = False
    key_feature: str | None = None
    name: str | None = None
    overwrite: bool = False

    def recorded(self, given: Sequence[str], root: Folder) -> dict[str, Any]:
        """Return what the manifest keeps: the files, and the options that are not the default."""
        values = asdict(self) | {"into": self.into is not None, "classes": list(self.classes or ()), "overwrite": False}
        kept = {name: value for name, value in values.items() if value and value != "auto"}
        return {"files": [relative_to(root, one) for one in given], **kept}


def adopt_files(given: Sequence[str], options: AdoptOptions, executor: Executor, listener: ProgressListener) -> str:
    """Adopt files, folders and patterns of TFRecord files, and return the dataset's folder.

    `listener` also receives what was found and decided.
    """
    records, entries = find_files(given)
    own = own_datasets(records, entries)
    if options.into is None:
        refuse_own(own)
    others = unfinished(records, [*entries], own)
    entries = {path: entry for path, entry in entries.items() if path not in others} or entries
    root, records_root = dataset_place(records, options.into)
    refuse_read_only(root)
    before = adopted_before(root)
    if before is not None and options.overwrite and options.classes is None:  # those of the earlier adoption
        options = replace(options, classes=before.options.get(ADOPT, {}).get("classes"))
    recorded = options.recorded(given, root)
    known = None if options.overwrite else before
    if known is not None:
        refuse_other(known, recorded, {path: entry.num_bytes for path, entry in entries.items()})
    found = ForeignFiles.of(records, entries.items(), "leave it out")
    refuse_compressed(found)
    splits, split_line = assign_splits([*entries], options.splits)
    order = split_order({*splits.values()})
    files = sorted(found.every, key=lambda file: (order.index(splits[file.path]), file.path))
    wanted = (options.image_feature, options.label_feature, options.label_type)
    layout = adoptable_layout(found, LayoutOverrides(*wanted, unlabelled=options.unlabelled, takes_masks=True))
    layout = replace(layout, key=options.key_feature or layout.key)
    described = replace(layout, key=None, columns=(), left_out=()).describe()  # all records decide about these
    lines = [f"records of {layout.family}", *described, f"splits    {split_line}"]
    listener.say("\n".join(lines + [f"warning   there are only {missing}" for missing in found.missing_shards()]))
    with work_folder(executor.temp_location) as work, claimed(work) as run:
        scans = _scan_files(records, layout, files, executor, run, listener)
        merged = merge_scans(records, files, scans, layout, options.key_feature)
        classes = choose_classes(options.classes, own, found, merged)
        listener.say("\n".join(found_lines(merged, classes)))
        manifest: dict[str, Any] = {
            "name": options.name or _name_of(root.url),
            "classes": classes.names,
            "options": {ADOPT: recorded},
            "plan_digest": digest_of(merged, classes.names, splits),
            "records_root": records_root,
        }
        if known is not None and (manifest["plan_digest"], manifest["name"]) != (known.plan_digest, known.name):
            refuse_changed(known, {file.path: sha256 for file, sha256 in merged.sha256.items()})
        with os_errors_as("write the manifest and the indexes", root.url):
            is_new = publish(root, merged, splits, scans, manifest)
    if not is_new:
        listener.say(f"{root.url} already holds the adoption of these files; nothing to do")
    return root.url


def _scan(records: Folder, layout: RecordLayout, item: tuple[int, ForeignFile], fence: Fence) -> None:
    """Scan the file of a number, and write what was found into the work folder."""
    number, file = item

    def read() -> Scan:
        with records.open(file.path) as opened:
            return scan_file(opened, layout)

    try:
        scan = retried(read)
    except OSError as error:
        raise unreadable(f"{records.url}/{printable(file.path)}", error) from error
    found = {_FOUND: json.dumps(asdict(scan.found)).encode()}
    out = io.BytesIO()
    pq.write_table(scan.rows.replace_schema_metadata(found), out, compression="zstd")
    Reports(fence.folder, _KIND).write(fence, number, len(scan.rows), data=out.getvalue())


def _scan_files(
    records: Folder,
    layout: RecordLayout,
    files: Sequence[ForeignFile],
    executor: Executor,
    run: Run,
    listener: ProgressListener,
) -> Scans:
    """Scan files in parallel, the largest first; their scans are read in the files' order."""
    reports = Reports(run.folder, _KIND)

    def estimate() -> int | None:
        """Return the number of all records, from the sizes of the files."""
        done = reports.found()
        num_records = sum(report.numbers[0] for report in done)
        scanned = sum(files[report.item].num_bytes for report in done)
        share = 1.0 if len(done) == len(files) else scanned / sum(file.num_bytes for file in files)
        return max(num_records, round(num_records / share)) if scanned and num_records else None

    phase = Phase(listener, "scanning", None, reports.total, count_total=estimate)
    largest_first = sorted(enumerate(files), key=lambda one: -one[1].num_bytes)
    for_each(executor, run, "ScanFiles", largest_first, partial(_scan, records, layout), phase, reads=[records])
    paths = [report.path for report in reports.complete(len(files))]

    def read(path: str) -> Scan:
        table = ParquetReader(pa.BufferReader(run.folder.read(path))).read()
        found = TypeAdapter(Found).validate_python(json.loads(table.schema.metadata[_FOUND]))
        return Scan(table.replace_schema_metadata(None).cast(ROWS), found)

    return lambda: map(read, paths)


def _name_of(url: str) -> str:
    """Return the name of the last folder; of a version of TFDS, ``mnist/3.0.1``, that of the folder above."""
    parts = [part for part in url.split("/") if part and not _VERSION.fullmatch(part)]
    return parts[-1] if parts else "dataset"


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


def publish(root: Folder, merged: Merged, splits: Mapping[str, str], scans: Scans, known: dict[str, Any]) -> bool:
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
    """Write the index of a file: the rows of its scan, with what all records have decided."""
    rows, found = scan
    is_numbered = merged.layout.key is None
    keys = [record_key(file.path, number) for number in range(len(rows))] if is_numbered else rows["key"].to_pylist()
    names = pa.DictionaryArray.from_arrays(rows["label"].combine_chunks(), pa.array(known["classes"], pa.string()))
    decided = {"key": pa.array(keys, pa.string()), "key_hash": pa.array(key_hashes(keys)), "label_name": names}
    table = pa.table([decided.get(name, rows[name]) for name in SCHEMA.names], schema=SCHEMA)
    digest, records_root = known["plan_digest"], known["records_root"]
    summary = ShardSummary(len(table), found.num_bytes, found.sha256, digest, num_with_gps=found.num_with_gps)
    raw = serialize_index(table, summary)
    path = f"{naming.INDEXES}/{naming.index_folder(digest)}/{file.path}{naming.INDEX_ENDING}"
    _write_unless_there(root, path, raw)
    return FinishedShard.written(join(records_root or "", file.path), path, summary, table, raw)
