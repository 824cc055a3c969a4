"""The options that are tried: a table of conversions, and a table of arguments of the reader."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from shardkit.bench.dataset_part import DatasetPart
from shardkit.bench.sample import Sample
from shardkit.bench.settings import BenchSettings
from shardkit.host import Host
from shardkit.options.words import named
from shardkit.order.blocks import LANES

LOWER_QUALITY = 85  # Pillow's scale; files of about half the size of the converter's default, 95
MIN_SCALED_SHARE = 0.1  # of the images have to be large enough for decoding at a reduced scale

# What an option belongs to: `shardkit convert`, or `reader.make_dataset_fn`.
Kind = Literal["convert", "reader"]


@dataclass(frozen=True, slots=True)
class ConversionTrial:
    """Options of `shardkit convert` that a sample is converted with.

    Attributes:
        name: What the table calls it.
        argument: The options as they are typed.
        options: Values of options by name.
        useless: Why it cannot help, or "" if it may.
    """

    name: str
    argument: str
    options: Mapping[str, Any]
    useless: str = ""
    kind: ClassVar[Kind] = "convert"


@dataclass(frozen=True, slots=True)
class ReaderTrial:
    """An argument of the reader, tried on the dataset itself.

    Attributes:
        name: What the table calls it.
        argument: The argument as it is written in Python.
        changes: Fields of `StageSpec` that differ from the base.
        useless: Why it cannot help, or "" if it may.
    """

    name: str
    argument: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    useless: str = ""
    kind: ClassVar[Kind] = "reader"


def conversion_trials(settings: BenchSettings, sample: Sample) -> list[ConversionTrial]:
    """Return the conversions to try."""
    side = settings.shorter_side
    larger = sum(shorter > side for shorter in sample.shorter_sides)
    unshrunk = "" if larger else f"no image of the sample has a shorter side above {side} pixels"
    pngs = "" if sample.num_jpeg else "the images are PNGs"
    progressive = "" if sample.num_progressive else "no JPEG of the sample is progressive"
    fine = "" if sample.num_fine_chroma else "no JPEG of the sample has finer chroma than 4:2:0"
    resize, lower = named("resize", side), named("quality", LOWER_QUALITY)
    return [
        ConversionTrial(f"resize to {side}", resize, {"resize": side}, unshrunk),
        ConversionTrial(
            f"resize to {side}, quality {LOWER_QUALITY}",
            f"{resize} {lower}",
            {"resize": side, "quality": LOWER_QUALITY},
            unshrunk or pngs,
        ),
        ConversionTrial("baseline JPEG", named("jpeg", "baseline"), {"jpeg": "baseline"}, pngs or progressive),
        ConversionTrial("chroma 4:2:0", named("subsampling", "4:2:0"), {"subsampling": "4:2:0"}, pngs or fine),
    ]


def reader_trials(
    settings: BenchSettings, part: DatasetPart, sample: Sample, host: Host, cache_folder: str
) -> list[ReaderTrial]:
    """Return the arguments to try.

    Args:
        settings: What is measured.
        part: The shards that are read.
        sample: The sample, for what is known of the images.
        host: This host.
        cache_folder: Folder for copies of the shards.
    """
    threads = 2 * host.threads
    scaled = 'images=reader.Images(…, scaled_decoding=True, resize_method="antialias")'
    return [
        ReaderTrial("scaled decoding", scaled, {"scaled_decoding": True}, _useless_scaling(settings, sample)),
        ReaderTrial("block order", 'order="block"', {"order": "block"}, _useless_blocks(settings)),
        ReaderTrial("cache", 'cache="/local/disk"', {"cache": cache_folder}, _useless_cache(part, cache_folder)),
        ReaderTrial(
            f"{threads} threads", f"options.threading.private_threadpool_size = {threads}", {"threads": threads}
        ),
    ]


def _useless_scaling(settings: BenchSettings, sample: Sample) -> str:
    if not sample.num_jpeg:
        return "the images are PNGs"
    needed = 2 * min(settings.image_size)
    share = sum(shorter >= needed for shorter in sample.shorter_sides) / sample.num_images
    if share >= MIN_SCALED_SHARE:
        return ""
    return f"{share:.0%} of the images have a shorter side of {needed} pixels, twice the trainer's"


def _useless_blocks(settings: BenchSettings) -> str:
    if settings.order == "block":
        return "it is what was measured"
    return f"it needs a batch size that is a multiple of {LANES}" if settings.batch_size % LANES else ""


def _useless_cache(part: DatasetPart, folder: str) -> str:
    """Return why copies on a local disk cannot be faster: they would be on the disk that has the dataset."""
    if part.url.startswith("s3://"):
        return "s3:// is read through a cache anyway"
    if not part.is_local or os.stat(part.paths[0]).st_dev != os.stat(folder).st_dev:
        return ""
    return "the dataset is on the same disk as the copies would be"
