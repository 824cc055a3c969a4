"""Refuse to leave out images that only a worker cannot see.

A worker rejects an image that is missing or unreadable, which is right if the image is bad and wrong if its host lacks
a mount, a permission or a working network: up to `--max-rejected` of the images would be left out without an error. So
the driver looks at such images itself.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import MachineError
from shardkit.inventory.checking import image_path
from shardkit.inventory.columns import MASK_PATH
from shardkit.inventory.schema import Reject
from shardkit.naming import printable
from shardkit.reject_reasons import MISSING, UNREADABLE
from shardkit.sources import Source
from shardkit.sources.listing import PATH
from shardkit.storage import Folder

MAX_LOOKS = 100  # at images; a host that lacks a folder rejects many


def refuse_seen_rejects(source: Source, table: pa.Table, host_of: Callable[[str], str]) -> None:
    """Refuse an inventory in which workers rejected images as missing or unreadable that the driver reads.

    Args:
        source: The source.
        table: The inventory.
        host_of: Function that returns the host that checked an image, by its key.

    Raises:
        MachineError: There is such an image; the message names the host.
    """
    suspects = table.filter(pc.is_in(table["reason"].cast(pa.string()), pa.array([MISSING, UNREADABLE])))
    for row in suspects.slice(0, MAX_LOOKS).to_pylist():
        if all(_is_readable(source.folder, path) for path in (image_path(row), row.get(MASK_PATH)) if path):
            raise _refused(source, row["key"], row["message"], f"host {host_of(row['key'])}", len(suspects))


def refuse_seen_late_rejects(source: Source, late: Iterable[Reject]) -> None:
    """Refuse images that a writer could not read and the driver reads; see refuse_seen_rejects.

    Only for layouts in which every image is a file of its own under its key: other files are not known by then.

    Raises:
        MachineError: There is such an image.
    """
    if {PATH.name, MASK_PATH} & set(source.schema.names):
        return
    suspects = [one for one in late if one.reason == UNREADABLE]
    for one in suspects[:MAX_LOOKS]:
        if _is_readable(source.folder, one.key):
            raise _refused(source, one.key, one.message, "a worker", len(suspects))


def _refused(source: Source, key: str, message: Any, who: str, num_suspects: int) -> MachineError:
    more = f" ({num_suspects} images were rejected like this)" if num_suspects > 1 else ""
    found = str(message).rstrip(".")
    msg = (
        f"{source.folder.url}/{printable(key)}: {who} rejected this image ({found}), and the driver reads it{more}; "
        "give all workers the same mounts, permissions and credentials, and run the same command again"
    )
    return MachineError(msg)


def _is_readable(folder: Folder, path: str) -> bool:
    try:
        found = folder.stat(path)
        if found is None or found.is_folder:
            return False
        folder.read_range(path, 0, 1)
    except OSError:
        return False
    return True
