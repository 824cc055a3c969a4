"""Read images, with random crops in training."""

from typing import Any

from shardkit import reader
from shardkit.programs.parts.crops import CROP_SCALE, FLIP
from shardkit.programs.parts.settings import IMAGE_SIZE

READING: dict[str, Any] = {"images": reader.Images(IMAGE_SIZE, crop_scale=CROP_SCALE, flip=FLIP)}
