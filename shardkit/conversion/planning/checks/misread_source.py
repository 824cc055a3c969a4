"""Find class names that show that the source was misread.

The class names are known from the listing, so a misread source is refused before hours of decoding. A user who chooses
the reading (`is_explicit`) overrules the check.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import Any

from shardkit.conversion.planning.checks.finding import Finding, some
from shardkit.layouts import DATASET_LAYOUT, EXTRACTED_LAYOUT, layout_of_title
from shardkit.naming import split_of_folder
from shardkit.options.call import Change

_WORDS = re.compile(r"[^\W\d_]+")
# Words for images that are predicted or held out, next to those for splits.
_LIKE_SPLITS = {"predict", "prediction", "predictions", "pred", "holdout", "unlabeled", "unlabelled", "submission"}
_FILLERS = {"data", "dataset", "folder", "image", "images", "img", "imgs", "part", "photos", "pics", "set", "split"}
# The start of a file's name that may be its label: letters before the first digit or separator.
_NAME_START = re.compile(r"([^\W\d_]{2,})[ ._-]*\d")
_CAMERA_WORDS = {"dsc", "dscn", "frame", "image", "images", "img", "mvimg", "photo", "pic", "picture", "pxl", "scan"}
_CERTAIN = (
    DATASET_LAYOUT,
    EXTRACTED_LAYOUT,
)  # layouts whose classes were confirmed when the first source was converted


def find_wrong_reading(
    classes: Sequence[str], *, layout: str, splits: Sequence[str], example: str, is_explicit: bool
) -> Finding | None:
    """Return the finding that the classes cannot be right, or None.

    `example` is the key of an image; empty if there is none.
    """
    if is_explicit or not classes or layout in _CERTAIN:
        return None
    if all(map(names_split, classes)):
        return Finding(
            "classes_are_splits",
            "stops",
            f"all class names look like split names: {some(classes)}",
            remedy="give the folder that contains the class folders as SOURCE",
            changes=_other_readings("each of them is a class", layout, splits, example),
        )
    if len(classes) == 1:
        return Finding(
            "one_class",
            "stops",
            f"only one class was found: {classes[0]!r}; a classifier needs at least two",
            changes=_other_readings(f"{classes[0]!r} is the only class", layout, splits, example),
        )
    return None


def names_split(name: str) -> bool:
    """Return whether a name is a split's, such as ``Train_set``, ``test1`` or ``validation images``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    found = [word in _LIKE_SPLITS or split_of_folder(word) is not None for word in words]
    return any(found) and all(ok or word in _FILLERS for ok, word in zip(found, words, strict=True))


def _other_readings(meaning: str, layout: str, splits: Sequence[str], example: str) -> tuple[Change, ...]:
    """Return the changes to other readings, and of this one for users who mean it."""
    folders, file_name = posixpath.split(example)
    changes = []
    if layout.endswith("class folders"):
        inner = folders.split("/")
        if not splits and len(inner) > 1:
            changes.append(Change(f"the folders in {inner[0]!r} are the classes", inside=inner[0]))
        start = _NAME_START.match(file_name)
        if start and start[1].lower() not in _CAMERA_WORDS:
            pattern = {"label_pattern": r"^([^\W\d_]+)"}
            changes.append(Change(f"the file's name has the label, such as {start[1]!r}", pattern))
    if layout.startswith("table"):
        changes.append(Change("another column has the labels", {"label_columns": ("NAME",)}))
    option = layout_of_title(layout)
    confirmed: dict[str, Any] = {"classes": "FILE"} if option is None else {"layout": option}
    return (*changes, Change(meaning, confirmed))
