"""Segmentation: images and their masks, paired by name.

`pairs` finds the folders, `mask_files` finds the mask of an image, and `class_names` reads what the pixels mean.
"""

from shardkit.sources.folders.masks.layout import is_masks, open_masks

__all__ = ["is_masks", "open_masks"]
