"""COCO: a JSON file of images, categories and annotations, and folders of images next to it.

The split comes from the name of the file or of its folder: ``annotations/instances_train2017.json`` is ``train``.
Files without boxes, such as iNaturalist's, give the classes of whole images; read as boxes, all would be background.
"""

import contextlib
import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import IMAGE_ENDINGS, printable, split_of_folder
from shardkit.sources.engine.splits import split_of_path
from shardkit.sources.formats.coco.records import CATEGORY, COCO, PANOPTIC
from shardkit.sources.json_stream import BLOCK
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening
from shardkit.sources.recognising.detection.of_many_images import FoundFile, open_found_files
from shardkit.sources.walking import (
    HEAD_BYTES,
    ending,
    file_or_folder,
    files_in,
    folders_in,
    join,
    looks_like,
    read_head,
)
from shardkit.storage import Folder, os_errors_as

_IMAGES = rb'"images"\s*:\s*\['
_ARRAYS = rb'"(images|annotations|categories)"\s*:\s*\['
# Our manifest, LabelMe, VIA, Darwin, Datumaro.
_FEATURES_OF_OTHERS = rb'"(format_version|shapes|_via_settings|slots|label_id)"\s*:'
# COCO's files of other tasks over the same images.
_KEYPOINTS, _PANOPTIC = "person_keypoints_", "panoptic_"
_OTHER_TASKS = ("captions_", "image_info_", _PANOPTIC, _KEYPOINTS, "stuff_")
_OF_SPLITS = ("_annotations.coco.json", "annotations.json", "labels.json")  # in a split folder; the first: Roboflow
# Names that promise boxes, of COCO and of Roboflow; their files are not searched.
_OF_BOXES = ("instances_", "_annotations.coco.json")
_ANNOTATIONS = "annotations"
_MAX_FOLDERS = 8  # next to each other, whose files are listed
_TRIED_FILES = 4  # files that are tested: LabelMe has one JSON file per image, and none is COCO's
_ARRAY = re.compile(rb'"annotations"\s*:\s*\[')
_CATEGORIES = re.compile(r'"categories"\s*:\s*\[')
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[\s,]*")  # between annotations
_OVERLAP = 64  # bytes: more than _ARRAY matches
_WINDOW = 1 << 16  # 64 KiB of annotations that are searched


class _Kind(Enum):
    """What the annotations of a file are."""

    BOXES = "boxes"
    KEYPOINTS = "boxes with keypoints"
    CLASSES = "classes of whole images"
    CAPTIONS = "captions"
    PANOPTIC = "panoptic segments"
    NONE = "no annotations"


# The key in the first annotations that tells the kind, the most telling first.
_KEYS = (
    (b'"segments_info"', _Kind.PANOPTIC),
    (b'"caption"', _Kind.CAPTIONS),
    (b'"keypoints"', _Kind.KEYPOINTS),
    (b'"bbox"', _Kind.BOXES),
    (b'"segmentation"', _Kind.BOXES),  # may be longer than the window, with the box after it
    (b'"category_id"', _Kind.CLASSES),
)


def is_coco(folder: Folder) -> bool:
    """Return whether a folder has COCO annotations, judging by names and the start of the first candidate."""
    return bool(_candidates(folder)[0])


def _candidates(folder: Folder) -> tuple[list[str], list[str]]:
    """Return the paths of annotation files, the first one tested, and of other tasks' files; none if there are none."""
    names = folders_in(folder)
    in_splits = [
        join(folder_name, name)
        for folder_name in names
        if split_of_folder(folder_name)
        for name in _OF_SPLITS
        if file_or_folder(folder, join(folder_name, name)) is not None  # listing the folder would list its images
    ]
    places = [name for name in names if name.lower() == _ANNOTATIONS]
    in_annotations = [path for place in places for path in files_in(folder, place, ".json")]
    # Several exports next to each other, such as train/annotations/ and test/annotations/
    inner = [join(name, one) for name in names[:_MAX_FOLDERS] for one in folders_in(folder, name)]
    of_exports = [path for place in inner if _is_of_export(place) for path in files_in(folder, place, ".json")]
    in_top = files_in(folder, "", ".json")
    beside = [path for name in names if split_of_folder(name) for path in files_in(folder, name, ".json")]
    for paths in (in_annotations, in_splits, in_top, _in_only_folder(folder, names), of_exports, beside):
        left_out = [path for path in paths if posixpath.basename(path).startswith(_OTHER_TASKS)]
        rest = [path for path in paths if path not in left_out]
        for kind in (_KEYPOINTS, _PANOPTIC):  # their boxes, or their masks, are better than nothing
            rest = rest or [path for path in left_out if posixpath.basename(path).startswith(kind)]
        instances = [path for path in rest if posixpath.basename(path).startswith("instances_")]
        if not instances:
            heads = (i for i, path in enumerate(rest[:_TRIED_FILES]) if _looks_like_coco(folder, path))
            rest = rest[next(heads, len(rest)) :]
        if instances or rest:
            return instances or rest, [path for path in left_out if path not in rest]
    return [], []


