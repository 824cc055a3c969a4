"""Read segmentation: images and their masks, paired by name.

`pairs` finds the folders, `class_names` reads what the pixels mean, and `layout` pairs and lists.
"""

from shardkit.sources.folders.masks.layout import is_masks, open_masks

__all__ = ["is_masks", "open_masks"]
