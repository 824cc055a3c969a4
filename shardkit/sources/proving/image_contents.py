"""What only the bytes of a few examples tell: that they are one file, or that boxes were drawn on larger pictures."""

import contextlib
import itertools
from collections import defaultdict
from collections.abc import Iterator

from shardkit.errors import ShardkitError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import is_resized
from shardkit.sources.proving.evidence import MAX_COMPARED, Evidence
from shardkit.sources.walking import join, read_sample

_MAX_HEADER = 1 << 20  # bytes of an image that its size is read from


def scaled_boxes(found: Evidence) -> str:
    """Return an example of images that all have another size than their annotations say, and the same shape."""
    sizes = []
    for key, (width, height) in found.annotated.items():
        data = read_sample(found.tree, join(found.reading.images.root, key), _MAX_HEADER)
        with contextlib.suppress(BadImage):
            info = inspect(data or b"")
            if not is_resized((width, height), info):
                return ""
            sizes.append(f"{info.width} x {info.height}, not {width} x {height}")
    return next(iter(sizes), "")


def copies(found: Evidence) -> Iterator[tuple[str, str]]:
    """Yield two examples that are one file, of a few that have equal names and sizes."""
    for first, second, *_ in itertools.islice(found.twins, MAX_COMPARED):
        if _are_one(found, first, second):
            yield first, second


def copied_classes(found: Evidence) -> Iterator[str]:
    """Yield classes all whose files are copies of some files of several other classes, as a selection of them."""
    if not found.twins:  # as nearly always
        return
    root = found.reading.images.root
    labels = {join(root, key): label for key, label in zip(found.keys, found.labels, strict=True)}
    pairs = defaultdict[str | None, list[tuple[str, str]]](list)
    for first, second in (paths for paths in found.twins if len(paths) == 2):
        pairs[labels[first]].append((first, second))
        pairs[labels[second]].append((second, first))
    for label, some in pairs.items():
        others = {one for _, other in some if (one := labels[other]) is not None} - {label}
        if label is None or len(some) < found.counts[label] or len(others) < 2:
            continue
        have_more = all(len(pairs[one]) < found.counts[one] for one in others)
        if have_more and all(_are_one(found, *pair) for pair in some[:MAX_COMPARED]):
            yield label


def _are_one(found: Evidence, first: str, second: str) -> bool:
    with contextlib.suppress(OSError, ShardkitError):  # whoever reads it as an image says what is wrong
        return found.tree.read(first) == found.tree.read(second)
    return False
