"""Rows without a split in a source that gives other rows one: rejected, because no split is theirs."""

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.reject_reasons import BAD_SPLIT

_MESSAGE = (
    "it has no split where other images of the source have one, such as {split!r}; put it into a file or a folder that "
    "is named like a split, or convert it on its own"
)


def without_unsplit(inventory: pa.Table) -> pa.Table:
    """The inventory with its good rows of no split rejected as ``bad_split``, if other good rows have one."""
    good = pc.is_null(inventory["reason"])
    unsplit = pc.and_(good, pc.is_null(inventory["split"]))
    given = pc.drop_null(pc.unique(inventory["split"].filter(good))).to_pylist()
    if not given or not pc.any(unsplit).as_py():
        return inventory
    for name, text in (("reason", BAD_SPLIT), ("message", _MESSAGE.format(split=min(given)))):
        values = pc.if_else(unsplit, text, inventory[name].cast(pa.string()))  # a column without values has no type
        inventory = inventory.set_column(inventory.schema.get_field_index(name), name, values)
    return inventory
