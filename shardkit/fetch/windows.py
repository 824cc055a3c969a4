"""Choose the crop windows of images: random resized crops for training, and those of evaluation.

Windows are int32[n, 4]: top, left, height, width in pixels of the stored images, of which `height` and `width` are
int32[n]. Random ones follow from float32[UNIFORMS, n] in [0, 1).
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Windows = npt.NDArray[np.int32]
Draws = npt.NDArray[np.float32]

ATTEMPTS = 10
# Aspect ratios are drawn with 12 random bits from a log-uniform table: exp() may differ in its last bit between
# processors, which would move a window by a pixel.
RATIO_BITS = 12
UNIFORMS = 2 * ATTEMPTS + 2
WHOLE = (1.0, 1.0)  # the scale of crops that are whole images


@dataclass(frozen=True, slots=True)
class Crops:
    """How the window of each image is chosen."""

    size: tuple[int, int]  # (height, width) that windows are resized to
    # Smallest and largest share of the image's area that a random crop covers; None without random crops.
    scale: tuple[float, float] | None = None
    ratio: tuple[float, float] = (3 / 4, 4 / 3)  # smallest and largest width / height of a random crop
    flip: bool = False
    # Without random crops: "crop" to the aspect ratio of `size`, or the whole image.
    fit: Literal["crop", "stretch", "pad"] = "crop"
    fraction: float = 1.0  # share of the sides that "crop" keeps

    @property
    def are_fixed(self) -> bool:
        """Whether the window of an image is the same in every epoch."""
        return self.scale is None or tuple(self.scale) == WHOLE

    def are_whole(self, height: npt.NDArray[Any], width: npt.NDArray[Any]) -> bool:
        """Return whether the windows of these images, which have one size, are whole images."""
        if not self.are_fixed:
            return False
        window = self.windows(height[:1], width[:1], np.zeros((UNIFORMS, 1), np.float32))
        return bool((window == [0, 0, int(height[0]), int(width[0])]).all())

    def windows(self, height: npt.NDArray[Any], width: npt.NDArray[Any], drawn: Draws) -> Windows:
        """Return the window of each image."""
        if self.scale is not None:
            return random_windows(drawn, height, width, scale=self.scale, ratio=self.ratio)
        if self.fit == "crop":
            return centre_windows(height, width, size=self.size, fraction=self.fraction)
        return whole_windows(height, width)


def random_windows(
    drawn: Draws,
    height: npt.NDArray[Any],
    width: npt.NDArray[Any],
    *,
    scale: tuple[float, float],
    ratio: tuple[float, float],
) -> Windows:
    """Return random resized crops, distributed as those of torchvision and GoogLeNet.

    As in `RandomResizedCrop.get_params`, an area share uniform in `scale` and an aspect ratio (width / height)
    log-uniform in `ratio` are drawn up to ten times, and the first window that fits is used. If none fits, the largest
    centred window that `ratio` allows is used. If `scale` is (1, 1), every window is the whole image, whatever `ratio`
    is: no other window has that area.
    """
    if tuple(scale) == WHOLE:
        return whole_windows(height, width)
    height, width = height.astype(np.float32), width.astype(np.float32)
    share, draw = drawn[: 2 * ATTEMPTS : 2], drawn[1 : 2 * ATTEMPTS : 2]
    step = (draw * np.float32(1 << RATIO_BITS)).astype(np.int32)
    aspect = np.take_along_axis(aspects(tuple(ratio))[:, np.newaxis], step, axis=0)
    area = height * width * (np.float32(scale[0]) + np.float32(scale[1] - scale[0]) * share)
    tall, wide = np.round(np.sqrt(area / aspect)), np.round(np.sqrt(area * aspect))
    fits = (tall >= 1) & (tall <= height) & (wide >= 1) & (wide <= width)
    found, first = np.any(fits, axis=0), np.argmax(fits, axis=0)[np.newaxis]
    centre_tall, centre_wide = _centre(height, width, ratio)
    tall = np.where(found, np.take_along_axis(tall, first, axis=0)[0], centre_tall)
    wide = np.where(found, np.take_along_axis(wide, first, axis=0)[0], centre_wide)
    # A drawn window has a random position.
    down, right = height - tall, width - wide
    top = np.floor(np.where(found, drawn[-2] * (down + 1), down / 2))
    left = np.floor(np.where(found, drawn[-1] * (right + 1), right / 2))
    return np.stack([top, left, tall, wide], axis=1).astype(np.int32)


@functools.lru_cache
def aspects(ratio: tuple[float, float]) -> Draws:
    """Return the table of aspect ratios, float32[4096]."""
    low, high = (math.log(value) for value in ratio)
    return np.exp(low + (high - low) * (np.arange(1 << RATIO_BITS) + 0.5) / (1 << RATIO_BITS)).astype(np.float32)


def _centre(height: Draws, width: Draws, ratio: tuple[float, float]) -> tuple[Draws, Draws]:
    low, high = (np.float32(value) for value in ratio)
    aspect = width / height
    tall = np.where(aspect < low, np.maximum(np.round(width / low), 1), height)
    wide = np.where(aspect > high, np.maximum(np.round(height * high), 1), width)
    return np.minimum(tall, height), np.minimum(wide, width)


def centre_windows(
    height: npt.NDArray[Any], width: npt.NDArray[Any], *, size: tuple[int, int], fraction: float
) -> Windows:
    """Return the largest centred windows of the target's aspect ratio, shrunk to `fraction` of their sides.

    Resized to the target, this is the same as "resize the shorter side to size / fraction, then crop the centre".
    """
    height, width = height.astype(np.float32), width.astype(np.float32)
    unit = np.minimum(height / np.float32(size[0]), width / np.float32(size[1])) * np.float32(fraction)
    tall = np.clip(np.round(unit * np.float32(size[0])), 1, height)
    wide = np.clip(np.round(unit * np.float32(size[1])), 1, width)
    top, left = np.floor((height - tall) / 2), np.floor((width - wide) / 2)
    return np.stack([top, left, tall, wide], axis=1).astype(np.int32)


def whole_windows(height: npt.NDArray[Any], width: npt.NDArray[Any]) -> Windows:
    """Return windows of whole images."""
    zero = np.zeros_like(height)
    return np.stack([zero, zero, height, width], axis=1).astype(np.int32)
