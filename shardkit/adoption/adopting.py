"""Adopt TFRecord files: scan each once, decide features, keys and classes, write the indexes, then the manifest."""

import dataclasses
import re
from collections.abc import Sequence

from shardkit.adoption.class_names import ClassNames, name_classes
from shardkit.adoption.dataset_folder import (
    adopted_before,
    own_datasets,
    refuse_own,
    refuse_read_only,
    without_unfinished,
)
from shardkit.adoption.files import assign_splits, check_heads, dataset_place, find_files, records_files
from shardkit.adoption.first_records import adoptable_layout, read_if_there, read_tfds, sample_records
from shardkit.adoption.merging import merge_scans
from shardkit.adoption.messages import Merged, found_lines, layout_lines
from shardkit.adoption.options import AdoptOptions
from shardkit.adoption.publishing import Adoption, publish
from shardkit.adoption.repeating import refuse_changed, refuse_other
from shardkit.adoption.scan_files import ScanJob, scan_files
from shardkit.dataset.foreign.file_names import missing_shards
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.foreign.tfds_folder import labels_file, read_labels
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.naming import counted, printable
from shardkit.parallel.for_each import Executor
from shardkit.parallel.progress import ProgressListener
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import claimed
from shardkit.storage import Folder, os_errors_as

_LABELLED = {"class", "classes", "objects"}
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def adopt_files(given: Sequence[str], options: AdoptOptions, executor: Executor, listener: ProgressListener) -> str:
    """Adopt TFRecord files.

    Args:
        given: Files, folders and patterns.
        options: What the user says.
        executor: Scans the files.
        listener: Receives the progress, and messages: what was found and decided.

    Returns:
        The dataset's folder.

    Raises:
        CallError: The call is wrong, or the dataset's folder has a manifest already.
        DataError: A file cannot be adopted.
        MachineError: The disk, the network or the runner failed.
    """
    found = find_files(given)
    own = own_datasets(found)
    refuse_own(own, is_elsewhere=options.into is not None)
    found = without_unfinished(found, own)
    root, records_root = dataset_place(found.records, options.into)
    refuse_read_only(root)
    before = adopted_before(root)
    options = options.after(before)
    recorded = options.recorded(given, root)
    if before is not None and not options.overwrite:
        refuse_other(before, recorded, found.sizes)
    check_heads(found)
    splits, split_line = assign_splits([*found.sizes], options.splits)
    files = records_files(found, splits)
    tfds = read_tfds(found.records)
    layout = adoptable_layout(sample_records(found.records, files), options.overrides, tfds, found)
    layout = dataclasses.replace(layout, key=options.key_feature or layout.key)
    lines = layout_lines(layout, split_line)
    lines += [f"warning   there are only {missing}" for missing in missing_shards(found.sizes)]
    listener.say("\n".join(lines))
    with work_folder(executor.temp_location) as work, claimed(work) as run:
        scans = scan_files(ScanJob(found.records, layout), files, executor, run, listener)
        merged = merge_scans(found.records, files, work, scans, layout, options.key_feature)
        classes = _classes(found.records, layout, merged, options, own)
        listener.say("\n".join(found_lines(merged, classes, layout)))
        adoption = Adoption(
            root=root,
            records_root=records_root,
            name=options.name or _name_of(root.url),
            files=files,
            sha256=merged.sha256,
            adopted=merged.adopted,
            classes=classes.names,
            keys=merged.keys,
            options=recorded,
        )
        if before is not None and not options.overwrite:
            refuse_changed(before, adoption)
        with os_errors_as("write the manifest and the indexes", root.url):
            is_new = publish(adoption, work, scans)
    if not is_new:
        listener.say(f"{root.url} already holds the adoption of these files; nothing to do")
    return root.url


def _name_of(url: str) -> str:
    """Return the name of the last folder; of a version of TFDS, ``mnist/3.0.1``, that of the folder above."""
    parts = [part for part in url.split("/") if part and not _VERSION.fullmatch(part)]
    return parts[-1] if parts else "dataset"


def _classes(
    records: Folder, layout: RecordLayout, merged: Merged, options: AdoptOptions, own: Sequence[Manifest]
) -> ClassNames:
    label = layout.label
    # Files that TFDS reads have the first classes only of a dataset that grew.
    of_own = own[0].classes if own and all(one.classes == own[0].classes for one in own) else []
    if label.kind == "masks":
        names = list(options.classes or of_own)
        return ClassNames(
            names, f"{counted(len(names), 'name')} from {'--classes' if options.classes else 'the dataset'}"
        )
    if label.kind not in _LABELLED:
        if options.classes is not None:
            what = "the records have no labels" if label.kind == "none" else f"{printable(label.name)!r} holds numbers"
            msg = f"--classes names classes, and {what}{' for regression' if label.kind == 'numbers' else ''}"
            raise CallError(msg)
        return ClassNames([], "")
    name = labels_file(label.name)
    raw = read_if_there(records, name)
    in_file = None if raw is None else read_labels(raw, f"{records.url}/{name}")
    return name_classes(
        merged.labels,
        lines=options.classes,
        first_line=label.first_line,
        tfds_names=tuple(of_own) or in_file,
        texts=merged.found.class_texts,
        texts_origin=f"from {printable(label.names or '')} in the records",
    )
