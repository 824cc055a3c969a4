"""Read whole images with their boxes."""

from typing import Any

from shardkit import reader
from shardkit.programs.parts.boxes import FLIP
from shardkit.programs.parts.settings import IMAGE_SIZE

READING: dict[str, Any] = {"images": reader.Images(IMAGE_SIZE, flip=FLIP)}
