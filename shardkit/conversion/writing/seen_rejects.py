"""Refuse to leave out images that only a worker cannot see, or that could not be read for a while.

A worker rejects an image that is missing or unreadable, which is right if the image is bad and wrong if its host lacks
a mount, a permission or a working network, or if a disk failed for some seconds: up to `max_rejected` of the images
would be left out without an error. So the driver looks at such images itself.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.inventory.source_files import SourceFiles, image_path, mask_path
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.dataset.index.shards import parse_columns, read_indexes
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.parts import Generation
from shardkit.dataset.rejected_list import read_list
from shardkit.errors import MachineError
from shardkit.naming import IMAGE_ENDINGS, REJECTED, counted, first_of, printable
from shardkit.options.call import Change
from shardkit.options.words import shown
from shardkit.refusals import RefusedDataError
from shardkit.reject_reasons import BAD_BOX, MISSING, UNREADABLE
from shardkit.sources import Source
from shardkit.sources.columns import CONTENT_SHA256, MASK_PATH, MASK_SHA256, OBJECTS
from shardkit.sources.walking import ending
from shardkit.storage import Folder, is_of_machine, unreadable

_ENDINGS = {*IMAGE_ENDINGS, ending("")}  # an image may have none
_KEYS_SHOWN = 3
MAX_LOOKS = 100  # at images; a host that lacks a folder rejects many


def refuse_seen_rejects(
    source: Source, work: Folder, names: Sequence[str], rejected: pa.Table, *, is_remote: bool
) -> None:
    """Refuse images that were rejected as missing or unreadable and that the driver reads.

    `rejected` has rows of the parts with these names in a work folder, such as an inventory or the rejects of a plan.
    """
    are_suspects = pc.is_in(rejected["reason"].cast(pa.string()), pa.array([MISSING, UNREADABLE]))
    keys = rejected["key"].filter(are_suspects).to_pylist()
    found = ((host, row) for host, row in parts.find_rows(work, names, keys) if _is_of_file(row)) if keys else ()
    for host, row in islice(found, MAX_LOOKS):
        if _is_readable(source.folder, row):
            raise _refused(source, row["key"], row["message"], f"host {host}" if is_remote else None, len(keys))


def _is_of_file(row: dict[str, Any]) -> bool:
    """Return whether a suspect's own file was not read: a missing image may be that of a label file or a mask."""
    is_mask = MASK_PATH.name in row and row[MASK_PATH.name] is None
    names_missing_image = is_mask or ending(image_path(row)) not in _ENDINGS
    return row["reason"] == UNREADABLE or (row["reason"] == MISSING and not names_missing_image)


def refuse_seen_late_rejects(source: Source, examples: pa.Table, late: Iterable[Reject], *, is_remote: bool) -> None:
    """Refuse images that a writer could not read and the driver reads; see refuse_seen_rejects."""
    suspects = {one.key: one for one in late if one.reason == UNREADABLE}
    if not suspects:
        return
    looked_at = pa.array(list(suspects)[:MAX_LOOKS], pa.string())
    for row in examples.filter(pc.is_in(examples["key"], looked_at.cast(examples["key"].type))).to_pylist():
        if _is_readable(source.folder, row):
            who = "a worker" if is_remote else None
            raise _refused(source, row["key"], suspects[row["key"]].message, who, len(suspects))


