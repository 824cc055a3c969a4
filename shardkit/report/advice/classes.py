"""Warnings about classes: absent, small, too large, or with other shares in one split."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.checks.classes import share_of_classes, share_of_used, unused_remedy
from shardkit.naming import counted, first_of, printable
from shardkit.options.words import named
from shardkit.report.advice.warning import Advice
from shardkit.report.collection import Split, learned_split, total_class_counts

MIN_EXAMPLES_OF_CLASS = 20
MAX_SHARE_OF_CLASS = 0.9
MAX_SHARE_DISTANCE = 0.05  # of the class shares of a split from those of the others: total variation
_SIGMAS = 4  # chance alone gives a distance this far above its expectation once in a thousand splits
_NAMES_SHOWN = 5
_NAME_LENGTH = 60


def _name(name: str) -> str:
    return printable(name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}…")


def _names(classes: Sequence[str], labels: Iterable[int]) -> str:
    return first_of([f"“{_name(classes[label])}”" for label in labels], _NAMES_SHOWN)


def unused_classes(classes: Sequence[str], splits: Sequence[Split], *, is_known: bool = False) -> Iterator[Advice]:
    """Yield a warning if classes have no image in any split.

    Args:
        classes: Class names.
        splits: The splits.
        is_known: Whether a finding says it already.
    """
    totals = total_class_counts(splits)
    unused = np.flatnonzero(totals == 0).tolist() if totals.any() else []
    if unused and not is_known:
        yield Advice(
            "class_without_image",
            "check",
            f"{share_of_classes(len(unused), len(classes))} no image in any split: {_names(classes, unused)}.",
            f"{unused_remedy()[:1].upper()}{unused_remedy()[1:]}.",
            "classes",
        )


def absent_classes(
    classes: Sequence[str], splits: Sequence[Split], split_by: str = "", *, is_known: bool = False
) -> Iterator[Advice]:
    """Yield a warning for each split that lacks a class which other splits have.

    Args:
        classes: Class names.
        splits: The splits.
        split_by: See Origin.
        is_known: Whether a finding says it already.
    """
    totals = total_class_counts(splits)
    if is_known or not totals.any():
        return
    learned = learned_split(splits)
    for split in splits:
        absent = np.flatnonzero((split.class_counts == 0) & (totals > 0)).tolist()
        if absent:
            follows = ", so no model learns them" if split is learned else ""
            yield Advice(
                "class_absent",
                "check",
                f"{share_of_used(len(absent), totals)} no image in “{split.name}”{follows}: {_names(classes, absent)}.",
                _absent_remedy(totals[absent], len(splits), split_by),
                "classes",
            )


def _absent_remedy(totals: npt.NDArray[np.int64], num_splits: int, split_by: str) -> str:
    """Return what helps classes with these numbers of images in all splits together."""
    if (totals < num_splits).all():
        images = counted(int(totals.max()), "image")
        found = f"has {images}" if len(totals) == 1 else f"have {images} at most"
        return f"Add images: {'it' if len(totals) == 1 else 'they'} {found}, fewer than one for each split."
    if split_by == "own":
        return (
            f"The source has its own splits: move or add images there, or convert with {named('splits')} and "
            f"{named('split_by')} "
            "stratified, which makes new splits."
        )
    if split_by == "stratified":
        return "Add images, or raise the split's share: these classes have too few images or groups for it."
    return (
        f"Convert with {named('split_by', 'stratified')}, which gives every class its share of each split, and "
        "add images to "
        "classes with fewer images than splits."
    )


def small_and_large_classes(classes: Sequence[str], splits: Sequence[Split]) -> Iterator[Advice]:
    """Yield warnings about classes with few examples to learn from, and about one that is nearly everything."""
    if not len(classes) or not splits:
        return
    learned = learned_split(splits)
    counts = learned.class_counts
    small = np.flatnonzero((counts > 0) & (counts < MIN_EXAMPLES_OF_CLASS))
    if len(small):
        ordered = small[np.argsort(counts[small], kind="stable")].tolist()
        yield Advice(
            "small_class",
            "check",
            f"{share_of_used(len(small), total_class_counts(splits))} only 1 to {MIN_EXAMPLES_OF_CLASS - 1} images in "
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
            f"If that is not wanted, convert with {named('splits')} and {named('split_by', 'stratified')}; "
            "otherwise compare results by "
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
