"""Check what the four numbers of a file's boxes are: no format says so in the file.

Boxes that are taken for something else still have an area in most images, and a model would train on them.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from shardkit.errors import DataError
from shardkit.images import BadImage, inspect
from shardkit.images.boxes import upright_size
from shardkit.sources.engine.annotations import AnnotationDriver, KeyOf
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.formats.format import ImageRecord
from shardkit.sources.formats.vendors.formats import JsonFormat
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import read_sample
from shardkit.storage import Folder

_MIN_BOXES = 4  # of which one larger than a pixel can be expected
_NUM_SAMPLED = 16  # images that are opened
_MAX_BYTES = 64 << 20  # 64 MiB of an image that is opened
AS_CORNERS = "as xmin, ymin, xmax, ymax, because as x, y, width, height many would reach beyond their images"
_MIN_SHARE = 0.1  # of the boxes that tell what the numbers are; a few may be errors


def are_corners(
    source: ReadingSource, driver: AnnotationDriver, kind: JsonFormat, images: Sequence[ImageRecord]
) -> bool:
    """Return whether the numbers of the first boxes are two corners, in a format whose boxes are a corner and a size.

    Many boxes are narrower than they are far from the left: as corners, these would be exchanged. As sizes, many boxes
    of corners would reach beyond their images.
    """
    url = f"{driver.tree.url}/{driver.files[0].path}"
    boxes = [(image, one["bbox"]) for image in images if image.size != (0, 0) for one in image.objects]
    numbers = [side for _, box in boxes for side in box]
    if len(boxes) >= _MIN_BOXES and max(numbers) <= 1 and any(side % 1 for side in numbers):
        msg = (
            f"{url}: all boxes lie between 0 and 1, so they are fractions of the sides; multiply x and width by "
            f"the image's width, y and height by its height: boxes of {kind.title} are in pixels"
        )
        raise DataError(msg)
    if kind.parse_corners is None or not boxes:
        return False
    are_sizes = _are_many(ymax - ymin <= ymin or xmax - xmin <= xmin for _, (ymin, xmin, ymax, xmax) in boxes)
    key_of = driver.files[0].key_of(source.folder, driver.images)
    if not _are_many(_beyond(source.folder, key_of, [image for image in images if image.objects])):
        return False
    if are_sizes:
        msg = (
            f"{url}: boxes reach beyond their images if they are x, y, width, height, and have no area if they are "
            "xmin, ymin, xmax, ymax; correct them: shardkit reads x, y, width, height in pixels"
        )
        raise DataError(msg)
    return True


def _are_many(found: Iterable[bool]) -> bool:
    values = list(found)
    return sum(values) >= max(1, _MIN_SHARE * len(values))


def _beyond(root: Folder, key_of: KeyOf, images: Sequence[ImageRecord]) -> Iterator[bool]:
    """Yield whether each box of a few images reaches beyond its image, by more than a pixel."""
    step = max(1, len(images) // _NUM_SAMPLED)
    for image in images[::step][:_NUM_SAMPLED]:
        with contextlib.suppress(BadRecord, BadImage, DataError):  # listing says what is wrong with it
            width, height = upright_size(inspect(read_sample(root, key_of(image.image), _MAX_BYTES) or b""))
            for one in image.objects:
                _, _, ymax, xmax = one["bbox"]
                yield xmax > width + 1 or ymax > height + 1
