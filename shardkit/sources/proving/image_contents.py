"""What only the bytes of a few examples tell: that they are one file, or that boxes were drawn on larger pictures."""

import contextlib
import itertools
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeVar

from shardkit.errors import ShardkitError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import is_resized, upright_size
from shardkit.images.info import ImageInfo
from shardkit.sources.proving.evidence import MARGIN, MAX_COMPARED, Evidence
from shardkit.sources.walking import join, read_sample

T = TypeVar("T")

_MAX_HEADER = 1 << 20  # bytes of an image that its size is read from
_MAX_SAMPLE = 1 << 16  # bytes that tell most images apart
_MIN_BYTES = 64  # of an image
_MAX_READ = 64  # images of equal size that are read


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


def copies_apart(found: Evidence) -> Iterator[tuple[int, int]]:
    """Yield the numbers of two examples that are one file, and are in two classes or two splits.

    Only examples of equal size are read, a few of those that have many: planning looks at all of them.
    """
    facts = [*zip(found.labels, found.splits, strict=True)]
    alike = defaultdict[int, list[int]](list)
    for row, num_bytes in enumerate(found.num_bytes):
        alike[num_bytes].append(row)
    apart = (rows for size, rows in alike.items() if size >= _MIN_BYTES and len({facts[row] for row in rows}) > 1)
    # Copies keep their names more often than two photographs have one size.
    names = Counter(key.rpartition("/")[2] for key in found.keys)
    ranked = sorted(
        apart, key=lambda rows: (max(-names[found.keys[row].rpartition("/")[2]] for row in rows), len(rows))
    )
    known = dict[tuple[int, bytes], int]()
    for row in itertools.islice(itertools.chain.from_iterable(ranked), _MAX_READ):
        path = join(found.reading.images.root, found.keys[row])
        sample = read_sample(found.tree, path, _MAX_SAMPLE)
        other = known.setdefault((found.num_bytes[row], sample or b""), row)
        first = join(found.reading.images.root, found.keys[other])
        if sample and facts[other] != facts[row] and _are_one(found, first, path):
            yield other, row


def copies(found: Evidence) -> Iterator[tuple[str, str]]:
    """Yield two examples that are one file, of a few that have equal names and sizes."""
    for first, second, *_ in itertools.islice(found.twins, MAX_COMPARED):
        if _are_one(found, first, second):
            yield first, second


def copied_classes(found: Evidence) -> Iterator[str]:
    """Yield classes all whose files are copies of files of several other classes: a selection of them, or all."""
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
        # The others have more files, or this one has a copy of all of theirs.
        of_others = [(len(pairs[one]) < found.counts[one], {labels[copy] for _, copy in pairs[one]}) for one in others]
        is_made = all(map(operator.itemgetter(0), of_others)) or all(copies == {label} for _, copies in of_others)
        if is_made and all(_are_one(found, *pair) for pair in some[:MAX_COMPARED]):
            yield label


def _are_one(found: Evidence, first: str, second: str) -> bool:
    with contextlib.suppress(OSError, ShardkitError):  # whoever reads it as an image says what is wrong
        return found.tree.read(first) == found.tree.read(second)
    return False
