"""Count all examples in one pass: sizes, formats, changes, labels, equal contents.

Memory: for each example 17 bytes (hashes of content and labels, the number of the split), which find equal contents,
24 more with a perceptual hash, and a few times as much while they are sorted. All else has a size that does not depend
on the number of examples.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shardkit.report.collection import Batch
from shardkit.report.facts.bins import ASPECTS, BYTES, SIDES, Counts
from shardkit.report.facts.choosing import Chooser
from shardkit.statistics.indexes import Span, span_of_counts
from shardkit.statistics.repeated import NO_SETS, Sets, equal_sets, label_codes, near_copies

MAX_LABELS_COUNTED = 64  # labels of an image; more are counted as this many
_LARGEST_SIDE = 1 << 16
MOST_COMPARED = 200_000  # perceptual hashes; a search in more takes longer than the rest of the page


@dataclass(slots=True)
class SizeCounts:
    """Sizes of the images of one split.

    Attributes:
        sides: int64[SIDES.num, SIDES.num], number of images by bin of the height and of the width.
        aspects: int64[ASPECTS.num], number of images by width / height.
        image_bytes: int64[BYTES.num], number of images by size of the encoded image.
        megapixels: Sum over the images.
        resized_megapixels: The same after `resize`.
        num_measured: Number of images whose sides are known.
    """

    sides: Counts = field(default_factory=lambda: np.zeros((SIDES.num, SIDES.num), np.int64))
    aspects: Counts = field(default_factory=lambda: np.zeros(ASPECTS.num, np.int64))
    image_bytes: Counts = field(default_factory=lambda: np.zeros(BYTES.num, np.int64))
    megapixels: float = 0.0
    resized_megapixels: float = 0.0
    num_measured: int = 0
    _widths: Counts = field(default_factory=lambda: np.zeros(_LARGEST_SIDE, np.int64))
    _heights: Counts = field(default_factory=lambda: np.zeros(_LARGEST_SIDE, np.int64))

    def add(self, batch: Batch, resize: int) -> None:
        """Count the images of a batch.

        Args:
            batch: The images.
            resize: The shorter side after `resize`.
        """
        self.image_bytes += BYTES.count(batch.image_bytes)
        is_known = (batch.width > 0) & (batch.height > 0)
        width, height = batch.width[is_known], batch.height[is_known]
        bins = SIDES.numbers(height) * SIDES.num + SIDES.numbers(width)
        self.sides += np.bincount(bins, minlength=SIDES.num**2).reshape(SIDES.num, SIDES.num)
        self.aspects += ASPECTS.count(width / height)
        megapixels = width.astype(np.float64) * height / 1e6
        self.megapixels += float(megapixels.sum())
        scale = np.minimum(1, resize / np.minimum(width, height))
        self.resized_megapixels += float((megapixels * scale**2).sum())
        self.num_measured += len(width)
        self._widths += _side_counts(width)
        self._heights += _side_counts(height)

    @property
    def width(self) -> Span | None:
        """Smallest, median and largest width in pixels; None without images."""
        return span_of_counts(self._widths)

    @property
    def height(self) -> Span | None:
        """Smallest, median and largest height in pixels; None without images."""
        return span_of_counts(self._heights)


def _side_counts(sides: npt.NDArray[np.int32]) -> Counts:
    return np.bincount(np.minimum(sides, _LARGEST_SIDE - 1), minlength=_LARGEST_SIDE)


@dataclass(frozen=True, slots=True)
class Counted:
    """What one pass over all examples found.

    Attributes:
        sizes: Sizes of the images of each split.
        formats: Number of images of each format.
        changes: Number of images that each kind of normalisation changes.
        num_changed: Number of images that any changes.
        labels_per_image: int64[MAX_LABELS_COUNTED + 1], number of images by number of labels.
        pairs: int64[k, k], number of images that have both of two of the labels `paired`.
        paired: The labels of `pairs`.
        conflicts: Images with the same bytes and different labels; None if that is not known.
        near_conflicts: Near-identical images with different labels; None if there are too many images to search.
        leaks: Images with the same bytes in different splits; None if that is not known.
        near_leaks: Near-identical images in different splits; None if there are too many images to search.
        num_unhashed: Number of images without a perceptual hash, which are compared by bytes only.
        group_leaks: Groups in different splits.
    """

    sizes: Sequence[SizeCounts]
    formats: Mapping[str, int]
    changes: Mapping[str, int]
    num_changed: int
    labels_per_image: Counts
    pairs: Counts
    paired: Sequence[int]
    conflicts: Sets | None
    near_conflicts: Sets | None
    leaks: Sets | None
    near_leaks: Sets | None
    num_unhashed: int
    group_leaks: Sets


def count_examples(
    batches: Iterable[Batch], num_splits: int, *, resize: int, paired: Sequence[int], choosers: Sequence[Chooser]
) -> Counted:
    """Count all examples.

    Args:
        batches: The examples.
        num_splits: Number of splits.
        resize: The value of `resize` that is compared with the sizes as they are.
        paired: Labels that are counted in pairs.
        choosers: They see every batch too.
    """
    sizes = [SizeCounts() for _ in range(num_splits)]
    formats, changes, num_changed = Counter[str](), Counter[str](), 0
    per_image = np.zeros(MAX_LABELS_COUNTED + 1, np.int64)
    pairs = np.zeros((len(paired), len(paired)), np.int64)
    repeated = _Repeated()
    for batch in batches:
        sizes[batch.split].add(batch, resize)
        formats.update(batch.formats)
        for kinds, number in batch.changes.items():
            changes.update({kind: number for kind in kinds.split(",") if kind})
            num_changed += number if kinds else 0
        per_image += np.bincount(np.minimum(batch.num_labels, MAX_LABELS_COUNTED), minlength=len(per_image))
        if paired:
            pairs += _pairs(batch, paired)
        repeated.add(batch)
        for chooser in choosers:
            chooser.add(batch)
    near_conflicts, near_leaks = repeated.near_sets()
    return Counted(
        sizes,
        dict(formats.most_common()),
        dict(changes.most_common()),
        num_changed,
        per_image,
        pairs,
        paired,
        repeated.conflicts(),
        near_conflicts,
        repeated.leaks(),
        near_leaks,
        repeated.num_unhashed,
        repeated.group_leaks(),
    )


def _pairs(batch: Batch, paired: Sequence[int]) -> Counts:
    order = np.argsort(paired)
    wanted = np.asarray(paired, np.int64)[order]
    rows = np.repeat(np.arange(len(batch)), batch.num_labels)
    at = np.minimum(np.searchsorted(wanted, batch.labels), len(wanted) - 1)
    is_wanted = wanted[at] == batch.labels
    has = np.zeros((len(batch), len(paired)), np.float32)  # exact up to 16 million, more than a batch holds
    has[rows[is_wanted], order[at[is_wanted]]] = 1
    together: Counts = np.rint(has.T @ has).astype(np.int64)
    return together


class _Repeated:
    """Hashes of all examples."""

    def __init__(self) -> None:
        self._contents: list[npt.NDArray[np.uint64]] = []
        self._codes: list[npt.NDArray[np.uint64]] = []
        self._splits: list[npt.NDArray[np.uint8]] = []
        self._groups: list[npt.NDArray[np.uint64]] = []
        self._has_contents = True
        self._hashed: list[npt.NDArray[np.int64]] = []
        self._hashes: list[npt.NDArray[np.uint64]] = []
        self._num_rows = 0

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        if batch.groups is not None:
            self._groups.append(batch.groups)
        self._splits.append(np.full(len(batch), min(batch.split, 255), np.uint8))
        if batch.contents is None:
            self._has_contents = False
            return
        rows, hashes = batch.hashed
        self._hashed.append(rows + self._num_rows)
        self._hashes.append(hashes)
        self._num_rows += len(batch)
        self._contents.append(batch.contents)
        if batch.targets is not None:
            self._codes.append(batch.targets)
        elif len(batch.labels):
            self._codes.append(label_codes(batch.labels, batch.num_labels))
        else:
            self._codes.append(np.zeros(len(batch), np.uint64))

    def conflicts(self) -> Sets | None:
        return self._sets(self._codes)

    @property
    def num_unhashed(self) -> int:
        return self._num_rows - sum(map(len, self._hashed))

    def near_sets(self) -> tuple[Sets | None, Sets | None]:
        """Return the near-identical images with different labels, and those in different splits."""
        if not self._has_contents or not self._hashed:
            return NO_SETS, NO_SETS
        if sum(map(len, self._hashed)) > MOST_COMPARED:
            return None, None
        rows, contents = np.concatenate(self._hashed), np.concatenate(self._contents)
        # Of the same bytes, the first; `conflicts` has the others.
        first, near = near_copies(contents, rows, np.concatenate(self._hashes))
        sets = np.zeros(len(contents), np.uint64)
        sets[first] = (near.codes + 1).astype(np.uint64)
        labels, splits = (equal_sets(sets, np.concatenate(codes), ignored=0) for codes in (self._codes, self._splits))
        return labels, splits

    def leaks(self) -> Sets | None:
        return self._sets(self._splits)

    def _sets(self, codes: Sequence[npt.NDArray[np.unsignedinteger]]) -> Sets | None:
        if not self._has_contents:
            return None
        return equal_sets(np.concatenate(self._contents), np.concatenate(codes)) if self._contents else NO_SETS

    def group_leaks(self) -> Sets:
        if not self._groups:
            return NO_SETS
        return equal_sets(np.concatenate(self._groups), np.concatenate(self._splits), ignored=0)
