"""Warnings about what makes training input slow: large images, costly JPEGs, few shards."""

import shlex
from collections.abc import Iterator, Sequence

from shardkit.naming import counted, printable
from shardkit.options.words import named, shown
from shardkit.report.advice.warning import Advice
from shardkit.report.collection import Split, learned_split
from shardkit.report.facts.gathering import Facts
from shardkit.report.facts.jpegs import FULL_CHROMA, full_chroma_cost, image_ms, progressive_cost, speedup

MIN_SPEEDUP = 1.2  # below it, a smaller size is not worth another conversion
MIN_JPEG_SHARE = 0.05
MIN_JPEG_COST = 1.03  # of the time of all images
_JPEG_REMEDY = {
    "progressive": "`jpeg=baseline` at conversion stores them as baseline JPEGs.",
    "full_chroma": (
        "`subsampling=4:2:0` at conversion stores half of the samples, which is hardly visible in photographs."
    ),
}


def megapixels(facts: Facts) -> tuple[float, float]:
    """Return the mean size of the images in megapixels, and that after `resize` for the training size."""
    sizes = facts.counted.sizes
    num = max(1, sum(one.num_measured for one in sizes))
    return sum(one.megapixels for one in sizes) / num, sum(one.resized_megapixels for one in sizes) / num


def large_images(facts: Facts) -> Iterator[Advice]:
    """Yield a warning if the images are larger than the training size needs."""
    before, after = megapixels(facts)
    if facts.is_resized or not before or (gain := speedup(before, after)) < MIN_SPEEDUP:
        return
    size = f"{facts.options.training_height} x {facts.options.training_width}"
    yield Advice(
        "large_images",
        "speed",
        f"The images are larger than training at {size} needs: {before:.2g} megapixels on average, "
        f"{after:.2g} after a reduction of the shorter side to {facts.options.resize} pixels.",
        f"{named('resize', facts.options.resize)} at conversion: about {gain:.1f} times faster training input; "
        "it replaces "
        f"{named('size')} or {named('max_side')}. Worked out from measured input functions: "
        f"{image_ms(before):.2g} ms of a core for each "
        f"image before, {image_ms(after):.2g} ms after (see “Image sizes”).",
        "sizes",
    )


def costly_jpegs(facts: Facts) -> Iterator[Advice]:
    """Yield warnings about progressive and 4:4:4 JPEGs: their share, and what they cost."""
    jpegs, size = facts.jpegs, megapixels(facts)[0] or 0.2
    kinds = (
        ("progressive", jpegs.progressive_share, progressive_cost(size), "baseline"),
        (FULL_CHROMA, jpegs.full_chroma_share, full_chroma_cost(size), "4:2:0"),
    )
    for kind, share, cost, better in kinds:
        slower = 1 + share * (cost - 1)
        if share < MIN_JPEG_SHARE or slower < MIN_JPEG_COST:
            continue
        code = "progressive" if kind == "progressive" else "full_chroma"
        named = "progressive JPEGs" if kind == "progressive" else f"JPEGs with {FULL_CHROMA} chroma"
        yield Advice(
            code,
            "speed",
            f"{share:.0%} of the images are {named}: each takes about {cost:.1f} times as long to decode as a {better} "
            f"one, all images together {slower - 1:.0%} longer.",
            shown(_JPEG_REMEDY[code]),
            "jpegs",
        )


def few_shards(splits: Sequence[Split], hosts: int, *, is_dataset: bool) -> Iterator[Advice]:
    """Yield a warning if the training split has fewer shards than hosts, or a number that hosts cannot share evenly."""
    if not splits or hosts < 2:
        return
    learned = learned_split(splits)
    num = len(learned.shard_counts)
    if num >= hosts and num % hosts == 0:
        return
    has = "has" if is_dataset else "would have"
    problem = "fewer than one for each" if num < hosts else "which they cannot share evenly"
    yield Advice(
        "few_shards",
        "speed",
        f"“{learned.name}” {has} {counted(num, 'shard')} for {hosts:,} hosts, {problem}: hosts read the same files, or "
        "some read more than others.",
        f"Convert with {named('input_pipelines', hosts)}, or with a multiple of {hosts} as {named('shards')}.",
        "shards",
    )


def uneven_shards(splits: Sequence[Split], place: str) -> Iterator[Advice]:
    """Yield a warning if appends made the shards of a split uneven.

    Args:
        splits: The splits.
        place: The dataset's folder.
    """
    appended = [split for split in splits if len(split.generations) > 1]
    uneven = [split for split in appended if max(split.balance.count_spread, split.balance.class_spread) > 1]
    if not uneven:
        return
    worst = max(uneven, key=lambda split: (split.balance.count_spread, split.balance.class_spread))
    spread = worst.balance
    of_class = f", of one class by up to {spread.class_spread:,}" if spread.class_spread else ""
    yield Advice(
        "uneven_shards",
        "speed",
        f"After {counted(len(worst.generations) - 1, 'append')}, the shards of “{worst.name}” differ by up to "
        f"{counted(spread.count_spread, 'image')}{of_class}: hosts that divide the shards read different amounts.",
        "Convert the dataset to a new folder, which makes all shards even:",
        "shards",
        (f"shardkit convert {printable(shlex.quote(place))} NEW",),
    )
