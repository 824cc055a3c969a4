"""How the JPEGs of a sample are encoded, and how many images have a GPS position."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shardkit.images.gps import has_gps
from shardkit.images.jpeg_header import read_jpeg_header
from shardkit.report.collection import Header

FULL_CHROMA = "4:4:4"


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
