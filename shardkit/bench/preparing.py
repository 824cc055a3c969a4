"""Prepare a benchmark: choose shards, convert a sample, and decide what is worth trying."""

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shardkit.bench import page_cache
from shardkit.bench.dataset_part import DatasetPart, choose_part
from shardkit.bench.sample import Sample, convert_sample, take_sample
from shardkit.bench.settings import BenchSettings
from shardkit.bench.stages import MAX_MEMORY_BYTES, MAX_MEMORY_IMAGES, StageSpec
from shardkit.bench.trials import ConversionTrial, ReaderTrial, conversion_trials, reader_trials
from shardkit.conversion.planning.sizing import format_size
from shardkit.dataset.index.shards import read_indexes
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.errors import CallError, MissingExtraError
from shardkit.extras import require_extra
from shardkit.host import Host, this_host
from shardkit.naming import counted
from shardkit.options.words import named

MIN_COLD_BYTES = 64 << 20  # 64 MiB: fewer are read again before a slice has ended
MAX_STILL_CACHED = 0.1  # share of pages that may stay in the page cache for a reading to count as cold

Show = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class SampleCopy:
    """The sample, converted with some options.

    Attributes:
        spec: The input function over it.
        bytes_per_image: Mean size of a record.
    """

    spec: StageSpec
    bytes_per_image: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """What will be measured.

    Attributes:
        settings: What the user wants to know.
        part: The shards that are read.
        host: This host.
        base: The input function as it is.
        reader: Arguments of the reader that are tried.
        conversions: Conversions that are tried, each with its copy of the sample.
        original: The sample, converted without options; None if no conversion is tried.
        num_sample: Number of images of the sample.
        no_cold: Why cold reading is not measured, or "".
        not_tried: Why options are not tried, by name.
    """

    settings: BenchSettings
    part: DatasetPart
    host: Host
    base: StageSpec
    reader: list[ReaderTrial] = field(default_factory=list)
    conversions: list[tuple[ConversionTrial, SampleCopy]] = field(default_factory=list)
    original: SampleCopy | None = None
    num_sample: int = 0
    no_cold: str = ""
    not_tried: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def prepared(settings: BenchSettings, show: Show) -> Iterator[Prepared]:
    """Prepare a benchmark; remove all temporary files when the block ends, after Ctrl-C too.

    Raises:
        CallError: The settings do not fit the dataset.
        DataError: The dataset is damaged.
        MachineError: The disk or the network failed.
    """
    manifest = read_manifest(settings.dataset)
    part = choose_part(manifest, _split(manifest, settings.split), settings.batch_size)
    if part.part_examples < settings.batch_size:
        raise CallError(
            f"{part.url}: the split {part.split!r} has {counted(part.part_examples, 'example')}, fewer than the batch "
            f"of {settings.batch_size:,}; add {named('batch_size', max(part.part_examples, 1))}"
        )
    deque(read_indexes(manifest.root, [*part.shards]), maxlen=0)  # a missing or damaged file is named before all else
    with _temporary_folder(settings.temporary) as folder:
        yield _prepare(settings, part, folder, show)


def _prepare(settings: BenchSettings, part: DatasetPart, folder: Path, show: Show) -> Prepared:
    host, cache = this_host(), folder / "cache"
    cache.mkdir()
    is_readable = not part.url.startswith("s3://")  # TensorFlow has no such file system: the reader needs copies
    base = StageSpec(
        stage="whole",
        dataset=part.url,
        split=part.split,
        num_shards=len(part.shards),
        image_size=settings.image_size,
        batch_size=settings.batch_size,
        dtype=settings.dtype,
        order=settings.order,
        cache=None if is_readable else str(cache),
        warm_seconds=min(1.0, settings.seconds / 30),
        memory_images=min(part.part_examples, MAX_MEMORY_IMAGES, 1 + int(MAX_MEMORY_BYTES / part.bytes_per_image)),
    )
    no_cold = _no_cold(settings, part)
    if not settings.with_advice:
        return Prepared(settings, part, host, base, no_cold=no_cold)

    not_tried: dict[str, str] = {}
    show("extracting a sample", 0)
    sample = take_sample(part, folder / "sample", settings.sample)
    reader = _useful(reader_trials(settings, part, sample, host, str(cache)), not_tried)
    conversions = _useful(conversion_trials(settings, sample), not_tried)
    try:
        require_extra("convert", "converting a sample")
    except MissingExtraError as error:
        not_tried |= dict.fromkeys((trial.name for trial in conversions), str(error))
        conversions = []
    copies: list[SampleCopy] = []
    for number, options in enumerate([{}, *(trial.options for trial in conversions)] if conversions else []):
        show("converting a sample", number / (len(conversions) + 1))
        output = folder / f"sample-{number}"
        num_bytes = convert_sample(sample, output, options, host.threads)
        copies.append(SampleCopy(_sample_spec(base, output, sample), num_bytes))
    return Prepared(
        settings,
        part,
        host,
        base,
        reader,
        list(zip(conversions, copies[1:], strict=True)),
        copies[0] if copies else None,
        sample.num_images,
        no_cold,
        not_tried,
    )


def _sample_spec(base: StageSpec, output: Path, sample: Sample) -> StageSpec:
    [split] = read_manifest(str(output)).splits
    return StageSpec(
        stage="whole",
        dataset=str(output),
        split=split,
        num_shards=sample.num_images,  # all of them: a shard has at least one image
        image_size=base.image_size,
        batch_size=min(base.batch_size, sample.num_images),
        dtype=base.dtype,
        warm_seconds=base.warm_seconds,
    )


def _useful(trials: list, not_tried: dict[str, str]) -> list:  # type: ignore[type-arg]
    not_tried |= {trial.name: trial.useless for trial in trials if trial.useless}
    return [trial for trial in trials if not trial.useless]


def _split(manifest: Manifest, given: str | None) -> str:
    """Return the name of the split: "train" if there is none given."""
    if given is not None:
        return manifest.split_name(given)
    return "train" if "train" in manifest.splits else next(iter(manifest.splits))


def _no_cold(settings: BenchSettings, part: DatasetPart) -> str:
    """Return why cold reading cannot be measured, or ""; drops the files from the page cache to find out."""
    if not settings.with_cold:
        return f"not measured, because of {named('no_cold', True)}"
    if not part.is_local:
        return "not measured, because the dataset is in an object store, which this host does not cache"
    if part.part_bytes < MIN_COLD_BYTES:
        size = format_size(part.part_bytes)
        return f"not measurable, because the split is so small ({size}) that a measurement reads it more than once"
    page_cache.drop(part.paths)
    left = page_cache.cached_share(part.paths)
    if left is None:
        return "not measurable here: this system does not tell what is in its page cache"
    if left > MAX_STILL_CACHED:
        found = f"{left:.0%} of the files are in the page cache after they were dropped from it"
        return f"not measurable here: {found}, or they belong to another user"
    return ""


@contextlib.contextmanager
def _temporary_folder(given: str | None) -> Iterator[Path]:
    if given is not None and not os.path.isdir(given):
        raise CallError(
            f"{given}: there is no such folder; {named('temporary')} names an existing folder on a local disk"
        )
    with tempfile.TemporaryDirectory(prefix="shardkit-bench-", dir=given) as made:
        yield Path(made)
