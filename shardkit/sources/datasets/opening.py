"""Open a dataset as a source: compare its files with its manifest, and find the examples that the user changes."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from shardkit.dataset.conditions import Condition
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.dataset.manifest import Manifest, Shard, read_manifest
from shardkit.dataset.missing_manifest import explain_missing_manifest
from shardkit.dataset.shard_indexes import parse_columns, read_indexes
from shardkit.errors import CONVERT_AGAIN, CallError, DataError
from shardkit.naming import INDEX_ENDING, MANIFEST, is_shard_file, records_of_index
from shardkit.sources.datasets.changes import RowChanges, find_changes, label_names, refuse_unknown_classes
from shardkit.sources.datasets.layout import DatasetPart, ShardkitDataset, shard_files, size_problem
from shardkit.sources.options import SourceOptions
from shardkit.storage import Folder


def open_dataset(url: str, options: SourceOptions, output_below: str | None = None) -> ShardkitDataset:
    """Open a dataset as a source.

    Args:
        url: Its folder or its manifest.json.
        options: Options of the source.
        output_below: Path of the output below the dataset's folder; None if it is elsewhere.

    Raises:
        CallError: The output is inside the dataset, the condition is wrong, or a key or label that is to be removed or
            corrected does not exist.
        DataError: The dataset is damaged.
        MachineError: It cannot be read.
    """
    manifest = read_manifest(url)
    root = manifest.root
    if output_below is not None:
        msg = f"{root.url}/{output_below}: OUTPUT is inside the dataset that is converted; choose another folder"
        raise CallError(msg)
    if options.ignore:
        msg = "--ignore leaves out files, and a dataset has records; use --where or --drop"
        raise CallError(msg)
    if options.where is not None:
        Condition(options.where)
    found = {path: (num_bytes, mtime_ns) for path, num_bytes, mtime_ns in shard_files(root, _shards(manifest))}
    for shard in _shards(manifest):
        if problem := size_problem(f"{root.url}/{shard.path}", found[shard.path][0], shard):
            raise DataError(f"{problem}; restore it or {CONVERT_AGAIN}")
    changes = _changes(manifest, options)
    parts = [
        DatasetPart(shard, split, found[shard.path][1], changes.get(shard.path, RowChanges()))
        for split, shard in manifest.shards()
        if shard.num_examples
    ]
    made = manifest.options
    return ShardkitDataset(
        folder=root,
        digest=manifest.digest,
        features=dict(manifest.features),
        class_names=tuple(manifest.classes),
        shards=tuple(parts),
        has_decoded=made.get("check") == "decode",
        has_made_splits=set(manifest.splits) == {"train"} or _are_made(made),
        # Otherwise it is a pattern for the keys, which makes other groups.
        keeps_groups=options.group_by in {None, made.get("group_by")},
        where=options.where,
        new_labels=label_names(options.labels),
    )


def refuse_unfinished(folder: Folder) -> None:
    """Refuse a folder with shards and indexes but without a manifest, which is no complete dataset.

    Raises:
        DataError: It is such a folder.
    """
    names = [entry.name for entry in folder.scan() if not entry.is_folder]
    shards = {name for name in names if is_shard_file(name)}
    index = next((name for name in sorted(shards) if name.endswith(INDEX_ENDING)), None)
    if index is not None and records_of_index(index) in shards and MANIFEST not in names:
        msg = f"{folder.url}: it has shards and no {MANIFEST}; {explain_missing_manifest(folder)}"
        raise DataError(msg)


def _are_made(options: Mapping[str, Any]) -> bool:
    """Return whether `--splits` made all splits, so that none of them was the first source's own."""
    return options.get("splits") is not None and not options.get("splits_of")


def _shards(manifest: Manifest) -> list[Shard]:
    return [shard for _, shard in manifest.shards()]


def _changes(manifest: Manifest, options: SourceOptions) -> dict[str, RowChanges]:
    """Return the rows that are removed or corrected, by the path of their shard."""
    if options.labels is not None:
        if manifest.features.get(LABEL) != CLASS_LABEL:
            msg = (
                f"--labels corrects the class of images that have exactly one, and {manifest.root.url} is a dataset of "
                "other annotations; correct them in its source, and convert that again"
            )
            raise CallError(msg)
        refuse_unknown_classes(
            options.labels, options.classes or manifest.classes, are_given=options.classes is not None
        )
    if options.labels is None and options.drop is None:
        return {}
    shards = [shard for shard in _shards(manifest) if shard.num_examples]
    found = find_changes(_keys(manifest.root, shards), options.drop, options.labels, manifest.root.url)
    return {shard.path: one for shard, one in zip(shards, found, strict=True)}


def _keys(root: Folder, shards: list[Shard]) -> Iterator[pa.ChunkedArray]:
    for shard, raw in zip(shards, read_indexes(root, shards), strict=True):
        yield parse_columns(root, shard, raw, ["key"])["key"]
