"""Find one example by its key in all splits of a dataset."""

from shardkit.dataset.manifest import read_manifest
from shardkit.errors import UnknownNameError
from shardkit.records.example import Example
from shardkit.records.sequence import Examples


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
    msg = f"{manifest.root.url}: there is no example with the key {key!r}{where}{hint}"
    raise UnknownNameError(msg)
