"""Make inventories, plans and small datasets in the calling process, without Beam."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.plan import Plan
from shardkit.conversion.planning.rules import as_in_dataset, generation_options
from shardkit.conversion.writing.appending.append import Append, AppendOutcome
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.reject_limit import RejectLimit
from shardkit.conversion.writing.shard import WriteJob
from shardkit.conversion.writing.source_plan import take_inventory
from shardkit.conversion.writing.steps import plan_inventory
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.for_each import Guard
from shardkit.parallel.progress import Silent
from shardkit.parallel.reports import work_folder
from shardkit.parallel.run_token import claimed
from shardkit.parallel.threads import ThreadExecutor
from shardkit.sources import Source, SourceOptions
from shardkit.storage import Folder


def inventory_table(
    label_names: Sequence[str | None],
    *,
    keys: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    splits: Sequence[str | None] | None = None,
    contents: Sequence[bytes] | None = None,
    reasons: Sequence[str | None] | None = None,
    mtimes_ns: Sequence[int] | None = None,
) -> pa.Table:
    """Return an inventory, sorted by key, of files that need not exist, like one of ``check=decode``.

    Args:
        label_names: Label of each file; the other columns have the same length.
        keys: Keys; by default one per file, in the order of the files.
        sizes: Sizes in bytes.
        splits: Splits of the source.
        contents: Content hashes; files with equal ones are duplicates.
        reasons: Reject reasons; None for good files.
        mtimes_ns: Modification times in nanoseconds.
    """
    rows = []
    for i, label_name in enumerate(label_names):
        key = f"{label_name}/{i:06d}.jpg" if keys is None else keys[i]
        reason = None if reasons is None else reasons[i]
        row: dict[str, Any] = {
            "key": key,
            "split": None if splits is None else splits[i],
            "label_name": label_name,
            "source_bytes": 1000 if sizes is None else sizes[i],
            "mtime_ns": 0 if mtimes_ns is None else mtimes_ns[i],
            "reason": reason,
            "message": None if reason is None else f"it is {reason}",
        }
        if reason is None:
            content = key.encode() if contents is None else contents[i]
            seen = {"format": "JPEG", "width": 8, "height": 8, "orientation": 1, "changes": "", "content_crc32c": 0}
            row |= {**seen, "content_sha256": content.ljust(32, b"\0")[-32:]}
        rows.append(row)
    return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["key"])), INVENTORY_SCHEMA)


def plan_without_beam(source: Source, options: ConvertOptions) -> Plan:
    """Return the plan of a small source, made without Beam. One class is enough."""
    executor, listener = ThreadExecutor(1), Silent()
    with work_folder(None) as work, claimed(work) as run:
        inventory = take_inventory(source, work, run, options, executor, listener, is_explicit=True)
    return plan_inventory(inventory, options, listener, is_explicit=True)


def work_on(work: Callable[..., Any], item: Any, folder: Folder, token: str) -> list[Any]:
    """Return what some work gives for an item as a worker does it: silent if the run has ended, failures as files."""
    return list(Guard(folder, token).call(work, item))


def write_plan(output: Folder, plan: Plan) -> None:
    """Write a plan into the work folder, as a run that planned."""
    plan_file.write_rows(output, plan)
    with output.atomic_write(plan_file.PATH) as file:
        file.write(plan_file.PlannedDataset.of(output, "run", plan).to_bytes())


def write_job(source: Folder, plan: Plan) -> WriteJob:
    """Return what writes the shards of a plan."""
    return WriteJob(source, tuple(plan.classes), plan.options.stored)


def convert_without_beam(
    source_url: str,
    output_url: str,
    options: ConvertOptions | None = None,
    /,
    source_options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    **changed: Any,
) -> Manifest:
    """Convert a small source without Beam; the files are those of ``shardkit convert``, except the log.

    Any number of images may be bad, and one class is enough.

    Args:
        source_url: The source.
        output_url: A new or empty folder.
        options: Options of the conversion; or
        source_options: Options of the source.
        changed: Options of the conversion that differ from the defaults.
    """
    return (
        Conversion(
            source_url,
            output_url,
            options or ConvertOptions.of(changed),
            ThreadExecutor(1),
            source_options=source_options,
            limit=RejectLimit.parse("100%"),
            takes_any_classes=True,
        )
        .run()
        .manifest
    )


def append_without_beam(
    dataset_url: str,
    source_url: str,
    source_options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    *,
    skip_existing: bool = False,
    readmit: bool = False,
    overwrite: bool = False,
    **changed: Any,
) -> AppendOutcome:
    """Append a small source to a dataset without Beam; the files are those of ``shardkit append``, except the log.

    Any number of images may be bad.

    Args:
        dataset_url: The dataset.
        source_url: The source.
        source_options: Options of the source.
        skip_existing: See `shardkit.append`.
        readmit: See `shardkit.append`.
        overwrite: See `shardkit.append`.
        changed: Options of the conversion that differ from the dataset's.
    """
    manifest = read_manifest(dataset_url)
    options = generation_options(manifest, changed)
    conversion = Conversion(
        source_url,
        dataset_url,
        options,
        ThreadExecutor(1),
        source_options=as_in_dataset(source_options, options, manifest),
        limit=RejectLimit.parse("100%"),
        overwrite=overwrite,
    )
    return Append(manifest, conversion, skip_existing, readmit).run()
