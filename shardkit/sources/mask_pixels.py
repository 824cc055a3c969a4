"""Judge whether images are masks by the pixels of a few of them."""

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardkit.images import BadImage, check_mask
from shardkit.images.masks import BLACK_AND_WHITE
from shardkit.images.pillow import decoding, detect_format, open_image
from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.walking import children, ending, join, read_sample
from shardkit.storage import Folder

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

NUM_SAMPLED = 8  # images
_MAX_BYTES = 64 << 20  # of a file that is looked at
_MAX_COLOURS = 64  # of a mask; photographs have more
_MIN_PIXELS = 4  # for each colour, on average
_MAX_PIXELS = 1 << 18  # that colours are counted in
_MAX_DEPTH = 3  # levels of folders that are searched for files
_LARGE = frozenset({"L", "LA", "RGB", "RGBA", "I", "I;16"})  # modes in which white is the greatest number


def images_below(folder: Folder, path: str, depth: int = _MAX_DEPTH) -> Iterator[str]:
    """Yield the paths of images below a folder, a folder's own first."""
    inner = []
    for entry in children(folder, path):
        if entry.is_folder:
            inner.append(join(path, entry.name))
        elif ending(entry.name) in IMAGE_ENDINGS:
            yield join(path, entry.name)
    for below in inner if depth else ():
        yield from images_below(folder, below, depth - 1)


def are_masks(folder: Folder, paths: Iterable[str]) -> bool:
    """Return whether the first few of some images may be masks: of few colours, or black and white."""
    images = list(itertools.islice(paths, NUM_SAMPLED))
    return bool(images) and all(_is_mask(_read(folder, path)) for path in images)


def are_black_and_white(folder: Folder, paths: Iterable[str]) -> bool:
    """Return whether the first few of some masks have black pixels and white ones, and no others."""
    images = list(itertools.islice(paths, NUM_SAMPLED))
    found = [_last_of_two(_read(folder, path)) for path in images]
    return bool(found) and None not in found and 1 in found


def greatest_number(folder: Folder, paths: Iterable[str], colours: str) -> int:
    """Return the greatest class number in the first few of some masks; -1 if they have none. See `check_mask`."""
    found = -1
    for path in itertools.islice(paths, NUM_SAMPLED):
        with contextlib.suppress(BadImage):
            found = max(found, check_mask(_read(folder, path), colours).last_class)
    return found


def are_coloured(folder: Folder, paths: Iterable[str]) -> bool:
    """Return whether the first of some masks has pixels that are not grey."""
    data = _read(folder, next(iter(paths), ""))
    image = _opened(data)
    if image is None:
        return False
    try:
        with decoding("mask", data):
            pixels = np.asarray(image.convert("RGB"))
    except BadImage:
        return False
    return bool((pixels != pixels[..., :1]).any())


def _read(folder: Folder, path: str) -> bytes:
    return read_sample(folder, path, _MAX_BYTES) or b""


def _is_mask(data: bytes) -> bool:
    image = _opened(data)
    if image is None:
        return False
    if image.format == "JPEG":
        return _last_of_two(data) is not None
    sampled = _pixels(image, data)
    if sampled is None:
        return False
    return len(np.unique(sampled, axis=0)) <= min(_MAX_COLOURS, len(sampled) // _MIN_PIXELS)


def _pixels(image: "ImageFile", data: bytes) -> "npt.NDArray[np.generic] | None":
    """Return some pixels of an image, evenly spaced; None if it is damaged."""
    try:
        with decoding("mask", data):
            pixels = np.asarray(image if image.mode.startswith("I") else image.convert("RGBA"))
    except BadImage:
        return None
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / _MAX_PIXELS) ** 0.5))
    return pixels[::step, ::step].reshape(-1, *pixels.shape[2:])


def _last_of_two(data: bytes) -> int | None:
    """Return 1 if a mask has white pixels and otherwise black ones, 0 if all are black; None if there are others."""
    image = _opened(data)
    if image is None or (image.format != "GIF" and image.mode not in _LARGE):
        return None
    try:
        return check_mask(data, BLACK_AND_WHITE).last_class
    except BadImage:
        return None


def _opened(data: bytes) -> "ImageFile | None":
    try:
        kind = detect_format(data) if data else None
        return open_image(data, kind) if kind else None
    except BadImage:
        return None
