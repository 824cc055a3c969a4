"""Compare two whole datasets example by example, cheap evidence first.

1. Equal digests of the manifests: nothing is read.
2. Shards that both datasets have, in the same split, with the same sha256 and the same index: not read.
3. The rest by the indexes, a part of the keys at a time.
4. Records, where the index does not decide: other features than the image and class labels, and images that were
   changed for storage, because the index has only the hash of the source file.

Memory depends on MAX_ROWS, not on the datasets.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.comparison.collecting import Collector, images_of, labels_of, smallest_keys, splits_of
from shardkit.comparison.columns import Mask, differs, is_empty, label_differs
from shardkit.comparison.difference import KINDS, Change, DatasetDiff, ListDiff
from shardkit.comparison.records import RecordComparison
from shardkit.comparison.rows import SHARD, Dataset, compared_shards, identity, pair_by_key, read_part
from shardkit.dataset.features import ALWAYS, IMAGE, LABEL, LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError

MAX_ROWS = 1 << 18  # rows of one dataset that are in memory, on average
FIRST_KEYS = 5  # default number of keys of each kind

Numbers = npt.NDArray[np.int64]
_Texts = Callable[[Dataset, pa.Table], list[str]]


def diff_datasets(
    a: Manifest,
    b: Manifest,
    *,
    num_keys: int = FIRST_KEYS,
    max_rows: int = MAX_ROWS,
    show: Callable[[int], None] = lambda done: None,
) -> DatasetDiff:
    """Compare two datasets.

    Args:
        a: The manifest of the first dataset, read from its folder.
        b: The manifest of the second one.
        num_keys: Number of keys of each kind in the result.
        max_rows: Number of rows of one dataset that may be in memory, on average.
        show: Function that is called with the number of examples compared so far.

    Returns:
        The differences of examples and of the lists of classes, features and splits. Not compared are options, source
        files, the number of shards and the order in them.

    Raises:
        CallError: `num_keys` is negative.
        DataError: A shard or an index is missing or damaged.
        MachineError: One cannot be read.
    """
    if num_keys < 0:
        raise CallError(f"the number of keys is {num_keys}; it must be 0 or more")
    collected = {kind: Collector(num_keys) for kind in KINDS}
    totals = _num_examples(a), _num_examples(b)
    num_same = totals[0]
    if a.digest != b.digest:
        comparison = _Comparison(a, b, collected)
        num_same = comparison.num_skipped
        num_parts = comparison.num_parts(max_rows)
        for part in range(num_parts):
            num_same += comparison.compare(part, num_parts)
            show(max(totals) * (part + 1) // num_parts)
    names = [one.root.url for one in (a, b)]
    if names[0] == names[1]:
        names = [f"{one.root.url}@sha256:{one.digest}" for one in (a, b)]
    return DatasetDiff(
        a=names[0],
        b=names[1],
        num_examples=totals,
        num_same=num_same,
        classes=class_diff(a.classes, b.classes),
        features=feature_diff(a, b),
        splits=split_diff(a, b),
        **{kind: collector.changes() for kind, collector in collected.items()},
    )


def _num_examples(manifest: Manifest) -> int:
    return sum(split.num_examples for split in manifest.splits.values())


class _Comparison:
    def __init__(self, a: Manifest, b: Manifest, collected: dict[str, Collector]) -> None:
        self._collected = collected
        self._numbers = label_numbers(a.classes, b.classes)
        renumbered = is_renumbered(self._numbers, len(a.classes))
        self._records = RecordComparison(compared_features(a, b), self._numbers, renumbered)
        identities_a, identities_b = ({identity(*named) for named in manifest.shards()} for manifest in (a, b))
        # Indexes have only the numbers of several labels.
        self._same_names = a.stored_as == b.stored_as  # equal records hold equal features only then
        skipped = identities_a & identities_b if self._same_names and not renumbered else set()
        self._a, self._b = compared_shards(a, skipped), compared_shards(b, skipped)
        self.num_skipped = _num_examples(a) - self._a.num_examples
        label = next((name for name in (LABEL, LABELS) if name in a.features), IMAGE)
        self._has_classes = a.features[label] == b.features.get(label) and a.features[label].role == "class_label"

    def num_parts(self, max_rows: int) -> int:
        return max(1, -(-max(self._a.num_examples, self._b.num_examples) // max_rows))

    def compare(self, part: int, num_parts: int) -> int:
        """Compare the examples of one part, collect what differs, and return the number of the others."""
        a, b = read_part(self._a, part, num_parts), read_part(self._b, part, num_parts)
        pairs = pair_by_key(a, b)
        self._add_alone("added", self._b, b, pairs.added)
        self._add_alone("removed", self._a, a, pairs.removed)
        a, b = a.take(pa.array(pairs.a)), b.take(pa.array(pairs.b))
        if not len(a):
            return 0
        changed = self._moved(a, b) | self._relabelled(a, b) | self._stored_differently(a, b)
        return int((~changed).sum())

    def _add_alone(self, kind: str, dataset: Dataset, table: pa.Table, rows: Numbers) -> None:
        collector = self._collected[kind]
        keys, chosen = smallest_keys(table, rows, collector.num_keys)
        splits = splits_of(dataset, table.take(pa.array(chosen, pa.int64())))
        first = [
            Change(key, None, split) if kind == "added" else Change(key, split, None)
            for key, split in zip(keys, splits, strict=True)
        ]
        collector.add(len(rows), first, Counter(splits_of(dataset, table.take(pa.array(rows)))).items())

    def _add(self, kind: str, a: pa.Table, b: pa.Table, found: Mask, texts: _Texts, *, counted: bool = False) -> None:
        """Collect changes of paired rows.

        Args:
            kind: Kind of the changes.
            a: Rows of A.
            b: The paired rows of B.
            found: Whether a pair differs.
            texts: Function that returns a text for each row.
            counted: Whether the pairs of texts are counted.
        """
        collector, rows = self._collected[kind], np.flatnonzero(found)
        keys, chosen = smallest_keys(a, rows, collector.num_keys)
        first = map(Change, keys, *self._texts(a, b, chosen, texts))
        pairs = Counter(zip(*self._texts(a, b, rows, texts), strict=True)) if counted else {}
        collector.add(len(rows), first, ((f"{before} → {after}", n) for (before, after), n in pairs.items()))

    def _texts(self, a: pa.Table, b: pa.Table, rows: Any, texts: _Texts) -> tuple[list[str], list[str]]:
        chosen = pa.array(rows, pa.int64())
        return texts(self._a, a.take(chosen)), texts(self._b, b.take(chosen))

    def _moved(self, a: pa.Table, b: pa.Table) -> Mask:
        before, after = (
            np.array(dataset.splits)[rows[SHARD].to_numpy()] for dataset, rows in ((self._a, a), (self._b, b))
        )
        found: Mask = before != after
        self._add("moved", a, b, found, splits_of, counted=True)
        return found

    def _relabelled(self, a: pa.Table, b: pa.Table) -> Mask:
        if not self._has_classes:
            return np.zeros(len(a), bool)
        found = label_differs(a, b, self._numbers, len(self._a.manifest.classes))
        # Sets of labels are too many to be counted.
        self._add("label", a, b, found, labels_of, counted=LABEL in self._a.manifest.features)
        return found

    def _stored_differently(self, a: pa.Table, b: pa.Table) -> Mask:
        """Collect images and annotations that differ, and labels that are numbers."""
        is_same = self._is_same_record(a, b)
        other_size = np.zeros(len(a), bool)
        for column in ("image_bytes", "height", "width", "format"):
            other_size |= differs(a, b, column)
        is_verbatim = is_empty(a, "changes") & is_empty(b, "changes")
        image: Mask = ~is_same & (other_size | (is_verbatim & differs(a, b, "content_sha256")))
        undecided = ~is_same & ~image & ~is_verbatim
        features = {int(row): ["group"] for row in np.flatnonzero(differs(a, b, "group"))}
        labels = dict[int, tuple[str, str]]()
        rows = np.flatnonzero(~is_same if self._records.features else undecided)
        of_a, of_b = (self._a, a.take(pa.array(rows))), (self._b, b.take(pa.array(rows)))
        for found in self._records.differences(of_a, of_b, undecided[rows]):
            row = int(rows[found.row])
            image[row] |= found.image
            if found.features:
                features.setdefault(row, []).extend(found.features)
            if found.label is not None:
                labels[row] = found.label
        self._add("image", a, b, image, images_of)
        self._add_from_records("label", a, {row: Change("", *texts) for row, texts in labels.items()})
        self._add_from_records(
            "annotations", a, {row: Change("", None, None, (*names,)) for row, names in features.items()}
        )
        changed: Mask = image.copy()
        changed[[*labels, *features]] = True
        return changed

    def _add_from_records(self, kind: str, a: pa.Table, changes: dict[int, Change]) -> None:
        rows = np.array(sorted(changes), np.int64)
        collector = self._collected[kind]
        keys, chosen = smallest_keys(a, rows, collector.num_keys)
        first = [replace(changes[row], key=key) for key, row in zip(keys, chosen, strict=True)]
        collector.add(len(rows), first, Counter(name for one in changes.values() for name in one.features).items())

    def _is_same_record(self, a: pa.Table, b: pa.Table) -> Mask:
        """Return bool[n]: whether both rows are the same record of two equal shards."""
        if self._records.decodes_all or not self._same_names:
            return np.zeros(len(a), bool)
        numbers = {shard.sha256: i for i, shard in enumerate([*self._a.shards, *self._b.shards])}
        shard_a, shard_b = (
            np.array([numbers[shard.sha256] for shard in dataset.shards])[rows[SHARD].to_numpy()]
            for dataset, rows in ((self._a, a), (self._b, b))
        )
        same: Mask = (shard_a == shard_b) & ~differs(a, b, "offset")
        return same


def class_diff(a: Sequence[str], b: Sequence[str]) -> ListDiff:
    """Compare class lists; classes in both with another number are changed."""
    if [*a] == [*b]:
        return ListDiff((), ())
    number = {name: i for i, name in enumerate(b)}
    moved = [name for i, name in enumerate(a) if number.get(name, i) != i]
    return ListDiff(_missing(b, a), _missing(a, b), tuple(moved))


def feature_diff(a: Manifest, b: Manifest) -> ListDiff:
    """Compare the stored features."""
    changed = [name for name in a.features if name in b.features and a.features[name] != b.features[name]]
    return ListDiff(_missing(b.features, a.features), _missing(a.features, b.features), tuple(changed))


def split_diff(a: Manifest, b: Manifest) -> ListDiff:
    """Compare the names of the splits."""
    return ListDiff(_missing(b.splits, a.splits), _missing(a.splits, b.splits))


def _missing(names: Collection[str], other: Collection[str]) -> tuple[str, ...]:
    there = set(other)
    return tuple(name for name in names if name not in there)


def label_numbers(a: Sequence[str], b: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return int64[len(b)]: the number in A of each class of B; classes that A lacks get numbers after A's."""
    number = {name: i for i, name in enumerate(a)}
    return np.array([number.get(name, len(a) + i) for i, name in enumerate(b)], np.int64)


def is_renumbered(numbers: npt.NDArray[np.int64], num_classes: int) -> bool:
    """Return whether a label that both datasets can have means another class in B.

    Args:
        numbers: See label_numbers.
        num_classes: Number of classes of A.
    """
    in_both = numbers[:num_classes]
    return not np.array_equal(in_both, np.arange(len(in_both)))


def compared_features(a: Manifest, b: Manifest) -> list[str]:
    """Return the features of both datasets that only their records decide: not image, key, sizes and class labels."""
    in_both = [name for name, feature in a.features.items() if b.features.get(name) == feature]
    return [
        name
        for name in in_both
        if name not in ALWAYS
        and a.features[name].role != "image"
        and not (name in {LABEL, LABELS} and a.features[name].role == "class_label")
    ]
