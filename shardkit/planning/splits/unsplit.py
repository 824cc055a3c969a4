"""Reject images without a split in a source whose other images have one: no split is right for them."""

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.reject_reasons import BAD_SPLIT

_MESSAGE = (
    "it has no split, but other images of the source have one, such as {split!r}; move it into a file or folder that "
    "is named like a split, or convert it separately"
)


def reject_unsplit(inventory: pa.Table) -> pa.Table:
    """Return the inventory with good rows without a split rejected as ``bad_split``, if other good rows have one."""
    good = pc.is_null(inventory["reason"])
    unsplit = pc.and_(good, pc.is_null(inventory["split"]))
    given = pc.drop_null(pc.unique(inventory["split"].filter(good))).to_pylist()
    if not given or not pc.any(unsplit).as_py():
        return inventory
    for name, text in (("reason", BAD_SPLIT), ("message", _MESSAGE.format(split=min(given)))):
        values = pc.if_else(unsplit, text, inventory[name].cast(pa.string()))  # a column without values has no type
        inventory = inventory.set_column(inventory.schema.get_field_index(name), name, values)
    return inventory