def as_converted(source: Source, output: Folder, inventory: Inventory, accepted: Collection[str]) -> Inventory:
    """Return an inventory in which images are unreadable that the finished conversion could not read.

    Then the description of the plan says whether anything else has changed.
    """
    there = outputs.finished(output)
    if there is None:
        return inventory
    if lacking := usable_rejects(source, inventory.table, there, there.history[0], accepted):
        were = "was" if len(lacking) == 1 else "were"
        problem = (
            f"{output.url}: {counted(len(lacking), 'image')} that {were} rejected when this dataset was made can be "
            f"used now: {first_of([printable(key) for key in lacking], _KEYS_SHOWN)}"
        )
        changes = [
            Change("add them; what is published stays", {"skip_existing": True}, command="append"),
            Change("convert all images again", {"overwrite": True}),
        ]
        raise RefusedDataError(problem, changes)
    if not (sizes := _rejects(there, there.history[0], {UNREADABLE})):
        return inventory
    table, keys = inventory.table, set(sizes)
    are_good = pc.and_(_with_keys(table, keys), pc.is_null(table["reason"]))
    indices = pc.index_in(table["key"], pa.array(sizes, pa.string()).cast(table["key"].type))
    unread: dict[str, Any] = {
        "source_bytes": pa.array(sizes.values(), pa.int64()).take(indices),  # 0 if the host could not look it up
        "reason": pa.scalar(UNREADABLE),
        "message": pa.scalar(""),
        CONTENT_SHA256.name: None,
        MASK_SHA256.name: None,
    }
    if pc.any(pc.and_(are_good, pc.is_valid(table[CONTENT_SHA256.name]))).as_py():  # not with --check header
        unread[OBJECTS] = None
    for name, value in unread.items():
        if name in table.column_names:
            known = table[name] if value is None else table[name].cast(value.type)
            column = pc.if_else(are_good, pa.scalar(None, known.type) if value is None else value, known)
            table = table.set_column(table.column_names.index(name), name, column)
    # Reading the image may have shown boxes outside it.
    boxes = table.filter(pc.equal(table["reason"].cast(pa.string()), BAD_BOX))["key"].to_pylist()
    found = {box for box in boxes if box.rpartition(", ")[0] in keys}
    if found:
        found -= _rejects(there, there.history[0], {BAD_BOX}).keys()
        table = table.filter(pc.invert(_with_keys(table, found)))
    return replace(inventory, table=table)


def usable_rejects(
    source: Source, table: pa.Table, manifest: Manifest, generation: Generation, accepted: Collection[str]
) -> list[str]:
    """Return the keys of images that a conversion rejected, that can be used now, and that the dataset lacks.

    `accepted` has reasons of rejects that are accepted now, besides images that could not be read.
    """
    if not (keys := set(_rejects(manifest, generation, {UNREADABLE, *accepted}))):
        return []
    later = [shard for _, shard in manifest.shards() if "/" in shard.path]
    for shard, raw in zip(later, read_indexes(manifest.root, later), strict=True):
        keys -= set(parse_columns(manifest.root, shard, raw, ["key"])["key"].to_pylist())
    rows = table.filter(pc.and_(_with_keys(table, keys), pc.is_null(table["reason"])))
    return [row["key"] for row in rows.to_pylist() if _is_readable(source.folder, row)]


def _rejects(manifest: Manifest, generation: Generation, reasons: Collection[str]) -> dict[str, int]:
    """Return the keys of what a conversion rejected for one of some reasons, and the sizes of these files."""
    if generation.rejected.by_reason.keys().isdisjoint(reasons):
        return {}
    path = f"{generation.folder}/{REJECTED}" if generation.folder else REJECTED
    lists = [read_list(manifest, file) for file in manifest.files if file.path == path]
    return {row["key"]: row["source_bytes"] for one in lists for row in one.to_pylist() if row["reason"] in reasons}


def _with_keys(table: pa.Table, keys: set[str]) -> pa.ChunkedArray:
    return pc.is_in(table["key"], pa.array(sorted(keys), pa.string()).cast(table["key"].type))


def _refused(source: Source, key: str, message: Any, who: str | None, num_suspects: int) -> MachineError:
    more = f" ({num_suspects} images were rejected like this)" if num_suspects > 1 else ""
    found = shown(str(message)).rstrip(".")
    seen = f"{who} rejected this image ({found}), and the driver reads it{more}"
    remedy = "give all workers the same mounts, permissions and credentials, and run the same command again"
    if who is None:
        seen = f"this image was rejected ({found}), and it can be read now{more}"
        remedy = "check the disk and the network, and run the same command again"
    return MachineError(f"{printable(source.folder.url_of(key))}: {seen}; {remedy}")


def _is_readable(folder: Folder, row: dict[str, Any]) -> bool:
    """Return whether the driver reads an image, and its mask, to the end: a disk may fail in the middle of a file."""
    paths = [path for path in (image_path(row), mask_path(row)) if path is not None]
    files = SourceFiles(folder)
    try:
        found = [folder.stat(path) for path in paths]
        if any(one is None or one.is_folder for one in found):
            return False
        files.mask(row, files.image(row))
    except images.BadImage:
        return False
    except OSError as error:
        if is_of_machine(error):
            raise unreadable(folder.url_of(paths[0]), error) from error
        return False
    return True
