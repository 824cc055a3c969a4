"""What only the bytes of a few examples tell: that they are one file, or that boxes were drawn on larger pictures."""

import contextlib
import itertools
import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeVar

from shardkit.errors import ShardkitError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import is_resized, upright_size
from shardkit.images.info import ImageInfo
from shardkit.sources.proving.evidence import MARGIN, MAX_COMPARED, Evidence
from shardkit.sources.walking import join, parent_of, read_sample, stem_of

T = TypeVar("T")

_MAX_HEADER = 1 << 20  # bytes of an image that its size is read from
_MAX_READ = 32  # pairs that are compared


def scaled_boxes(found: Evidence) -> str:
    """Return an example of images that all have another size than their annotations say, and the same shape."""
    sizes = []
    for (width, height), info in _headers(found, found.annotated):
        if not is_resized((width, height), info):
            return ""
        sizes.append(f"{info.width} x {info.height}, not {width} x {height}")
    return next(iter(sizes), "")


def num_beyond(found: Evidence) -> tuple[int, int]:
    """Return how many of the first boxes in pixels reach well beyond their images, and how many there are."""
    num = total = 0
    for boxes, info in _headers(found, found.in_pixels):
        width, height = upright_size(info)
        for ymin, xmin, ymax, xmax in boxes:
            over = max(-ymin / height, -xmin / width, ymax / height - 1, xmax / width - 1)
            num, total = num + (over > MARGIN), total + 1
    return num, total


def are_most_beyond(found: Evidence) -> bool:
    """Return whether most boxes reach well beyond their images, so that their numbers mean something else."""
    num, total = num_beyond(found)
    return 2 * found.num_beyond > found.objects.total() or 2 * num > total


def _headers(found: Evidence, values: Mapping[str, T]) -> Iterator[tuple[T, ImageInfo]]:
    """Yield the values of some examples, by their keys, with what the headers of their images say."""
    for key, value in values.items():
        data = read_sample(found.tree, join(found.reading.images.root, key), _MAX_HEADER)
        with contextlib.suppress(BadImage):
            yield value, inspect(data or b"")


def copies_apart(found: Evidence) -> Iterator[tuple[str, str]]:
    """Yield two examples that are one file, of one name and size, and are in two classes or two splits.

    Where the files of a folder are counted, equal names are no reason to read them: each folder counts its own.
    """
    if not found.twins:  # as nearly always
        return
    facts = [*zip(found.labels, found.splits, strict=True)]
    numbers = defaultdict[str, set[int]](set)
    for path in found.rows:
        if (stem := stem_of(path)).isdecimal():
            numbers[parent_of(path)].add(int(stem))
    counted = {folder for folder, some in numbers.items() if max(some) - min(some) < len(some)}
    twins = (some for some in found.twins if not (stem_of(some[0]).isdecimal() and parent_of(some[0]) in counted))
    pairs = ((first, one) for first, *others in twins for one in others)
    apart = (pair for pair in pairs if len({facts[found.rows[path]] for path in pair}) > 1)
    yield from (pair for pair in itertools.islice(apart, _MAX_READ) if _are_one(found, *pair))


def copies(found: Evidence) -> Iterator[tuple[str, str]]:
    """Yield two examples that are one file, of a few that have equal names and sizes."""
    for first, second, *_ in itertools.islice(found.twins, MAX_COMPARED):
        if _are_one(found, first, second):
            yield first, second


def copied_classes(found: Evidence) -> Iterator[str]:
    """Yield classes all whose files are copies of files of several other classes: a selection of them, or all."""
    if not found.twins:  # as nearly always
        return
    labels = {path: found.labels[row] for path, row in found.rows.items()}
    pairs = defaultdict[str | None, list[tuple[str, str]]](list)
    for first, second in (paths for paths in found.twins if len(paths) == 2):
        pairs[labels[first]].append((first, second))
        pairs[labels[second]].append((second, first))
    for label, some in pairs.items():
        others = {one for _, other in some if (one := labels[other]) is not None} - {label}
        if label is None or len(some) < found.counts[label] or len(others) < 2:
            continue
        # The others have more files, or this one has a copy of all of theirs.
        of_others = [(len(pairs[one]) < found.counts[one], {labels[copy] for _, copy in pairs[one]}) for one in others]
        is_made = all(map(operator.itemgetter(0), of_others)) or all(copies == {label} for _, copies in of_others)
        if is_made and all(_are_one(found, *pair) for pair in some[:MAX_COMPARED]):
            yield label


def _are_one(found: Evidence, first: str, second: str) -> bool:
    with contextlib.suppress(OSError, ShardkitError):  # whoever reads it as an image says what is wrong
        return found.tree.read(first) == found.tree.read(second)
    return False
