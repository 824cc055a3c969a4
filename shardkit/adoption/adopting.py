"""Adopt TFRecord files: scan each once, decide features, keys and classes, write the indexes, then the manifest."""

import dataclasses
import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shardkit import naming
from shardkit.adoption.class_names import ClassNames, Labels, name_classes
from shardkit.adoption.features import adopted_features, merge_counts
from shardkit.adoption.files import (
    Found,
    assign_splits,
    check_heads,
    dataset_place,
    find_files,
    records_files,
)
from shardkit.adoption.first_records import adoptable_layout, read_if_there, read_tfds, sample_records
from shardkit.adoption.keys import choose_keys
from shardkit.adoption.messages import Merged, found_lines, layout_lines, records_refused
from shardkit.adoption.publishing import Adoption, publish
from shardkit.adoption.scan_files import RecordsFile, ScanJob, Scanner, read_scan, scan_names
from shardkit.adoption.scanning import UNCLEAR, Scan, needed_features
from shardkit.dataset.foreign.file_names import missing_shards
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.tfds_folder import DATASET_INFO, labels_file, read_labels, shard_lengths
from shardkit.dataset.index import indexed_labels
from shardkit.dataset.manifest import find_dataset
from shardkit.errors import CallError, DataError
from shardkit.naming import counted, printable
from shardkit.storage import TEMPORARY, Folder, LocalFolder, os_errors_as

_LABELLED = {"class", "classes", "objects"}
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """What the user says.

    Attributes:
        into: The dataset's folder; None for that of the files.
        splits: Split by pattern of paths.
        classes: Class names, line by line; None for those of TFDS, of the records, or numbers.
        overrides: Features of the image and of the label.
        key_feature: Feature that holds the keys; None to look for one.
        name: Name of the dataset; None for that of its folder.
        overwrite: Whether to replace an adoption in the dataset's folder.
    """

    into: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    classes: Sequence[str] | None = None
    overrides: LayoutOverrides = field(default_factory=LayoutOverrides)
    key_feature: str | None = None
    name: str | None = None
    overwrite: bool = False


def adopt_files(
    given: Sequence[str], options: AdoptOptions, scanner: Scanner, work: Folder, say: Callable[[str], None]
) -> str:
    """Adopt TFRecord files.

    Args:
        given: Files, folders and patterns.
        options: What the user says.
        scanner: Scans the files.
        work: An empty folder that all workers reach.
        say: Receives messages: what was found and decided.

    Returns:
        The dataset's folder.

    Raises:
        CallError: The call is wrong, or the dataset's folder has a manifest already.
        DataError: A file cannot be adopted.
        MachineError: The disk, the network or the runner failed.
    """
    found = find_files(given)
    _refuse_own(found, is_elsewhere=options.into is not None)
    root, records_root = dataset_place(found.records, options.into)
    _refuse_read_only(root)
    _refuse_occupied(root, overwrite=options.overwrite)
    check_heads(found)
    splits, split_line = assign_splits([*found.sizes], options.splits)
    files = records_files(found, splits)
    tfds = read_tfds(found.records)
    layout = adoptable_layout(sample_records(found.records, files), options.overrides, tfds, found)
    layout = dataclasses.replace(layout, key=options.key_feature or layout.key)
    lines = layout_lines(layout, split_line)
    say("\n".join([*lines, *(f"warning   there are only {missing}" for missing in missing_shards(found.sizes))]))
    scanner.scan_files(ScanJob(found.records, work, layout), files)
    scans = scan_names(work, len(files))
    merged = _merge(found.records, files, work, scans, layout, options)
    classes = _classes(found.records, layout, merged, options)
    say("\n".join(found_lines(merged, classes, layout)))
    adoption = Adoption(
        root=root,
        records_root=records_root,
        name=options.name or _name_of(root.url),
        files=files,
        sha256=merged.sha256,
        adopted=merged.adopted,
        classes=classes.names,
        keys=merged.keys,
    )
    with os_errors_as("write the manifest and the indexes", root.url):
        publish(adoption, work, scans)
    return root.url


def _name_of(url: str) -> str:
    """Return the name of the last folder; of a version of TFDS, ``mnist/3.0.1``, that of the folder above."""
    parts = [part for part in url.split("/") if part and not _VERSION.fullmatch(part)]
    return parts[-1] if parts else "dataset"


def _refuse_read_only(root: Folder) -> None:
    """Refuse a local folder that cannot be written before terabytes are read."""
    if not isinstance(root, LocalFolder):
        return
    path = root.path
    while not os.path.exists(path):  # --into may name a new folder in new folders
        path = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        msg = f"{path} is read-only; add --into DATASET to write the manifest and the indexes elsewhere"
        raise CallError(msg)


def _refuse_own(found: Found, *, is_elsewhere: bool) -> None:
    """Refuse files of a dataset that shardkit wrote: all that an adoption adds is there.

    Elsewhere, it is done if asked, but not of a dataset that grew: files that TFDS reads have its first classes only.
    """
    folders = {"", *(posixpath.dirname(path) for path in found.sizes)}
    for folder in sorted(folders):
        url = f"{found.records.url.rstrip('/')}/{folder}".rstrip("/")
        manifest = find_dataset(url)
        if manifest is None or manifest.is_adopted:
            continue
        if manifest.generations or not is_elsewhere:
            msg = (
                f"{printable(url)} is a dataset that shardkit wrote, with a manifest and indexes; there is nothing to "
                "adopt. Train on it with shardkit.reader, or give other files"
            )
            raise CallError(msg)


