"""Tell what the annotations of a COCO file are: boxes, classes of whole images, captions or panoptic segments.

iNaturalist has COCO's format without boxes. Read as boxes, its images would all be background.
"""

import re
from enum import Enum

from shardkit.sources.json_stream import BLOCK
from shardkit.storage import Folder, os_errors_as

_ARRAY = re.compile(rb'"annotations"\s*:\s*\[')
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


def _first_annotations(folder: Folder, path: str) -> bytes | None:
    """Return the beginning of the list of annotations; None if the file has none."""
    with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
        rest = b""
        while block := file.read(BLOCK):
            text: bytes = rest + block
            if match := _ARRAY.search(text):
                found: bytes = text[match.end() :]
                if len(found) < _WINDOW:
                    found += file.read(_WINDOW)
                # Behind an empty list, the keys are those of other arrays.
                return b"" if found.lstrip().startswith(b"]") else found[:_WINDOW]
            rest = text[-_OVERLAP:]
    return None
