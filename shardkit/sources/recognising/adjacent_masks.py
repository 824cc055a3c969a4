"""Detect masks in the same folder as their images, such as ``1.png`` next to ``1_mask.png``."""

import posixpath
import re
from collections.abc import Sequence

_MASK = re.compile(r"(?P<image>.+)(?P<suffix>[_-](?:masks?|seg(?:mentation)?|gt|labels?))(?:_[0-9]+)?", re.IGNORECASE)
_IMAGE_SUFFIXES = ("", "_sat", "_image", "_img", "_rgb")
_MIN_SHARE = 1 / 4  # masks among all images of a folder; their images are as many


def adjacent_masks(names: Sequence[str]) -> tuple[str, str] | None:
    """Return a mask among the images of a folder, and a glob for all of its kind; None if there are too few.

    Args:
        names: Names of the images of one folder.
    """
    stems = {posixpath.splitext(name)[0] for name in names}
    found = []
    for name in names:
        mask = _MASK.fullmatch(posixpath.splitext(name)[0])
        if mask and any(mask["image"] + suffix in stems for suffix in _IMAGE_SUFFIXES):
            found.append((name, f"*{mask['suffix']}*"))
    return found[0] if found and len(found) >= _MIN_SHARE * len(names) else None