def _is_of_export(path: str) -> bool:
    return posixpath.basename(path).lower() == _ANNOTATIONS


def _in_only_folder(folder: Folder, names: Sequence[str]) -> list[str]:
    """Return the files of the only folder that has some and no images, such as lvis/ next to coco/ with the images."""
    found = []
    for name in names if len(names) <= _MAX_FOLDERS else ():
        endings = {ending(path) for path in files_in(folder, name, ".json", *IMAGE_ENDINGS)}
        if endings == {".json"}:
            found.append(name)
    return files_in(folder, found[0], ".json") if len(found) == 1 else []


def _looks_like_coco(folder: Folder, path: str) -> bool:
    head = read_head(folder, path)
    if head is None:
        return True  # reading a special file names it
    if len(head) < HEAD_BYTES and not looks_like(head, _IMAGES):
        return False
    # Label Studio's exports are lists.
    return looks_like(head, _ARRAYS, start=b"{") and not looks_like(head, _FEATURES_OF_OTHERS)


def open_coco(opening: Opening) -> Source:
    """Find the annotation files and their images, which may be in the folder above a file that is the source.

    Of files with classes and others with boxes, those with classes are read.
    """
    folder, file = opening.folder, opening.file
    paths, left_out = _candidates(folder) if file is None else ([file], [])
    if not paths:
        msg = (
            f"{folder.url}: there is no file of COCO's object annotations; searched for annotations/*.json, "
            "<split>/_annotations.coco.json and *.json; give the file itself as SOURCE"
        )
        raise DataError(msg)
    kinds = {path: _kind_of(folder, path) for path in paths if path == paths[0] or _looks_like_coco(folder, path)}
    boxes, classes, masks = (
        [path for path, kind in kinds.items() if kind in wanted]
        for wanted in ({_Kind.BOXES, _Kind.KEYPOINTS}, {_Kind.CLASSES}, {_Kind.PANOPTIC})
    )
    chosen = classes or boxes or masks or [*kinds]
    files = [FoundFile(path, split_of_path(path)) for path in chosen]
    with_boxes, without, with_masks = LAYOUTS["coco"].titles
    if not (classes or boxes or masks):
        open_found_files(opening, COCO.name, with_boxes, files, {})  # what is wrong with a damaged file says more
        msg = (
            f"{folder.url}/{paths[0]}: the file has {kinds[paths[0]].value}, and shardkit reads boxes and classes; "
            "give the folder or the file of object annotations as SOURCE, such as instances_train2017.json"
        )
        raise DataError(msg)
    if chosen == masks:
        return open_found_files(opening, PANOPTIC.name, with_masks, files, {})
    others = [*left_out, *(path for path in kinds if path not in chosen and path not in boxes)]
    remark = f"; left out {', '.join(map(printable, others))}, which are for other tasks" if others else ""
    if classes and boxes:
        remark += f"; left out {', '.join(map(printable, boxes))}: to read the boxes, give that file as SOURCE"
    if any(kinds[path] is _Kind.KEYPOINTS for path in chosen):
        remark += "; note: boxes only, keypoints are left out"
    settings = {"boxes": "none"} if classes else {}
    if _ids_disagree(folder, chosen):
        settings["classes"] = "names"
        remark += "; note: the files have different category ids, and classes are those of the same name"
    has_several = bool(classes) and _gives_several(folder, chosen)
    remark += "; images may have several classes" if has_several else ""
    if classes:
        files = [replace(file, attribute=CATEGORY, has_several=has_several) for file in files]
    return open_found_files(opening, COCO.name, without if classes else with_boxes, files, settings, remark)


def _kind_of(folder: Folder, path: str) -> _Kind:
    """Return what the annotations of a file are; BOXES for an empty list of annotations."""
    if posixpath.basename(path).startswith(_OF_BOXES):
        return _Kind.BOXES
    found = _first_annotations(folder, path)
    if found is None:
        return _Kind.NONE
    return next((kind for key, kind in _KEYS if key in found), _Kind.BOXES)


def _gives_several(folder: Folder, paths: Sequence[str]) -> bool:
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


def _ids_disagree(folder: Folder, paths: Sequence[str]) -> bool:
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
