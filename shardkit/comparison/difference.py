"""The differences of two datasets, A and B, as values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """One example that differs.

    Attributes:
        key: The example's key.
        before: Its split, label or image in A; None if A lacks it, and for annotations.
        after: The same in B.
        features: Names of the annotations that differ; empty for other changes.
    """

    key: str
    before: str | None
    after: str | None
    features: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields that say something about this kind of change."""
        fields: dict[str, Any] = {"key": self.key}
        if self.features:
            return fields | {"features": [*self.features]}
        return fields | {name: value for name in ("before", "after") if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Changes:
    """All examples with one kind of difference.

    Attributes:
        num_examples: Their number.
        counts: Their number by split, by ``before → after``, or by feature; the largest first.
        first: The first of them in the order of keys.
    """

    num_examples: int
    counts: Mapping[str, int]
    first: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ListDiff:
    """The differences of two lists of names, such as the classes.

    Attributes:
        added: Names in B only, in its order.
        removed: Names in A only, in its order.
        changed: Names in both that mean something else: features of another type, classes with another number.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, list[str]]:
        """Return the fields as lists."""
        return {name: [*names] for name, names in asdict(self).items()}

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class DatasetDiff:
    """The differences of two datasets.

    An example that differs in several ways is counted in each of them.

    Attributes:
        a: URL of the first dataset.
        b: URL of the second dataset.
        num_examples: Number of examples of A and of B.
        num_same: Number of examples without any difference.
        classes: Differences of the class lists; ``changed`` are classes with another number.
        features: Differences of the stored features; ``changed`` are those of another type, role or shape.
        splits: Differences of the names of splits.
        added: Examples in B only, by split.
        removed: Examples in A only, by split.
        moved: Examples in another split.
        label: Examples with another label: classes are compared by name.
        image: Examples whose stored image has other bytes.
        annotations: Examples with other boxes, masks, columns or another group, by feature.
    """

    a: str
    b: str
    num_examples: tuple[int, int]
    num_same: int
    classes: ListDiff
    features: ListDiff
    splits: ListDiff
    added: Changes
    removed: Changes
    moved: Changes
    label: Changes
    image: Changes
    annotations: Changes

    @property
    def kinds(self) -> dict[str, Changes]:
        """The kinds of changed examples, by name."""
        return {kind: getattr(self, kind) for kind in KINDS}

    @property
    def equal(self) -> bool:
        """Whether there is no difference."""
        lists = self.classes or self.features or self.splits
        return not lists and not any(changes.num_examples for changes in self.kinds.values())

    def with_keys(self, num_keys: int) -> "DatasetDiff":
        """Return the same with fewer examples of each kind."""
        kinds: dict[str, Any] = {
            kind: replace(changes, first=changes.first[:num_keys]) for kind, changes in self.kinds.items()
        }
        return replace(self, **kinds)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of `diff --json`; shardkit/dataset/README.md documents its fields."""
        kinds = {
            kind: {
                "num_examples": changes.num_examples,
                "counts": dict(changes.counts),
                "first": [change.as_json() for change in changes.first],
            }
            for kind, changes in self.kinds.items()
        }
        return {
            "a": self.a,
            "b": self.b,
            "equal": self.equal,
            "num_examples": {"a": self.num_examples[0], "b": self.num_examples[1], "same": self.num_same},
            **{name: getattr(self, name).as_json() for name in ("classes", "features", "splits")},
            **kinds,
        }


KINDS = ("added", "removed", "moved", "label", "image", "annotations")
