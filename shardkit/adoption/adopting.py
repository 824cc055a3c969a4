"""Adopt TFRecord files: scan each once, decide features, keys and classes, write the indexes, then the manifest."""

import re
from collections.abc import Sequence
from dataclasses import replace

from shardkit.adoption.class_names import ClassNames, name_classes
from shardkit.adoption.converting_instead import conversion_of
from shardkit.adoption.dataset_folder import (
    adopted_before,
    dataset_place,
    own_datasets,
    refuse_own,
    refuse_read_only,
    unfinished,
)
from shardkit.adoption.files import assign_splits, find_files, records_files, refuse_compressed
from shardkit.adoption.merging import merge_scans
from shardkit.adoption.messages import Merged, found_lines, layout_lines
from shardkit.adoption.options import AdoptOptions
from shardkit.adoption.publishing import Adoption, publish
from shardkit.adoption.repeating import refuse_changed, refuse_other
from shardkit.adoption.scan_files import ScanJob, scan_files
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.dataset.foreign.label_names import LabelNames, lines_as_names
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.naming import counted, printable
from shardkit.options.words import named
from shardkit.parallel.for_each import Executor
from shardkit.parallel.progress import ProgressListener
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import claimed
from shardkit.refusals import RefusedDataError
from shardkit.storage import os_errors_as

_FILES, _RECORDS = 8, 16  # files, spread over all, and records of each, from which the layout is inferred
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
    records, entries = find_files(given)
    own = own_datasets(records, entries)
    refuse_own(own, is_elsewhere=options.into is not None)
    others = unfinished(records, [*entries], own)
    entries = {path: entry for path, entry in entries.items() if path not in others} or entries
    root, records_root = dataset_place(records, options.into)
    refuse_read_only(root)
    before = adopted_before(root)
    options = options.after(before)
    recorded = options.recorded(given, root)
    if before is not None and not options.overwrite:
        refuse_other(before, recorded, {path: entry.num_bytes for path, entry in entries.items()})
    found = ForeignFiles.of(records, entries.items(), "leave it out")
    refuse_compressed(found)
    splits, split_line = assign_splits([*entries], options.splits)
    files = records_files(found, splits)
    layout = _adoptable_layout(found, options)
    lines = layout_lines(layout, split_line)
    lines += [f"warning   there are only {missing}" for missing in found.missing_shards()]
    listener.say("\n".join(lines))
    with work_folder(executor.temp_location) as work, claimed(work) as run:
        scans = scan_files(ScanJob(records, layout), files, executor, run, listener)
        merged = merge_scans(records, files, work, scans, layout, options.key_feature)
        classes = _classes(found, layout, merged, options, own)
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


def _adoptable_layout(files: ForeignFiles, options: AdoptOptions) -> RecordLayout:
    """Return the layout of the records, from the first ones of some files, if the reader can read them as they are.

    Raises:
        CallError: Several features may be the image or the label.
        DataError: None is, or the records need to be converted.
    """
    num = len(files.files)
    chosen = [files.files[at * num // _FILES] for at in range(_FILES)] if num > _FILES else files.files
    samples = files.sample(chosen, _RECORDS, _RECORDS)
    layout = files.infer_layout([one for some in samples.values() for one in some], options.overrides)
    problem = None
    if layout.image.form != "encoded":
        problem = f"the image in {printable(layout.image.name)!r} is stored as pixels, not as a JPEG or PNG"
    elif layout.label.is_text:
        problem = f"the labels in {printable(layout.label.name)!r} are texts, not numbers"
    if problem is not None:
        msg = f"{printable(files.folder.url)}: {problem}, and records are adopted as they are"
        raise RefusedDataError(msg, [conversion_of(files.folder, [file.path for file in files.every])])
    return replace(layout, key=options.key_feature or layout.key)


def _classes(
    files: ForeignFiles, layout: RecordLayout, merged: Merged, options: AdoptOptions, own: Sequence[Manifest]
) -> ClassNames:
    label = layout.label
    # Files that TFDS reads have the first classes only of a dataset that grew.
    of_own = own[0].classes if own and all(one.classes == own[0].classes for one in own) else []
    if label.kind == "masks":
        names = list(options.classes or of_own)
        return ClassNames(
            names, f"{counted(len(names), 'name')} from {named('classes') if options.classes else 'the dataset'}"
        )
    if label.kind not in _LABELLED:
        if options.classes is not None:
            what = "the records have no labels" if label.kind == "none" else f"{printable(label.name)!r} holds numbers"
            msg = f"{named('classes')} names classes, and {what}{' for regression' if label.kind == 'numbers' else ''}"
            raise CallError(msg)
        return ClassNames([], "")
    if options.classes is not None:
        listed: LabelNames | None = lines_as_names(options.classes, label.first_line)
    elif of_own:
        listed = LabelNames(tuple(of_own), 0, "the dataset")
    else:
        listed = files.label_names(label, merged.adopted.features)
    origin = f"from {printable(label.names or '')} in the records"
    return name_classes(merged.labels, listed, merged.found.class_texts, origin)
