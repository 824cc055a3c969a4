"""Tell COCO files of boxes from others, and read those without boxes: each annotation is the class of a whole image.

iNaturalist has COCO's format without boxes. Read as boxes, its images would all be background.
"""

import contextlib
import json
import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, NoReturn

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.json_stream import BLOCK
from shardkit.sources.recognising.detection.coco.files import AnnotationFiles
from shardkit.sources.walking import read_head
from shardkit.storage import Entry, Folder, os_errors_as

Folders = dict[str, dict[str, Entry]]  # by path below the images' folder: files in it, by name
_ARRAY = re.compile(rb'"annotations"\s*:\s*\[')
_CATEGORIES = re.compile(r'"categories"\s*:\s*\[')
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[\s,]*")  # between annotations
_OVERLAP = 64  # bytes: more than _ARRAY matches
_WINDOW = 1 << 16  # 64 KiB of annotations that are searched
# Names that promise boxes, of COCO and of Roboflow; their files are not searched.
_OF_BOXES = ("instances_", "_annotations.coco.json")


class Kind(Enum):
    """What the annotations of a file are."""

    BOXES = "boxes"
    KEYPOINTS = "boxes with keypoints"
    CLASSES = "classes of whole images"
    CAPTIONS = "captions"
    PANOPTIC = "panoptic segments"
    NONE = "no annotations"


# The key in the first annotations that tells the kind, the most telling first.
_KEYS = (
    (b'"segments_info"', Kind.PANOPTIC),
    (b'"caption"', Kind.CAPTIONS),
    (b'"keypoints"', Kind.KEYPOINTS),
    (b'"bbox"', Kind.BOXES),
    (b'"segmentation"', Kind.BOXES),  # may be longer than the window, with the box after it
    (b'"category_id"', Kind.CLASSES),
)


def kind_of(folder: Folder, path: str) -> Kind:
    """Return what the annotations of a file are; BOXES for an empty list of annotations."""
    if path.rpartition("/")[2].startswith(_OF_BOXES):
        return Kind.BOXES
    found = _first_annotations(folder, path)
    if found is None:
        return Kind.NONE
    return next((kind for key, kind in _KEYS if key in found), Kind.BOXES)


def gives_several(folder: Folder, paths: Sequence[str]) -> bool:
    """Return whether an image has several classes, judging by the first 4 MiB of the annotations of each file."""
    for path in paths:
        text, at = (_first_annotations(folder, path, BLOCK) or b"").decode("utf-8", "replace"), 0
        classes: dict[Any, Any] = {}
        with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):  # the end is cut
            while True:
                one, at = _DECODER.raw_decode(text, _SPACE.match(text, at).end())  # type: ignore[union-attr]
                if classes.setdefault(one["image_id"], one["category_id"]) != one["category_id"]:
                    return True
    return False


def _first_annotations(folder: Folder, path: str, window: int = _WINDOW) -> bytes | None:
    """Return the beginning of the list of annotations; None if the file has none."""
    with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
        rest = b""
        while block := file.read(BLOCK):
            text: bytes = rest + block
            if match := _ARRAY.search(text):
                found: bytes = text[match.end() :]
                if len(found) < window:
                    found += file.read(window)
                # Behind an empty list, the keys are those of other arrays.
                return b"" if found.lstrip().startswith(b"]") else found[:window]
            rest = text[-_OVERLAP:]
    return None


def ids_disagree(folder: Folder, paths: Sequence[str]) -> bool:
    """Return whether files give a category id different names, judging by those that have them in their beginnings."""
    names: dict[Any, Any] = {}
    for path in paths if len(paths) > 1 else ():
        head = (read_head(folder, path) or b"").decode("utf-8", "replace")
        if match := _CATEGORIES.search(head):
            try:
                found, _ = _DECODER.raw_decode(head, match.end() - 1)
                ids = {one["id"]: one["name"] for one in found}
            except (ValueError, RecursionError, KeyError, TypeError):
                continue  # reading the file tells what is wrong
            if any(names.setdefault(number, name) != name for number, name in ids.items()):
                return True
    return False


def choose_kind(folder: Folder, found: AnnotationFiles) -> tuple[tuple[str, ...], bool, str]:
    """Return the files with classes, else with boxes; whether they have boxes; and what the user should know.

    There may be no such file.
    """
    kinds = {path: kind_of(folder, path) for path in found.paths}
    with_classes = tuple(path for path, kind in kinds.items() if kind is Kind.CLASSES)
    with_boxes = tuple(path for path, kind in kinds.items() if kind in {Kind.BOXES, Kind.KEYPOINTS})
    chosen = with_classes or with_boxes
    others = [*found.left_out, *(path for path in kinds if path not in chosen and path not in with_boxes)]
    remark = f"; left out {', '.join(map(printable, others))}, which are for other tasks" if others else ""
    if with_classes and with_boxes:
        remark += f"; left out {', '.join(map(printable, with_boxes))}: to read the boxes, give that file as SOURCE"
    if any(kinds[path] is Kind.KEYPOINTS for path in chosen):
        remark += "; note: boxes only, keypoints are left out"
    return chosen, not with_classes, remark


def refuse_kind(folder: Folder, path: str) -> NoReturn:
    """Refuse a file that has neither boxes nor classes."""
    msg = (
        f"{folder.url}/{path}: the file has {kind_of(folder, path).value}, and shardkit reads boxes and classes; give "
        "the folder or the file of object annotations as SOURCE, such as instances_train2017.json"
    )
    raise DataError(msg)
