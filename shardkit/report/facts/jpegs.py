"""How the JPEGs of a sample are encoded, how many images have a GPS position, and how fast training input is.

The speed is estimated from measured figures, by megapixels, chroma subsampling and progressive JPEGs: for random crops
of 224 x 224 pixels on a CPU, where decoding takes most of the time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shardkit.images.gps import has_gps
from shardkit.images.jpeg_header import read_jpeg_header
from shardkit.report.collection import Header

FULL_CHROMA = "4:4:4"
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


class JpegFacts(NamedTuple):
    """The headers of a sample of images.

    Attributes:
        num_images: Number of images of the sample.
        num_jpegs: Number of JPEGs among them that are stored as they are, and whose header could be read.
        num_progressive: Number of progressive ones among these.
        subsampling: Number of these JPEGs by chroma subsampling, the most frequent first.
        qualities: Number of these JPEGs by estimated quality.
        num_gps: Number of images with a GPS position.
    """

    num_images: int
    num_jpegs: int
    num_progressive: int
    subsampling: Mapping[str, int]
    qualities: Mapping[int, int]
    num_gps: int

    @property
    def progressive_share(self) -> float:
        """Share of progressive JPEGs among the images."""
        return self.num_progressive / max(1, self.num_images)

    @property
    def full_chroma_share(self) -> float:
        """Share of JPEGs with 4:4:4 among the images."""
        return self.subsampling.get(FULL_CHROMA, 0) / max(1, self.num_images)


def jpeg_facts(headers: Iterable[Header]) -> JpegFacts:
    """Read headers.

    Args:
        headers: The headers of encoded images. Those of files that are encoded again tell only the position.
    """
    subsampling, qualities = Counter[str](), Counter[int]()
    num_images = num_jpegs = num_progressive = num_gps = 0
    for data, is_stored in headers:
        num_images += 1
        header = read_jpeg_header(data)
        if header is None:
            num_gps += has_gps(data)
            continue
        num_gps += header.has_gps
        if not is_stored:
            continue
        num_jpegs += 1
        num_progressive += header.is_progressive
        subsampling[header.subsampling] += 1
        if header.quality is not None:
            qualities[header.quality] += 1
    return JpegFacts(
        num_images,
        num_jpegs,
        num_progressive,
        dict(subsampling.most_common()),
        dict(sorted(qualities.items())),
        num_gps,
    )


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
