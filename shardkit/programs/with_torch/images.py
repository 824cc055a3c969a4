"""Make tensors of images: uint8 [3, height, width], of IMAGE_SIZE."""

from typing import Any

import numpy as np
import torch
from torchvision.transforms import v2

from shardkit.programs.parts.crops import CROP_SCALE, FLIP
from shardkit.programs.parts.settings import IMAGE_SIZE


def image_of(example: Any) -> Any:
    """Return the whole image of an example."""
    return torch.from_numpy(example.array()).permute(2, 0, 1)


def random_crop(*images: Any) -> Any:
    """Return the same random part of images, mirrored at random."""
    transforms = [v2.RandomResizedCrop(IMAGE_SIZE, CROP_SCALE, antialias=True)]
    return v2.Compose([*transforms, *([v2.RandomHorizontalFlip()] if FLIP else [])])(*images)


def centre(image: Any) -> Any:
    """Return the image, cut about its centre to the shape of IMAGE_SIZE."""
    scale = np.max(np.divide(IMAGE_SIZE, image.shape[1:]))
    size = [max(side, round(scale * old)) for side, old in zip(IMAGE_SIZE, image.shape[1:], strict=True)]
    return v2.functional.center_crop(v2.functional.resize(image, size, antialias=True), list(IMAGE_SIZE))


def cropped(example: Any, *, training: bool) -> Any:
    """Return a part of an example's image: a random one to train on, and one about the centre for an evaluation."""
    image = image_of(example)
    return random_crop(image) if training else centre(image)
