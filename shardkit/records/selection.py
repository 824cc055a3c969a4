"""Choose examples for people to look at: one by its key, or a few as if drawn at random but always the same ones."""

import difflib

import numpy as np

from shardkit.dataset.features import LABEL, label_feature
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.errors import CallError, UnknownNameError
from shardkit.records.example import Example
from shardkit.records.sequence import Examples

_CLASSES_SHOWN = 5  # in a message
_KEY_HASH = "key_hash"


def open_chosen(
    dataset: str, split: str | None, num_examples: int, *, label: str | None = None, where: str | None = None
) -> tuple[Examples, int]:
    """Open a random few examples of a split.

    Args:
        dataset: The dataset's folder.
        split: Name of the split; None for the first.
        num_examples: Number of examples, if there are as many.
        label: Class of the examples; None for all.
        where: A condition on the index; None for all examples.

    Returns:
        The examples, and the number of those that they were chosen from.

    Raises:
        CallError: No example fulfils the conditions, or there is no such split or class.
    """
    manifest = read_manifest(dataset)
    conditions = [] if where is None else [where]
    if label is not None:
        if label not in manifest.classes:
            close = difflib.get_close_matches(label, manifest.classes, 3)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else _classes_hint(manifest)
            raise UnknownNameError(f"{manifest.root.url}: there is no class {label!r}; {hint}")
        number = manifest.classes.index(label)
        conditions.append(f"{number} in labels" if _has_several(manifest) else f"label = {number}")
    condition = f"({where}) and {conditions[1]}" if len(conditions) > 1 else next(iter(conditions), None)
    examples = Examples(dataset, split or next(iter(manifest.splits)), condition, columns=[_KEY_HASH])
    if not len(examples):
        msg = f"{manifest.root.url}: the split {examples.split!r} has no example with {condition}"
        raise CallError(msg if condition else f"{manifest.root.url}: the split {examples.split!r} is empty")
    return _choose(examples, num_examples), len(examples)


def _classes_hint(manifest: Manifest) -> str:
    if not manifest.classes:
        return "the dataset has no classes"
    shown = ", ".join(map(repr, manifest.classes[:_CLASSES_SHOWN]))
    return f"the dataset has {shown}{', …' if len(manifest.classes) > _CLASSES_SHOWN else ''}"


def _has_several(manifest: Manifest) -> bool:
    return label_feature(manifest.features) != LABEL


def _choose(examples: Examples, num_examples: int) -> Examples:
    """Return a random few examples, which depend on their keys alone.

    A key has the same hash in every dataset: if examples are added or a dataset is converted again, the pictures that
    stay are the same ones, and two datasets can be compared by eye.

    Args:
        examples: The examples, opened with the column ``key_hash``.
        num_examples: Number of examples, if there are as many.
    """
    hashes = examples.index[_KEY_HASH].to_numpy()
    smallest = np.argsort(hashes, kind="stable")[:num_examples]
    return examples.select(smallest)


def find_example(dataset: str, key: str, split: str | None = None) -> tuple[Example, str]:
    """Return the example with a key, and its split.

    Args:
        dataset: The dataset's folder.
        key: The key.
        split: Name of the split; None to search all.

    Raises:
        UnknownNameError: There is none; the message suggests similar keys.
    """
    manifest = read_manifest(dataset)
    searched = [Examples(dataset, name) for name in ([split] if split is not None else manifest.splits)]
    for examples in searched:
        if examples.has_key(key):
            return examples[key], examples.split
    close = [similar for examples in searched for similar in examples.similar_keys(key)]
    hint = f"; did you mean {' or '.join(map(repr, close[:3]))}?" if close else ""
    where = f" in the split {split!r}" if split is not None else ""
    raise UnknownNameError(f"{manifest.root.url}: there is no example with the key {key!r}{where}{hint}")
