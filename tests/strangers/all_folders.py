"""The modules that register folders, in the order in which they are tried."""

from . import (  # noqa: F401 - they register folders
    boxes,
    class_trees,
    disks,
    formats,
    held_out,
    held_out_2,
    held_out_3,
    held_out_boxes,
    held_out_masks,
    laid_splits,
    lists,
    many_folders,
    masks,
    packed,
    public_classes,
    public_labels,
    public_masks,
    tables,
)
