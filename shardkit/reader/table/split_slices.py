"""Answer the slices of splits of TFDS: "train[:10%]" is no name of a split here."""

import re

from shardkit.dataset.manifest import Manifest
from shardkit.errors import UnknownNameError

_SLICE = re.compile(r"(?P<split>[^\[\]]+)\[(?P<start>\d+%?)?:(?P<stop>\d+%?)?\]")


def check_split(manifest: Manifest, name: str) -> None:
    """Check that a dataset has a split.

    Raises:
        UnknownNameError: There is none; of a slice, or of a sum of splits, the message says what to write instead.
    """
    try:
        manifest.split_name(name)
    except UnknownNameError as error:
        found = _SLICE.fullmatch(name.strip())
        if found is not None:
            of_part = _part(manifest, found)
            raise UnknownNameError(f"{error}{of_part}") from None
        if "+" in name:
            msg = f"{error}; several splits become one by `shardkit convert {manifest.root.url} NEW --splits train=1`"
            raise UnknownNameError(msg) from None
        raise


def _part(manifest: Manifest, found: re.Match[str]) -> str:
    """Return what to write instead of a slice of a split that exists."""
    split = manifest.split_name(found["split"])
    num_examples = manifest.splits[split].num_examples
    start, stop = (
        _place(found[name], num_examples, otherwise) for name, otherwise in (("start", 0), ("stop", num_examples))
    )
    taken = min(max(stop - start, 1), num_examples)
    parts = max(2, round(num_examples / max(1, min(taken, num_examples - taken))))
    return (
        f"; for a part of it write split={split!r} and take={taken}, always the same examples, or fold=(0, {parts}): "
        f"training=False then reads one of {parts} parts, and training=True the others"
    )


def _place(text: str | None, num_examples: int, otherwise: int) -> int:
    if text is None:
        return otherwise
    return round(int(text[:-1]) / 100 * num_examples) if text.endswith("%") else int(text)
