"""Open a dataset as a source: compare its files with its manifest, and find the examples that the user changes."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shardkit.dataset.conditions import Condition
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.dataset.index.groups import has_group
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.dataset.manifest.missing import explain_missing_manifest
from shardkit.dataset.manifest.readopting import made_again
from shardkit.dataset.tfds_metadata import DATASET_INFO
from shardkit.errors import CallError, DataError
from shardkit.naming import INDEX_ENDING, MANIFEST, WORK_FOLDER, counted, is_shard_file, records_of_index
from shardkit.options.words import named
from shardkit.record_sources.datasets.changes import find_changes, label_names, refuse_unknown_classes
from shardkit.record_sources.datasets.layout import ShardkitDataset
from shardkit.record_sources.datasets.members import DatasetPart, Member, shard_files
from shardkit.record_sources.datasets.removed import without_removed
from shardkit.record_sources.datasets.several import (
    common_folder,
    keys_of,
    members_of,
    refuse_other_features,
    refuse_repeated_keys,
)
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.walking import join
from shardkit.storage import Folder


def open_dataset(opening: Opening) -> ShardkitDataset:
    """Open a dataset, or several, as a source: `url` is its folder or its manifest.json."""
    options = opening.options
    manifests = [read_manifest(one) for one in (opening.url, *options.also)]
    for manifest in manifests:
        _refuse_output(manifest.root, opening.output)
    if options.layout not in {None, "shardkit"}:
        layout = named("layout", options.layout)
        msg = f"{layout} reads one source, and {len(manifests)} datasets were given; leave it out"
        raise CallError(msg)
    if options.ignore:
        msg = f"{named('ignore')} leaves out files, and a dataset has records; use {named('where')} or {named('drop')}"
        raise CallError(msg)
    if options.where is not None:
        Condition(options.where)
    folder, paths = common_folder(manifests)
    members = members_of(manifests, with_prefix=options.key_prefix)
    refuse_other_features(manifests)
    if options.labels is not None and manifests[0].features.get(LABEL) != CLASS_LABEL:
        msg = (
            f"{named('labels')} corrects the class of images that have exactly one, and {manifests[0].root.url} is a "
            "dataset of other annotations; correct them in its source, and convert that again"
        )
        raise CallError(msg)
    parts: Sequence[DatasetPart] = [
        part
        for number, (manifest, path) in enumerate(zip(manifests, paths, strict=True))
        for part in _parts(number, manifest, path)
    ]
    if len(manifests) > 1:
        refuse_repeated_keys(folder, parts, members)
    classes = tuple(dict.fromkeys(name for member in members for name in member.class_names))
    parts = _with_changes(folder, parts, members, classes, options)
    if len(manifests) > 1 and not options.readmit:
        parts = list(without_removed(folder, parts, manifests, with_prefix=options.key_prefix))
    made = [manifest.options for manifest in manifests]
    return ShardkitDataset(
        folder=folder,
        members=members,
        features=dict(manifests[0].features),
        class_names=classes,
        shards=tuple(parts),
        has_made_splits=all(map(may_be_divided, manifests)),
        keeps_groups=_keeps_groups(options.group_by, made),
        where=options.where,
        new_labels=label_names(options.labels),
        readmits=options.readmit,
    )


def _refuse_output(root: Folder, output: Folder | None) -> None:
    inside = root.resolve("").rstrip("/") + "/"
    if output is not None and f"{output.resolve('')}/".startswith(inside):
        msg = f"{output.url}: OUTPUT is {root.url}, which is converted, or inside it; choose another folder"
        raise CallError(msg)


def _parts(number: int, manifest: Manifest, path: str) -> Iterator[DatasetPart]:
    """Yield the shards of a dataset that are not empty, after comparing their sizes with the manifest."""
    root = manifest.root
    files = shard_files(root, [shard for _, shard in manifest.shards()])
    for (split, shard), (name, num_bytes, mtime_ns) in zip(manifest.shards(), files, strict=True):
        if num_bytes != shard.num_bytes:
            sizes = f"the shard has {counted(num_bytes, 'byte')}, the manifest says {shard.num_bytes:,}"
            msg = f"{root.url}/{name}: {sizes}; restore it or {made_again(root)}"
            raise DataError(msg)
        if shard.num_examples:
            index = shard.index.model_copy(update={"path": join(path, shard.index.path)})
            records = posixpath.normpath(join(path, shard.path))  # those of others may be in another folder
            located = shard.model_copy(update={"path": records, "index": index})
            yield DatasetPart(number, located, split, mtime_ns)


def _with_changes(
    folder: Folder,
    parts: Sequence[DatasetPart],
    members: Sequence[Member],
    classes: Sequence[str],
    options: SourceOptions,
) -> Sequence[DatasetPart]:
    """Return the parts with the rows that are removed or corrected."""
    where = ", ".join(member.url for member in members)
    if options.labels is not None:
        refuse_unknown_classes(options.labels, options.classes or classes, are_given=options.classes is not None)
    if options.labels is None and options.drop is None:
        return parts
    changes = find_changes(keys_of(folder, parts, members), options.drop, options.labels, where)
    return [replace(part, changes=one) for part, one in zip(parts, changes, strict=True)]


def refuse_unfinished(folder: Folder, *, has_records: bool = False) -> None:
    """Refuse a folder with shards and indexes but without a manifest, which is no complete dataset."""
    if not has_records and all(folder.stat(name) is None for name in (WORK_FOLDER, DATASET_INFO)):
        return  # a source of a million files is not listed for this
    names = [entry.name for entry in folder.scan() if not entry.is_folder]
    shards = {name for name in names if is_shard_file(name)}
    index = next((name for name in sorted(shards) if name.endswith(INDEX_ENDING)), None)
    if index is not None and records_of_index(index) in shards and MANIFEST not in names:
        msg = f"{folder.url}: it has shards and no {MANIFEST}; {explain_missing_manifest(folder)}"
        raise DataError(msg)


def may_be_divided(manifest: Manifest) -> bool:
    """Return whether `splits` made all splits of a dataset, or there is only "train": none is a source's own."""
    return all(set(one.splits) == {"train"} or _are_made(one.options) for one in manifest.history)


def _are_made(options: Mapping[str, Any]) -> bool:
    is_of_own = options.get("splits_of") or options.get("kept_splits") == "own"
    return options.get("splits") is not None and not is_of_own


def _keeps_groups(group_by: str | None, made: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the groups of the indexes are listed; otherwise a pattern for the keys makes other groups."""
    rules = [one.get("group_by") for one in made]
    if group_by is None or all(group_by == one for one in rules):
        return True
    return group_by in rules and not has_group(group_by)  # a column, which the records no longer have
