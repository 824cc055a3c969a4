"""Check what the four numbers of a file's boxes are: no format says so in the file.

Boxes that are taken for something else still have an area in most images, and a model would train on them.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shardkit.errors import DataError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import upright_size
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.formats.format import ImageRecord
from shardkit.sources.formats.vendors.formats import JsonFormat
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import read_sample
from shardkit.storage import Folder

_MIN_BOXES = 4  # of which one larger than a pixel can be expected
_NUM_SAMPLED = 16  # images that are opened
_MAX_BYTES = 64 << 20  # 64 MiB of an image that is opened
_MIN_SHARE = 0.1  # of the boxes that tell what the numbers are; a few may be errors


def fitting_format(
    url: str, root: Folder, paths: PathRule, kind: JsonFormat, images: Sequence[ImageRecord]
) -> JsonFormat:
    """Return the format with the parser that the first boxes fit.

    Many boxes are narrower than they are far from the left: as corners, these would be exchanged. As sizes, many boxes
    of corners would reach beyond their images.
    """
    boxes = [(image, one["bbox"]) for image in images if image.size != (0, 0) for one in image.objects]
    numbers = [side for _, box in boxes for side in box]
    if len(boxes) >= _MIN_BOXES and max(numbers) <= 1 and any(side % 1 for side in numbers):
        msg = (
            f"{url}: all boxes lie between 0 and 1, so they are fractions of the sides; multiply x and width by "
            f"the image's width, y and height by its height: boxes of {kind.title} are in pixels"
        )
        raise DataError(msg)
    if kind.parse_corners is None or not boxes:
        return kind
    are_sizes = _are_many(ymax - ymin <= ymin or xmax - xmin <= xmin for _, (ymin, xmin, ymax, xmax) in boxes)
    if not _are_many(_beyond(root, paths, [image for image in images if image.objects])):
        return kind
    if are_sizes:
        msg = (
            f"{url}: boxes reach beyond their images if they are x, y, width, height, and have no area if they are "
            "xmin, ymin, xmax, ymax; correct them: shardkit reads x, y, width, height in pixels"
        )
        raise DataError(msg)
    remark = "as xmin, ymin, xmax, ymax, because as x, y, width, height many would reach beyond their images"
    return replace(kind, parse=kind.parse_corners, remark=remark)


def _are_many(found: Iterable[bool]) -> bool:
    values = list(found)
    return sum(values) >= max(1, _MIN_SHARE * len(values))


def _beyond(root: Folder, paths: PathRule, images: Sequence[ImageRecord]) -> Iterator[bool]:
    """Yield whether each box of a few images reaches beyond its image, by more than a pixel."""
    step = max(1, len(images) // _NUM_SAMPLED)
    for image in images[::step][:_NUM_SAMPLED]:
        with contextlib.suppress(BadRecord, BadImage, DataError):  # listing says what is wrong with it
            width, height = upright_size(inspect(read_sample(root, paths.key(image.image), _MAX_BYTES) or b""))
            for one in image.objects:
                _, _, ymax, xmax = one["bbox"]
                yield xmax > width + 1 or ymax > height + 1
