"""Adopt TFRecord files: scan each once, decide features, keys and classes, write the indexes, then the manifest."""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from shardkit.adoption.files import (
    adopted_before,
    assign_splits,
    conversion_of,
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
from shardkit.adoption.merging import choose_classes, found_lines, merge_scans
from shardkit.adoption.publishing import digest_of, publish
from shardkit.adoption.scanning import ROWS, Found, Scan, scan_file
from shardkit.dataset.foreign.files import ForeignFile, ForeignFiles
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.manifest.readopting import ADOPT, relative_to
from shardkit.naming import printable, split_order
from shardkit.options.values import LabelType
from shardkit.parallel.for_each import Executor, for_each
from shardkit.parallel.progress import Phase, ProgressListener
from shardkit.parallel.reports import Reports, work_folder
from shardkit.parallel.run_token import Fence, Run, claimed
from shardkit.refusals import RefusedDataError
from shardkit.storage import Folder, os_errors_as, unreadable
from shardkit.storage.retry import retried

_FILES, _RECORDS = 8, 16  # files, spread over all, and records of each, from which the layout is inferred
_FOUND = b"shardkit.scan"
_KIND = "scans"
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
    layout = _adoptable_layout(found, options)
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
) -> Callable[[], Iterator[Scan]]:
    """Scan files in parallel, the largest first; return what reads their scans one by one, in the files' order."""
    reports = Reports(run.folder, _KIND)
    num_bytes = sum(file.num_bytes for file in files)

    def estimate() -> int | None:
        """Return the number of all records, from the sizes of the files."""
        done = {report.item: report.numbers[0] for report in reports.found()}
        num_records, scanned = sum(done.values()), sum(files[number].num_bytes for number in done)
        if not scanned or not num_records:
            return None
        return num_records if len(done) == len(files) else max(num_records, round(num_records * num_bytes / scanned))

    phase = Phase(listener, "scanning", None, reports.total, count_total=estimate)
    largest_first = sorted(enumerate(files), key=lambda one: -one[1].num_bytes)
    for_each(executor, run, "ScanFiles", largest_first, partial(_scan, records, layout), phase, reads=[records])
    paths = [report.path for report in reports.complete(len(files))]

    def read(path: str) -> Scan:
        table = pq.read_table(pa.BufferReader(run.folder.read(path)))
        found = TypeAdapter(Found).validate_python(json.loads(table.schema.metadata[_FOUND]))
        return Scan(table.replace_schema_metadata(None).cast(ROWS), found)

    return lambda: map(read, paths)


def _name_of(url: str) -> str:
    """Return the name of the last folder; of a version of TFDS, ``mnist/3.0.1``, that of the folder above."""
    parts = [part for part in url.split("/") if part and not _VERSION.fullmatch(part)]
    return parts[-1] if parts else "dataset"


def _adoptable_layout(files: ForeignFiles, options: AdoptOptions) -> RecordLayout:
    """Return the layout of the records, from the first ones of some files, if the reader can read them as they are."""
    num = len(files.files)
    chosen = [files.files[at * num // _FILES] for at in range(_FILES)] if num > _FILES else files.files
    samples = files.sample(chosen, _RECORDS, _RECORDS)
    wanted = (options.image_feature, options.label_feature, options.label_type)
    overrides = LayoutOverrides(*wanted, unlabelled=options.unlabelled, takes_masks=True)
    layout = files.infer_layout([one for some in samples.values() for one in some], overrides)
    problem = None
    if layout.image.form != "encoded":
        problem = f"the image in {printable(layout.image.name)!r} is stored as pixels, not as a JPEG or PNG"
    elif layout.label.is_text:
        problem = f"the labels in {printable(layout.label.name)!r} are texts, not numbers"
    if problem is not None:
        msg = f"{printable(files.folder.url)}: {problem}, and records are adopted as they are"
        raise RefusedDataError(msg, [conversion_of(files.folder, [file.path for file in files.every])])
    return replace(layout, key=options.key_feature or layout.key)
