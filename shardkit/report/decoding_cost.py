"""Estimate how fast training input is, from measured figures: by megapixels, chroma subsampling, progressive JPEGs.

The estimates are for random crops of 224 x 224 pixels on a CPU, where decoding takes most of the time.
"""

from collections.abc import Sequence

import numpy as np

# Measured input functions (tests/benchmarks/README.md, "Results"), 2 cores: 2,523 images/s after `resize=256` at
# 0.087 megapixels, 1,425 images/s of the same photographs at 0.194 megapixels, and 10.6 ms of CPU time at 3 megapixels.
# This curve is within 4 % of all three.
_MS_AT_ONE_MEGAPIXEL = 4.6  # of one core
_EXPONENT = 0.73
_LEAST_MS = 0.25  # reading, parsing and batching an image of any size
# Measured by tests/benchmarks/bench_decoding_cost.py: time of a progressive or 4:4:4 JPEG divided by that of a baseline
# 4:2:0 JPEG of the same pixels. A progressive JPEG is decoded whole, whatever the crop.
_MEGAPIXELS = (0.09, 0.19, 0.81, 3.1)
_PROGRESSIVE = (1.5, 1.9, 2.8, 2.9)
_FULL_CHROMA = (1.05, 1.1, 1.3, 1.3)

CURVE = f"{_MS_AT_ONE_MEGAPIXEL} ms × megapixels to the power of {_EXPONENT}"  # for people


def image_ms(megapixels: float) -> float:
    """Return the CPU time of a training image in ms.

    Args:
        megapixels: Size of the stored image.
    """
    return max(_LEAST_MS, _MS_AT_ONE_MEGAPIXEL * float(max(megapixels, 1e-6) ** _EXPONENT))


def speedup(megapixels: float, resized_megapixels: float) -> float:
    """Return how many times as fast training input is after a reduction of the images.

    Args:
        megapixels: Mean size of the images.
        resized_megapixels: Mean size after the reduction.
    """
    return image_ms(megapixels) / image_ms(resized_megapixels)


def progressive_cost(megapixels: float) -> float:
    """Return the time of a progressive JPEG, divided by that of a baseline one."""
    return _interpolated(megapixels, _PROGRESSIVE)


def full_chroma_cost(megapixels: float) -> float:
    """Return the time of a 4:4:4 JPEG, divided by that of a 4:2:0 one."""
    return _interpolated(megapixels, _FULL_CHROMA)


def _interpolated(megapixels: float, values: Sequence[float]) -> float:
    return float(np.interp(np.log(max(megapixels, 1e-6)), np.log(_MEGAPIXELS), values))
