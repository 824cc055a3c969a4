"""Images as bytes: what their headers say, whether they decode, and the form in which they are stored.

Works on bytes alone: no paths, no pipeline, no TensorFlow; Pillow is imported where it is first needed.
"""

from shardkit.images.info import CHANGES, MAX_PIXELS, MAX_SIDE, REASONS, BadImage, ImageInfo
from shardkit.images.inspection import check, inspect
from shardkit.images.masks import MaskInfo, NormalisedMask, check_mask, normalise_mask
from shardkit.images.normalising import NormalisedImage, normalise

__all__ = [
    "CHANGES",
    "MAX_PIXELS",
    "MAX_SIDE",
    "REASONS",
    "BadImage",
    "ImageInfo",
    "MaskInfo",
    "NormalisedImage",
    "NormalisedMask",
    "check",
    "check_mask",
    "inspect",
    "normalise",
    "normalise_mask",
]
