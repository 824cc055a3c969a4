"""The rejected files that a report shows: the first ones of each reason, and their pictures if they open."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images import BadImage, inspect
from shardkit.images.pillow import open_image
from shardkit.naming import relative_path_problem
from shardkit.report.collection import RejectedFile
from shardkit.storage import Folder

if TYPE_CHECKING:
    from PIL.Image import Image


def first_rejected(table: pa.Table, per_reason: int) -> list[RejectedFile]:
    """Return the first rejected files of each reason, the most frequent reason first.

    Args:
        table: The rejected files; REJECTED_SCHEMA.
        per_reason: Maximum number of files of each reason.
    """
    counts = pc.value_counts(table["reason"]).to_pylist()
    found = []
    for one in sorted(counts, key=lambda one: (-one["counts"], one["values"])):
        rows = table.filter(pc.equal(table["reason"], one["values"])).slice(0, per_reason).to_pylist()
        found += [RejectedFile(row["key"], row["reason"], row["message"], row["source_bytes"]) for row in rows]
    return found


def opened_file(folder: Folder, path: str, side: int) -> "Image | None":
    """Return the picture of a file that was rejected; None if it does not open.

    A path that leaves the folder is not followed: the list of rejected files has what a label file or a dataset says.
    """
    if relative_path_problem(path):
        return None
    try:
        found = folder.stat(path)
        if found is None or found.num_bytes > MAX_FILE_BYTES:
            return None
        return decoded(folder.read(path), side)
    except OSError:
        return None


def decoded(data: bytes, side: int) -> "Image | None":
    """Return the picture of an encoded image, upright, as RGB; None if it does not decode."""
    from PIL import ImageOps

    try:
        image = open_image(data, inspect(data).format)  # refuses images that are too large to decode
        image.load()
        picture = ImageOps.exif_transpose(image).convert("RGB")
    except (BadImage, OSError, ValueError):
        return None
    picture.thumbnail((side, side))
    return picture
