"""Read images with their masks; evaluation sees the whole image."""

from typing import Any

from shardkit import reader
from shardkit.programs.parts.crops import CROP_SCALE, FLIP
from shardkit.programs.parts.masks import BORDER
from shardkit.programs.parts.settings import IMAGE_SIZE

READING: dict[str, Any] = {
    "images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP, eval_fit="pad", mask_padding=BORDER)
}
