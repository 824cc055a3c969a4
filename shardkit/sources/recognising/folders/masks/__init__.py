"""Read segmentation: images and their masks, paired by name."""

from shardkit.sources.recognising.folders.masks.layout import is_masks, open_masks

__all__ = ["is_masks", "open_masks"]
