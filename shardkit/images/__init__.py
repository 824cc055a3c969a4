"""Inspect and normalise images as bytes: read headers, check that they decode, and convert them for storage.

| module | contents |
|---|---|
| `info` | `ImageInfo`, `MaskInfo`, the error `BadImage` |
| `inspection` | read a header; decode every byte |
| `jpeg`, `png`, `orientation` | parsers of headers and metadata |
| `jpeg_segments`, `jpeg_header` | segments of a JPEG; its process, chroma subsampling and quality |
| `depth`, `profiles`, `traits` | 16 bits a channel; colour profiles; what an image loses when it is stored |
| `gps` | find GPS positions in metadata |
| `tiff` | damage inside a TIFF that libtiff does not report |
| `pillow` | other formats, and decoding |
| `perceptual_hash`, `thumbnails` | a hash of what an image looks like; pairs of images compared in pixels |
| `normalising` | convert an image to the stored form |
| `stored/` | the stored form as the user chooses it: sizes, encoding, metadata |
| `masks` | the same for segmentation masks, also for masks in colours |
| `boxes` | place boxes and masks on the upright image |

Everything works on bytes, without paths, pipelines or TensorFlow. Pillow is imported when it is first needed.
"""

from shardkit.image_limits import MAX_PIXELS, MAX_SIDE
from shardkit.images.info import CHANGES, REASONS, BadImage, ImageInfo, MaskInfo, Traits
from shardkit.images.inspection import check, check_fully, inspect
from shardkit.images.masks import NormalisedMask, check_mask, mask_values, normalise_mask
from shardkit.images.normalising import NormalisedImage, normalise
from shardkit.images.thumbnails import thumbnail
from shardkit.options.groups import Stored

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
    "Stored",
    "Traits",
    "check",
    "check_fully",
    "check_mask",
    "inspect",
    "mask_values",
    "normalise",
    "normalise_mask",
    "thumbnail",
]
