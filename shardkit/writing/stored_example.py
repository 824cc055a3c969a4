"""Read an example of a dataset that is converted again: its image and its mask, from one checked record."""

from typing import Any, NamedTuple

from shardkit import images
from shardkit.dataset import example
from shardkit.dataset.features import IMAGE, MASK
from shardkit.errors import RecordError
from shardkit.images.stored.placement import place
from shardkit.inventory.checking_records import image_of_record, read_stored_record
from shardkit.inventory.columns import MASK_PATH
from shardkit.reject_reasons import DAMAGED
from shardkit.sources.datasets.columns import IMAGE_START, KEY_PREFIX
from shardkit.sources.listing import OFFSET, PATH
from shardkit.storage.open_files import OpenFiles
from shardkit.storage.retry import retried


class StoredExample(NamedTuple):
    """The files in a record; `mask` is None without a mask."""

    image: bytes
    mask: bytes | None


def read_stored_example(source: OpenFiles, row: dict[str, Any]) -> StoredExample:
    """Read the record of a row, check its CRCs and that it is the row's example.

    Args:
        source: The files of the dataset's folder: records of a new shard come from all old ones, in any order.
        row: The row's key, size and the columns of sources.datasets.

    Raises:
        BadImage: "damaged": the record is damaged, or has another key.
        OSError: The shard cannot be read.
    """
    record = retried(lambda: read_stored_record(source, row))
    image = image_of_record(record, row)
    image_end = row[IMAGE_START.name] + len(image)
    where = f"{row[PATH.name]}: record at byte {row[OFFSET.name]}"
    mask = None
    stored_key = row["key"][row[KEY_PREFIX.name] :].encode()
    try:
        # Parsing a record takes as long as everything else together, and shardkit writes the key in one way.
        key = example.encode_entry("key", example.bytes_feature([stored_key]))
        is_it = record.find(key, image_end) >= 0
        if not is_it or MASK_PATH in row:
            values = example.decode(record)
            is_it = values.get("key") == [stored_key] and values.get(IMAGE) == [image]
            mask = bytes(values[MASK][0]) if MASK_PATH in row else None  # type: ignore[arg-type]
    except (RecordError, KeyError, IndexError) as error:
        message = f"{where}: {error!r}; restore the dataset {source.url} from a copy"
        raise images.BadImage(DAMAGED, message) from error
    if not is_it:
        message = f"{where}: it is not the example of the index; restore the dataset {source.url} from a copy"
        raise images.BadImage(DAMAGED, message)
    return StoredExample(image, mask)


def place_stored_mask(mask: bytes, info: images.ImageInfo, form: images.StoredForm) -> bytes:
    """Return the mask of a stored example in the form of its image; its own bytes if nothing has to change.

    Args:
        mask: The stored mask: class numbers, upright.
        info: The header of its image.
        form: How images are stored.
    """
    if not form.strip_metadata and not place(info.width, info.height, form).changes:
        return mask
    return images.normalise_mask(mask, orientation=1, form=form, colours=None).data
