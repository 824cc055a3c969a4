"""Read an example of a dataset that is converted again: its image and its mask, from one checked record."""

import hashlib
from typing import Any, NamedTuple

from shardkit import images
from shardkit.dataset import example
from shardkit.dataset.features import IMAGE
from shardkit.errors import RecordError
from shardkit.images.boxes import mask_orientation
from shardkit.images.stored.placement import place
from shardkit.inventory.checking_records import image_of_record, mask_of_record, not_of_index, read_stored_record
from shardkit.inventory.columns import MASK_PATH
from shardkit.reject_reasons import DAMAGED
from shardkit.sources.datasets.columns import IMAGE_START, KEY_PREFIX, STORED_KEY
from shardkit.sources.listing import OFFSET, PATH
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried


class StoredExample(NamedTuple):
    """The files in a record; `mask` is None without a mask."""

    image: bytes
    mask: bytes | None


def read_stored_example(source: OpenFiles, row: dict[str, Any], content_sha256: bytes) -> StoredExample:
    """Read the record of a row, check its CRCs and that it is the row's example.

    Args:
        source: The files of the dataset's folder: records of a new shard come from all old ones, in any order.
        row: The row's key, size and the columns of sources.datasets.
        content_sha256: SHA-256 of the row's raw file, which is the image itself in records of others.

    Raises:
        BadImage: "damaged": the record is damaged, or has another key.
        OSError: The shard cannot be read.
    """
    record = retried(lambda: read_stored_record(source, row))
    image = image_of_record(record, row)
    key_feature = row.get(STORED_KEY.name)
    stored_key = row["key"][row[KEY_PREFIX.name] :].encode()
    try:
        if key_feature is not None:
            is_it = hashlib.sha256(image).digest() == content_sha256
            is_it = is_it and (not key_feature or example.decode(record).get(key_feature) == [stored_key])
        else:
            # Parsing a record takes as long as everything else together, and shardkit writes the key in one way.
            key = example.encode_entry("key", example.bytes_feature([stored_key]))
            is_it = record.find(key, row[IMAGE_START.name] + len(image)) >= 0
            if not is_it or MASK_PATH in row:
                values = example.decode(record)
                is_it = values.get("key") == [stored_key] and values.get(IMAGE) == [image]
    except RecordError as error:
        where = f"{row[PATH.name]}: record at byte {row[OFFSET.name]}"
        message = f"{where}: {error!r}; restore the dataset {source.url} from a copy"
        raise images.BadImage(DAMAGED, message) from error
    if not is_it:
        raise images.BadImage(DAMAGED, not_of_index(source.url, row))
    return StoredExample(image, mask_of_record(record, row) if MASK_PATH in row else None)


def place_stored_mask(mask: bytes, info: images.ImageInfo, form: images.StoredForm, *, is_adopted: bool) -> bytes:
    """Return the mask of a stored example in the form of its image; its own bytes if nothing has to change.

    Args:
        mask: The stored mask: class numbers.
        info: The header of its image.
        form: How images are stored.
        is_adopted: Whether others wrote the mask, which then may lie on its side together with its image.

    Raises:
        BadImage: A mask of others is bad, or has another size than its image.
    """
    orientation = 1
    if is_adopted:
        orientation = mask_orientation(images.check_mask(mask), info)
    elif not form.strip_metadata and not place(info.width, info.height, form).changes:
        return mask
    return images.normalise_mask(mask, orientation=orientation, form=form, colours=None).data
