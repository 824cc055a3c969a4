"""The warnings at the top of the page: what was found, and what to do. Pure functions over the facts."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from shardkit.naming import counted, printable
from shardkit.planning.checks.finding import Finding
from shardkit.report.collection import Split, total_class_counts
from shardkit.report.decoding_cost import full_chroma_cost, image_ms, progressive_cost, speedup
from shardkit.report.facts.gathering import Facts
from shardkit.report.facts.jpegs import FULL_CHROMA

MIN_EXAMPLES_OF_CLASS = 20
MAX_SHARE_OF_CLASS = 0.9
MIN_SPEEDUP = 1.2  # below it, a smaller size is not worth another conversion
MIN_JPEG_SHARE = 0.05
MIN_JPEG_COST = 1.03  # of the time of all images
MAX_SHARE_DISTANCE = 0.05  # of the class shares of a split from those of the others: total variation
MAX_REJECTED_SHARE = 0.01
_SIGMAS = 4  # chance alone gives a distance this far above its expectation once in a thousand splits
_NAMES_SHOWN = 5
_NAME_LENGTH = 60
_TRAIN = "train"

Level = Literal["problem", "check", "speed"]


class Advice(NamedTuple):
    """A warning.

    Attributes:
        code: Name of the kind, for tests and links.
        level: "problem" if results will be wrong, "check" if they may be, "speed" if training input gets slower.
        sentence: What was found.
        remedy: What to do.
        section: Id of the section of the page with more about it.
        commands: Ready commands.
    """

    code: str
    level: Level
    sentence: str
    remedy: str
    section: str
    commands: tuple[str, ...] = ()


def advise(facts: Facts, findings: Sequence[Finding] = ()) -> list[Advice]:
    """Return all warnings, the most serious first.

    Args:
        facts: The facts.
        findings: Findings of a plan. They replace the warnings about the same thing, because they have ready commands.
    """
    known = {finding.code for finding in findings if finding.kind == "warns"}
    found = [
        *finding_advice(findings),
        *absent_classes(facts.classes, facts.splits, is_known="class_absent_from_split" in known),
        *small_and_large_classes(facts.classes, facts.splits),
        *differing_shares(facts.classes, facts.splits),
        *repeated_images(facts, known),
        *rejected_files(facts),
        *large_images(facts),
        *costly_jpegs(facts),
        *(() if any(finding.code == "gps_positions" for finding in findings) else gps_positions(facts)),
        *few_shards(facts.splits, facts.hosts, is_dataset=facts.is_dataset),
    ]
    levels = ("problem", "check", "speed")
    return sorted(found, key=lambda one: levels.index(one.level))


_PROBLEMS = {"duplicate_in_several_splits", "duplicate_with_other_label", "group_in_several_splits"}
_SECTIONS = {
    "duplicate_in_several_splits": "leaks",
    "group_in_several_splits": "leaks",
    "duplicate_with_other_label": "conflicts",
    "gps_positions": "jpegs",
    "unread_files": "rejected",
}


def finding_advice(findings: Iterable[Finding]) -> Iterator[Advice]:
    """Yield the findings of a plan as warnings."""
    for finding in findings:
        if finding.kind != "warns":
            continue
        examples = f": {'; '.join(finding.examples[:3])}" if finding.examples else ""
        yield Advice(
            finding.code,
            "problem" if finding.code in _PROBLEMS else "check",
            f"{finding.sentence}{examples}.",
            f"{_capital(finding.remedy)}." if finding.remedy else "",
            _SECTIONS.get(finding.code, "classes"),
            tuple(command.line for command in finding.commands),
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _name(name: str) -> str:
    return printable(name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}…")


def _names(classes: Sequence[str], labels: Iterable[int]) -> str:
    labels = [*labels]
    shown = ", ".join(f"“{_name(classes[label])}”" for label in labels[:_NAMES_SHOWN])
    return f"{shown} and {len(labels) - _NAMES_SHOWN:,} more" if len(labels) > _NAMES_SHOWN else shown


def absent_classes(classes: Sequence[str], splits: Sequence[Split], *, is_known: bool = False) -> Iterator[Advice]:
    """Yield a warning for each split that lacks a class.

    Args:
        classes: Class names.
        splits: The splits.
        is_known: Whether a finding says it already.
    """
    totals = total_class_counts(splits)
    if is_known or not len(classes) or not totals.any():
        return
    for split in splits:
        absent = np.flatnonzero((split.class_counts == 0) & (totals > 0)).tolist()
        if absent:
            does = "has" if len(absent) == 1 else "have"
            yield Advice(
                "class_absent",
                "check",
                f"{counted(len(absent), 'class')} {does} no image in “{split.name}”: {_names(classes, absent)}.",
                _absent_remedy(totals[absent], len(splits)),
                "classes",
            )


def _absent_remedy(totals: npt.NDArray[np.int64], num_splits: int) -> str:
    """Return what helps classes with these numbers of images in all splits together."""
    if (totals < num_splits).all():
        images = counted(int(totals.max()), "image")
        found = f"has {images}" if len(totals) == 1 else f"have {images} at most"
        return f"Add images: {'it' if len(totals) == 1 else 'they'} {found}, fewer than one for each split."
    return (
        "Convert with --split-by stratified, which gives every class its share of each split; if the source has its "
        "own splits, or a class too few images, add images."
    )


def small_and_large_classes(classes: Sequence[str], splits: Sequence[Split]) -> Iterator[Advice]:
    """Yield warnings about classes with few examples to learn from, and about one that is nearly everything."""
    if not len(classes) or not splits:
        return
    learned = next((split for split in splits if split.name == _TRAIN), splits[0])
    counts = learned.class_counts
    small = np.flatnonzero((counts > 0) & (counts < MIN_EXAMPLES_OF_CLASS))
    if len(small):
        ordered = small[np.argsort(counts[small], kind="stable")].tolist()
        does = "has" if len(small) == 1 else "have"
        yield Advice(
            "small_class",
            "check",
            f"{len(small):,} of {counted(len(classes), 'class')} {does} fewer than {MIN_EXAMPLES_OF_CLASS} images in "
            f"“{learned.name}”: {_names(classes, ordered)}.",
            'Collect more, or merge or leave out these classes; sampling="class_balanced" in the reader repeats '
            "rare classes more often.",
            "classes",
        )
    if learned.num_examples and len(classes) > 1:
        largest = int(np.argmax(counts))
        share = counts[largest] / learned.num_examples
        if share > MAX_SHARE_OF_CLASS:
            yield Advice(
                "large_class",
                "check",
                f"“{_name(classes[largest])}” is {share:.0%} of “{learned.name}”: a model that always answers it is "
                f"right {share:.0%} of the time.",
                'Judge by balanced accuracy or by class, and train with sampling="class_balanced" or '
                'sample_weight="balanced".',
                "classes",
            )


def differing_shares(classes: Sequence[str], splits: Sequence[Split]) -> Iterator[Advice]:
    """Yield a warning for each split whose class shares differ from those of the other splits by more than chance."""
    if len(classes) < 2 or len(splits) < 2:
        return
    totals = total_class_counts(splits)
    for split in splits:
        rest = totals - split.class_counts
        num, num_rest = int(split.class_counts.sum()), int(rest.sum())
        if not num or not num_rest:
            continue
        shares, others = split.class_counts / num, rest / num_rest
        distance = float(np.abs(shares - others).sum() / 2)
        if distance <= max(MAX_SHARE_DISTANCE, _distance_by_chance(totals, num, num_rest)):
            continue
        most = int(np.argmax(np.abs(shares - others)))
        yield Advice(
            "class_shares_differ",
            "check",
            f"The class shares of “{split.name}” differ from those of the other splits by {distance:.0%}; most for "
            f"“{_name(classes[most])}”: {shares[most]:.1%} there, {others[most]:.1%} in the others.",
            "If that is not wanted, convert with --splits and --split-by stratified; otherwise compare results by "
            "class.",
            "classes",
        )
        if len(splits) == 2:
            return  # the other one says the same


def _distance_by_chance(totals: npt.NDArray[np.int64], num: int, num_rest: int) -> float:
    """Return a total variation distance that random splits of these sizes hardly ever exceed."""
    shares = totals / max(1, totals.sum())
    deviations = np.sqrt(shares * (1 - shares) * (1 / num + 1 / num_rest))
    # Half of the sum of |normal| variables: mean sqrt(2/pi) and variance 1 - 2/pi of each. They are correlated, because
    # shares add up to 1: of two classes one deviation is that of the other.
    correlated = len(shares) / max(1, len(shares) - 1)
    mean = math.sqrt(2 / math.pi) * float(deviations.sum()) / 2
    spread = math.sqrt((1 - 2 / math.pi) * float((deviations**2).sum()) * correlated) / 2
    return mean + _SIGMAS * spread


def repeated_images(facts: Facts, known: set[str]) -> Iterator[Advice]:
    """Yield warnings about leaks between splits and about duplicates with different labels."""
    found = facts.counted
    if found.leaks is not None and found.leaks.num and "duplicate_in_several_splits" not in known:
        yield Advice(
            "leaks",
            "problem",
            f"{counted(found.leaks.num, 'image')} with exact duplicates in another split: a model is tested with "
            "images that it has seen.",
            "Convert again with --dedupe drop, or with --dedupe group if shardkit makes the splits.",
            "leaks",
        )
    if found.group_leaks.num and "group_in_several_splits" not in known:
        yield Advice(
            "group_leaks",
            "problem",
            f"{counted(found.group_leaks.num, 'group')} with images in more than one split.",
            "Move each group into one split; otherwise results of evaluation are too good.",
            "leaks",
        )
    if found.conflicts is not None and found.conflicts.num and "duplicate_with_other_label" not in known:
        yield Advice(
            "conflicts",
            "problem",
            f"{counted(found.conflicts.num, 'image')} with exact duplicates that have different labels: at least one "
            "of them is wrong.",
            "Keep the copy with the correct label, remove the others from the source, and convert again.",
            "conflicts",
        )


def rejected_files(facts: Facts) -> Iterator[Advice]:
    """Yield a warning if many files are rejected."""
    rejects = facts.rejects
    share = rejects.num_rejected / max(1, rejects.num_files)
    if share > MAX_REJECTED_SHARE:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in rejects.by_reason.items())
        yield Advice(
            "rejected",
            "check",
            f"{counted(rejects.num_rejected, 'file')} ({share:.1%}) {'were' if facts.is_dataset else 'would be'} "
            f"rejected: {reasons}.",
            "Repair or remove them if they matter; the list below has the reason of each.",
            "rejected",
        )


def unreadable_pictures(num: int, *, is_dataset: bool) -> Iterator[Advice]:
    """Yield a warning if examples to show could not be read.

    Args:
        num: Number of them.
        is_dataset: Whether they are records of a dataset.
    """
    if num:
        yield Advice(
            "unreadable",
            "problem",
            f"{num:,} of the pictures to show cannot be read; their places below say why.",
            "Run `shardkit verify --deep` on the dataset." if is_dataset else "Run the report without --check header.",
            "pictures",
        )


def megapixels(facts: Facts) -> tuple[float, float]:
    """Return the mean size of the images in megapixels, and that after `--resize` for the training size."""
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
        f"--resize {facts.options.resize} at conversion: about {gain:.1f} times faster training input; it replaces any "
        f"--size or --max-side. Worked out from measured input functions: {image_ms(before):.2g} ms of a core for each "
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
            _JPEG_REMEDY[code],
            "jpegs",
        )


_JPEG_REMEDY = {
    "progressive": "--jpeg baseline at conversion stores them as baseline JPEGs.",
    "full_chroma": "--subsampling 4:2:0 at conversion stores half of the samples, hardly visible in photographs.",
}


def gps_positions(facts: Facts) -> Iterator[Advice]:
    """Yield a warning if images carry the coordinates of the place where they were taken."""
    jpegs = facts.jpegs
    is_exact = facts.num_gps is not None or jpegs.num_images >= facts.num_examples
    num = jpegs.num_gps if facts.num_gps is None else facts.num_gps
    if not num:
        return
    of_all = "" if is_exact else f" of a sample of {jpegs.num_images:,}"
    yield Advice(
        "gps",
        "check",
        f"{counted(num, 'image')}{of_all} {'carries' if num == 1 else 'carry'} a GPS position, "
        "often that of somebody's home.",
        "Before the dataset is handed on, convert with --strip-metadata.",
        "jpegs",
    )


def few_shards(splits: Sequence[Split], hosts: int, *, is_dataset: bool) -> Iterator[Advice]:
    """Yield a warning if the training split has fewer shards than hosts, or a number that hosts cannot share evenly."""
    if not splits or hosts < 2:
        return
    learned = next((split for split in splits if split.name == _TRAIN), splits[0])
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
        f"Convert with --input-pipelines {hosts}, or with a multiple of {hosts} as --shards.",
        "shards",
    )
