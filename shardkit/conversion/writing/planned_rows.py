"""The rows of a plan, whose images and masks are read again and compared with what the inventory found."""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import google_crc32c
import pyarrow as pa

from shardkit import images
from shardkit.conversion.inventory.columns import MASK_PATH
from shardkit.conversion.inventory.schema import HAS_GPS, MASK_SHA256
from shardkit.conversion.inventory.source_files import ReadImage, SourceFiles
from shardkit.conversion.inventory.staged_images import MASK_URI, URI
from shardkit.errors import ShardkitError, SourceChangedError, SpecialFileError
from shardkit.options.words import convert_again
from shardkit.record_sources.datasets.columns import RAW_SHA256
from shardkit.sources.columns import CONTENT_SHA256, GROUP, PERCEPTUAL_HASH
from shardkit.storage import unreadable

# What is at the path is another file than before, or none.
_OTHER_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, SpecialFileError)


class PlannedRow(NamedTuple):
    """A row of a plan, with what the inventory found out about its image."""

    key: str
    source_bytes: int
    label: int | None
    group: str | None
    columns: dict[str, Any]  # the layout's own
    info: images.ImageInfo | None  # None with ``check=header``: not read before
    content_sha256: bytes | None
    content_crc32c: int | None
    perceptual_hash: bytes | None

    @property
    def located(self) -> dict[str, Any]:
        """The columns that say where the image and the mask are."""
        own = {"key": self.key, "source_bytes": self.source_bytes, CONTENT_SHA256.name: self.content_sha256}
        return {**own, **self.columns}


_CHECKED = (
    *("format", "width", "height", "orientation", "changes", "content_sha256", "content_crc32c"),
    PERCEPTUAL_HASH.name,
)
_OWN_FIELDS = {"key", "source_bytes", "label", GROUP.name, HAS_GPS.name, *_CHECKED}


def planned_rows(table: pa.Table) -> Iterator[PlannedRow]:
    """Yield the rows of a shard, as `read_shard_rows` returns them."""
    names = table.column_names
    own = [name for name in names if name not in _OWN_FIELDS]
    layout = table.select(own).to_pylist() if own else [{}] * len(table)
    labels = table["label"].to_numpy().tolist() if "label" in names else [None] * len(table)
    groups = table[GROUP.name].to_pylist() if GROUP.name in names else [None] * len(table)
    plain = zip(
        table["key"].to_pylist(), table["source_bytes"].to_numpy().tolist(), labels, groups, layout, strict=True
    )
    if table["format"].null_count:
        for row in plain:
            yield PlannedRow(*row, None, None, None, None)
        return
    looked = zip(*(table[name].to_pylist() for name in _CHECKED), strict=True)
    for row, (kind, width, height, orientation, changes, *check) in zip(plain, looked, strict=True):
        codes = tuple(changes.split(",")) if changes else ()
        yield PlannedRow(*row, images.ImageInfo(kind, width, height, orientation, codes), *check)


def read_image(files: SourceFiles, row: PlannedRow) -> tuple[ReadImage, bytes]:
    """Return a row's image and the sha256 of its raw file.

    Raises:
        BadImage: It was not read before, and is to be rejected; see `SourceFiles.image`.
        SourceChangedError: It is another file than the one that was checked.
        MachineError: The disk or the network fails.
    """
    where = row.columns.get(URI.name) or files.folder.url_of(row.key)
    try:
        image = files.image(row.located)
    except images.BadImage as error:
        raise _since_checked(error, where, "the file", was_checked=row.info is not None) from None
    if image.record is not None:
        return image, row.content_sha256 or row.columns[RAW_SHA256.name]
    if row.content_sha256 is None:
        return image, hashlib.sha256(image.data).digest()
    if len(image.data) != row.source_bytes or google_crc32c.value(image.data) != row.content_crc32c:
        msg = f"{where}: the file has changed since it was checked; {_at_rest()}"
        raise SourceChangedError(msg)
    return image, row.content_sha256


def read_mask(files: SourceFiles, row: PlannedRow, image: ReadImage) -> bytes | None:
    """Return the mask of a row whose image was read; None if rows of this source have none.

    Raises:
        BadImage: See `read_image`, like the others.
        SourceChangedError: It is another file than the one that was checked.
        MachineError: The disk or the network fails.
    """
    if MASK_PATH not in row.columns:
        return None
    where = row.columns.get(MASK_URI.name) or files.folder.url_of(row.columns[MASK_PATH])
    wanted = row.columns.get(MASK_SHA256.name)
    try:
        mask = files.mask(row.located, image)
    except images.BadImage as error:
        raise _since_checked(error, where, "the mask", was_checked=wanted is not None) from None
    if mask is not None and image.record is None and wanted is not None and hashlib.sha256(mask).digest() != wanted:
        msg = f"{where}: the mask has changed since it was checked; {_at_rest()}"
        raise SourceChangedError(msg)
    return mask


def _since_checked(error: images.BadImage, where: str, what: str, *, was_checked: bool) -> ShardkitError:
    """Return the error for a file that cannot be read now; if it was good when it was checked, it is not rejected.

    Raise it without a cause, which would let `retried` write the whole shard again: reading was tried again already.
    """
    cause = error.__cause__
    if not was_checked or not isinstance(cause, OSError):
        return error
    if isinstance(cause, _OTHER_FILE):
        found = f"{what} was good when it was checked and now cannot be read: {cause.strerror or cause}"
        return SourceChangedError(f"{where}: {found}; {_at_rest()}")
    return unreadable(where, cause)  # the disk or the network: finished shards stay, and the next run goes on


def _at_rest() -> str:
    return f"{convert_again()} when the source does not change any more"
