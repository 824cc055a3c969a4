"""A small copy of a dataset, converted again by the converter itself: what it gives is what a conversion gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shardkit.bench.dataset_part import DatasetPart
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.reject_limit import RejectLimit
from shardkit.errors import MachineError
from shardkit.images.jpeg_header import CHROMA_SHARES, read_jpeg_header
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named
from shardkit.parallel.threads import ThreadExecutor
from shardkit.records.extraction import COLUMNS, write_examples
from shardkit.records.sequence import Examples
from shardkit.sources import SourceOptions

MAX_BYTES = 200 << 20  # 200 MiB
MAX_PIXELS = 300 * 10**6  # about 6 seconds of decoding and encoding on one core
MIN_IMAGES = 16  # even if they are larger
SHARDS = 16  # of the copies, so that all cores write
_COLUMNS = ("key_hash", "height", "width", "image_bytes", *COLUMNS)


@dataclass(frozen=True, slots=True)
class Sample:
    """Images that were extracted.

    Attributes:
        folder: The folder of images, a source.
        shorter_sides: Shorter side of each image, pixels.
        num_jpeg: Number of JPEGs.
        num_progressive: Number of progressive JPEGs, which are decoded in several passes.
        num_fine_chroma: Number of JPEGs with more than a quarter of the chroma samples: 4:4:4, 4:2:2 and so on.
    """

    folder: Path
    shorter_sides: tuple[int, ...]
    num_jpeg: int
    num_progressive: int = 0
    num_fine_chroma: int = 0

    @property
    def num_images(self) -> int:
        """Number of images."""
        return len(self.shorter_sides)


def take_sample(part: DatasetPart, folder: Path, max_images: int) -> Sample:
    """Write a random few images of a dataset to a new folder; they depend on their keys alone.

    Args:
        part: The shards that they are taken from.
        folder: A folder that does not exist.
        max_images: Maximum number of images.
    """
    examples = Examples(part.url, part.split, columns=_COLUMNS, num_shards=len(part.shards))
    index = examples.index
    by_hash = np.argsort(index["key_hash"].to_numpy(), kind="stable")
    heights, widths, sizes = (
        index[name].to_numpy().astype(np.int64)[by_hash] for name in ("height", "width", "image_bytes")
    )
    count = sample_size(heights * widths, sizes, max_images)
    chosen = by_hash[:count]
    written = write_examples([examples.select(chosen)], folder)
    headers = [header for path in written if (header := read_jpeg_header((folder / path).read_bytes()))]
    return Sample(
        folder,
        tuple(np.minimum(heights, widths)[:count].tolist()),
        len(headers),
        sum(header.is_progressive for header in headers),
        sum(header.chroma_share > CHROMA_SHARES["4:2:0"] for header in headers),
    )


def sample_size(pixels: Any, num_bytes: Any, max_images: int) -> int:
    """Return the number of first images within all limits.

    Args:
        pixels: int64[n], pixels of each image.
        num_bytes: int64[n], size of each image.
        max_images: Maximum number of images.
    """
    within = (np.cumsum(pixels) <= MAX_PIXELS) & (np.cumsum(num_bytes) <= MAX_BYTES)
    return min(len(pixels), max_images, max(int(np.count_nonzero(within)), MIN_IMAGES))


def num_shards(num_images: int) -> int:
    """Return the number of shards of a sample's copies: each has at least two images.

    If an image could not be converted, one image a shard would be refused as too few before the real reason is known.
    """
    return min(SHARDS, max(1, num_images // 2))


def convert_sample(sample: Sample, output: Path, options: Mapping[str, Any], threads: int) -> float:
    """Convert the sample with options of a conversion; return the mean size of a record in bytes.

    Args:
        sample: The sample.
        output: A new folder.
        options: Values of options by name that differ from the defaults.
        threads: Number of images that are converted at a time.

    Raises:
        MachineError: The copy does not hold all images, so that it measures something else.
    """
    manifest = (
        Conversion(
            str(sample.folder),
            str(output),
            # A fixed number of shards in all copies; contents were checked when the dataset was made.
            ConvertOptions.of({"check": "header", "shards": num_shards(sample.num_images), **options}),
            ThreadExecutor(threads),
            source_options=SourceOptions(layout="extracted"),
            limit=RejectLimit.parse("100%"),
            takes_any_classes=True,  # one is enough
        )
        .run()
        .manifest
    )
    [split] = manifest.splits.values()
    if split.num_examples != sample.num_images:
        raise MachineError(
            f"of a sample of {sample.num_images:,} images only {split.num_examples:,} could be converted again, so "
            f"other options cannot be measured; use {named('no_advice', True)}"
        )
    return split.num_bytes / split.num_examples
