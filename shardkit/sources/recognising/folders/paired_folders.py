"""Two folders that show the same: photographs and their depth, or the same pictures in two sizes."""

import itertools
import posixpath
import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardkit.images import BadImage
from shardkit.images.pillow import decoding, detect_format, open_image
from shardkit.sources.mask_pixels import images_below
from shardkit.sources.walking import read_sample
from shardkit.storage import Folder

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

_NUM_NAMES = 100  # of each folder that are compared
_MIN_SHARE = 0.9  # of the names that are in both
_NUM_SAMPLED = 3  # pairs of images that are compared
_MAX_BYTES = 64 << 20  # of an image that is looked at
_SIDE = 8  # of the thumbnails that are compared, pixels
_ALIKE = 0.9  # correlation of two thumbnails
# 0001x4.png, 0001_depth.png
_SUFFIX = re.compile(r"(?<=[0-9])(?:x[0-9]|[_-][a-z]+)\Z", re.IGNORECASE)


def are_paired(folder: Folder, names: list[str]) -> bool:
    """Return whether two folders hold images of the same names that show the same, so that they are no classes."""
    if len(names) != 2:
        return False
    here, there = (
        {_plain(path, name): path for path in itertools.islice(images_below(folder, name), _NUM_NAMES)}
        for name in names
    )
    common = sorted(here.keys() & there.keys())
    if len(common) < _NUM_SAMPLED or len(common) < _MIN_SHARE * max(len(here), len(there)):
        return False
    return all(show_the_same(folder, here[name], there[name]) for name in common[:_NUM_SAMPLED])


def _plain(path: str, above: str) -> str:
    return _SUFFIX.sub("", posixpath.splitext(path[len(above) + 1 :])[0])


def show_the_same(folder: Folder, first: str, second: str) -> bool:
    """Return whether two images of different sizes or depths show the same, judging by thumbnails."""
    one, other = _header(folder, first), _header(folder, second)
    if one is None or other is None or one == other:
        return False  # photographs of one camera differ in what they show
    if one[0] != other[0]:
        return True
    return look_alike(folder, first, second)


def look_alike(folder: Folder, first: str, second: str) -> bool:
    """Return whether two images show the same, judging by thumbnails in grey."""
    small = [_thumbnail(folder, path) for path in (first, second)]
    if small[0] is None or small[1] is None or small[0].std() == 0 or small[1].std() == 0:
        return False
    return float(np.corrcoef(small[0], small[1])[0, 1]) > _ALIKE


def _header(folder: Folder, path: str) -> tuple[bool, tuple[int, int]] | None:
    """Return whether an image has more than 8 bits, and its width and height; None if it is damaged."""
    image = _opened(read_sample(folder, path, _MAX_BYTES))
    return None if image is None else (image.mode.startswith(("I", "F")), image.size)


def _thumbnail(folder: Folder, path: str) -> "npt.NDArray[np.float64] | None":
    """Return a few grey values of an image; None if it is damaged."""
    try:
        data = read_sample(folder, path, _MAX_BYTES)
        if (image := _opened(data)) is None:
            return None
        with decoding("image", data or b""):
            return np.asarray(image.convert("L").resize((_SIDE, _SIDE)), np.float64).ravel()
    except BadImage:
        return None


def _opened(data: bytes | None) -> "ImageFile | None":
    try:
        kind = detect_format(data) if data else None
        return open_image(data, kind) if data and kind else None
    except BadImage:
        return None
