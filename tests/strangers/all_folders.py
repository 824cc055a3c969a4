"""The modules that register folders, in the order in which they are tried."""

from . import (  # noqa: F401 - they register folders
    boxes,
    class_trees,
    disks,
    formats,
    held_out,
    lists,
    masks,
    packed,
    public_classes,
    public_labels,
    public_masks,
    tables,
)