def _refuse_occupied(root: Folder, *, overwrite: bool) -> None:
    """Refuse a folder with a manifest or with an `indexes` folder of somebody else."""
    manifest = find_dataset(root.url)
    if manifest is not None and not manifest.is_adopted:
        msg = f"{root.url} is a dataset that shardkit wrote, and its manifest is not replaced; choose another folder"
        raise CallError(msg)
    if manifest is not None and not overwrite:
        msg = (
            f"{root.url}: the files were adopted before; add --overwrite to adopt them again, or --into DATASET to "
            "write another manifest elsewhere"
        )
        raise CallError(msg)
    if manifest is None and root.stat(naming.MANIFEST) is not None:
        msg = (
            f"{root.url}/{naming.MANIFEST} is not shardkit's, and it is not replaced; add --into DATASET to write the "
            "manifest and the indexes elsewhere"
        )
        raise CallError(msg)
    others = [entry.name for entry in root.scan(naming.INDEXES) if not _is_ours(root, entry.name)]
    if others:
        msg = (
            f"{root.url}/{naming.INDEXES} holds files that shardkit did not write, such as {printable(others[0])}; "
            "add --into DATASET to write the manifest and the indexes elsewhere"
        )
        raise CallError(msg)


def _is_ours(root: Folder, name: str) -> bool:
    if name.startswith(TEMPORARY):
        return True
    return naming.is_index_folder(name) and root.stat(f"{naming.INDEXES}/{name}").is_folder  # type: ignore[union-attr] # it was just listed


def _merge(
    records: Folder,
    files: Sequence[RecordsFile],
    work: Folder,
    scans: Sequence[str],
    layout: RecordLayout,
    options: AdoptOptions,
) -> Merged:
    """Read all scans one by one, and decide features and keys.

    Raises:
        DataError: Records have problems, or the keys of a named feature are not unique.
    """
    problems: list[str] = []
    num_problems = num_records = num_rotated = num_bad_boxes = num_without = num_zero = 0
    counts, texts, sha256 = [], dict[int, str](), []
    uneven = set[str]()
    lowest, highest, where = 1 << 31, -1, ""
    info = read_if_there(records, DATASET_INFO)
    announced = {} if info is None else shard_lengths(info, records.url)
    for file, name in zip(files, scans, strict=True):
        scan = read_scan(work, name)
        num_problems += len(scan.problems)
        problems += [f"{printable(file.path)}, record {at}: {found}" for at, found in scan.problems]
        uneven |= set(scan.uneven)
        _check_whole(records, file, scan, announced.get(file.path))
        counts.append((file.path, scan.features))
        for label, text in scan.class_texts.items():
            texts[label] = text if texts.setdefault(label, text) == text else UNCLEAR
        sha256.append(scan.sha256)
        num_records, num_rotated = num_records + len(scan.rows), num_rotated + scan.num_rotated
        num_bad_boxes, num_without = num_bad_boxes + scan.num_bad_boxes, num_without + scan.num_without_labels
        labels = indexed_labels(scan.rows)
        if len(labels):
            lowest, num_zero = min(lowest, int(labels.min())), num_zero + int((labels == 0).sum())
            if labels.max() > highest:
                highest = int(labels.max())
                where = f"{printable(file.path)}, record {_first_with(scan, highest)}"
    if problems:
        raise records_refused(records, [file.path for file in files], problems, num_problems)
    merged = merge_counts(counts, needed_features(layout))
    key = layout.key if layout.key in merged and merged[layout.key].kind == "bytes" else options.key_feature
    columns = ((file.path, read_scan(work, name).rows["key_text"]) for file, name in zip(files, scans, strict=True))
    choice = choose_keys(key, columns, is_required=options.key_feature is not None)
    adopted = adopted_features(layout, merged, num_records, choice.feature, uneven)
    return Merged(
        adopted=adopted,
        keys=choice,
        labels=Labels(lowest, highest, where),
        num_zero=num_zero,
        texts=texts,
        num_rotated=num_rotated,
        num_bad_boxes=num_bad_boxes,
        num_without_labels=num_without,
        sha256=sha256,
    )


def _check_whole(records: Folder, file: RecordsFile, scan: Scan, announced: int | None) -> None:
    if scan.problems:
        return
    if announced is not None and announced != len(scan.rows):
        msg = (
            f"{records.url}/{printable(file.path)}: the file has {counted(len(scan.rows), 'record')}, and "
            f"{DATASET_INFO} announces {announced:,}; restore the file, or move {DATASET_INFO} away to adopt it anyway"
        )
        raise DataError(msg)
    if scan.num_bytes != file.num_bytes:
        msg = (
            f"{records.url}/{printable(file.path)}: the file had {file.num_bytes} bytes and now has {scan.num_bytes}; "
            "somebody is writing it: adopt it when it is finished"
        )
        raise DataError(msg)


def _first_with(scan: Scan, label: int) -> int:
    rows = scan.rows
    if rows["label"].null_count < len(rows):
        return int(np.flatnonzero(rows["label"].to_numpy() == label)[0])
    return next(at for at, labels in enumerate(rows["labels"].to_pylist()) if label in labels)


def _classes(records: Folder, layout: RecordLayout, merged: Merged, options: AdoptOptions) -> ClassNames:
    if layout.label.kind not in _LABELLED:
        if options.classes is not None:
            msg = f"--classes names classes, and {printable(layout.label.name)!r} holds numbers for regression"
            raise CallError(msg)
        return ClassNames([], "")
    name = labels_file(layout.label.name)
    raw = read_if_there(records, name)
    return name_classes(
        merged.labels,
        lines=options.classes,
        first_line=layout.label.first_line,
        tfds_names=None if raw is None else read_labels(raw, f"{records.url}/{name}"),
        texts=merged.texts,
        texts_origin=f"from {printable(layout.label.names or '')} in the records",
    )
