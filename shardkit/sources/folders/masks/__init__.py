"""Read segmentation: images and their masks, paired by name.

`pairs` finds the folders, `mask_files` finds the mask of an image, `class_names` reads what the pixels mean,
and `layout` lists.
"""

from shardkit.sources.folders.masks.layout import is_masks, open_masks

__all__ = ["is_masks", "open_masks"]
