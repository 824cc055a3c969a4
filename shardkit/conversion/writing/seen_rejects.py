"""Refuse to leave out images that only a worker cannot see, or that could not be read for a moment.

A worker rejects an image that is missing or unreadable, which is right if the image is bad and wrong if its host lacks
a mount, a permission or a working network, or if a disk failed for some seconds: up to `max_rejected` of the images
would be left out without an error. So the driver looks at such images itself.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit import images
from shardkit.conversion.inventory.schema import Reject
from shardkit.conversion.inventory.source_files import SourceFiles, image_path, mask_path
from shardkit.errors import MachineError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.words import shown
from shardkit.reject_reasons import MISSING, UNREADABLE
from shardkit.sources import Source
from shardkit.sources.columns import MASK_PATH
from shardkit.sources.listing import ending
from shardkit.storage import Folder

_ENDINGS = {*IMAGE_ENDINGS, ending("")}  # an image may have none
MAX_LOOKS = 100  # at images; a host that lacks a folder rejects many


def refuse_seen_rejects(source: Source, table: pa.Table, host_of: Callable[[str], str] | None) -> None:
    """Refuse an inventory in which images were rejected as missing or unreadable that the driver reads.

    Args:
        source: The source.
        table: The inventory.
        host_of: Function that returns the host that checked an image, by its key; None if the driver checked all.

    Raises:
        MachineError: There is such an image; the message names the host.
    """
    suspects = table.filter(pc.is_in(table["reason"].cast(pa.string()), pa.array([MISSING, UNREADABLE])))
    listed = (row for batch in suspects.to_batches(max_chunksize=MAX_LOOKS) for row in batch.to_pylist())
    rows = (row for row in listed if row["reason"] != MISSING or not _names_missing_image(row))
    for row in islice(rows, MAX_LOOKS):
        if _is_readable(source.folder, row):
            host = None if host_of is None else f"host {host_of(row['key'])}"
            raise _refused(source, row["key"], row["message"], host, len(suspects))


def refuse_seen_late_rejects(source: Source, examples: pa.Table, late: Iterable[Reject], *, is_remote: bool) -> None:
    """Refuse images that a writer could not read and the driver reads; see refuse_seen_rejects.

    Args:
        source: The source.
        examples: The plan's rows, with the paths of images and masks.
        late: What the writers rejected.
        is_remote: Whether the writers may have run on other hosts.

    Raises:
        MachineError: There is such an image.
    """
    suspects = {one.key: one for one in late if one.reason == UNREADABLE}
    if not suspects:
        return
    looked_at = pa.array(list(suspects)[:MAX_LOOKS], pa.string())
    for row in examples.filter(pc.is_in(examples["key"], looked_at.cast(examples["key"].type))).to_pylist():
        if _is_readable(source.folder, row):
            who = "a worker" if is_remote else None
            raise _refused(source, row["key"], suspects[row["key"]].message, who, len(suspects))


def _names_missing_image(row: dict[str, Any]) -> bool:
    """Return whether a row is of a label file or a mask whose image is missing: the file is there itself."""
    is_mask = MASK_PATH.name in row and row[MASK_PATH.name] is None
    return is_mask or ending(image_path(row)) not in _ENDINGS


def _refused(source: Source, key: str, message: Any, who: str | None, num_suspects: int) -> MachineError:
    more = f" ({num_suspects} images were rejected like this)" if num_suspects > 1 else ""
    found = shown(str(message)).rstrip(".")
    seen = f"{who} rejected this image ({found}), and the driver reads it{more}"
    remedy = "give all workers the same mounts, permissions and credentials, and run the same command again"
    if who is None:
        seen = f"this image was rejected ({found}), and it can be read now{more}"
        remedy = "check the disk and the network, and run the same command again"
    return MachineError(f"{source.folder.url}/{printable(key)}: {seen}; {remedy}")


def _is_readable(folder: Folder, row: dict[str, Any]) -> bool:
    """Return whether the driver reads an image, and its mask, to the end: a disk may fail in the middle of a file."""
    paths = [path for path in (image_path(row), mask_path(row)) if path is not None]
    files = SourceFiles(folder)
    try:
        found = [folder.stat(path) for path in paths]
        if any(one is None or one.is_folder for one in found):
            return False
        files.mask(row, files.image(row))
    except (images.BadImage, OSError):
        return False
    return True
