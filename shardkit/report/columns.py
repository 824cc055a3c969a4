"""Columns of an index or a plan as arrays and counts, and the rejected files that a report shows.

Both kinds of collections hand columns over in batches. Of the rejected files, the first ones of each reason are shown,
with their pictures if they open.
"""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.hashing import hash64
from shardkit.image_limits import MAX_FILE_BYTES
from shardkit.images import BadImage, inspect
from shardkit.images.pillow import open_image
from shardkit.naming import relative_path_problem
from shardkit.report.collection import RejectedFile
from shardkit.storage import Folder

if TYPE_CHECKING:
    from PIL.Image import Image


def labels_of(
    single: pa.ChunkedArray | None, several: pa.ChunkedArray | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return int32[m], all labels end to end, and int64[n], the number of labels of each example."""
    if several is not None and several.null_count < len(several):
        lengths = pc.fill_null(pc.list_value_length(several), 0).to_numpy().astype(np.int64)
        return pc.list_flatten(several).to_numpy().astype(np.int32), lengths
    if single is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    is_valid = pc.is_valid(single).to_numpy().astype(np.int64)
    return single.drop_null().to_numpy().astype(np.int32), is_valid


def prefixes(contents: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return the first 64 bits of each sha256."""
    width = contents.type.byte_width // 8
    words = [
        np.frombuffer(chunk.buffers()[1], "<u8", len(chunk) * width, chunk.offset * width * 8).reshape(-1, width)[:, 0]
        for chunk in contents.chunks
        if len(chunk)
    ]
    return np.concatenate(words) if words else np.zeros(0, np.uint64)


def group_hashes(groups: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return the hash of each example's group, 0 without one."""
    encoded = groups.combine_chunks().dictionary_encode()
    hashes = np.append(hash64(encoded.dictionary.to_pylist(), seed=0, purpose="group"), np.uint64(0))
    found: npt.NDArray[np.uint64] = hashes[pc.fill_null(encoded.indices, len(hashes) - 1).to_numpy()]
    return found


def counts_of(column: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each text occurs."""
    found = Counter[str]()
    for one in pc.value_counts(column).to_pylist():
        found[one["values"] or ""] += one["counts"]
    return found


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
