"""Detect annotated images in a tree that would be read as class folders, and masks among images.

Without this check, masks of a layout that shardkit does not support would become images of the classes ``images`` and
``masks``, and a model would train on them without an error. The check looks at folder names, and at label files next to
images. It looks in the top folders, which are listed anyway, and in the first folder that has images, so it costs a few
listings however large the source is.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS, printable, split_of_folder
from shardkit.sources.file_names import ending
from shardkit.sources.recognising.folders.first_images import holds_image
from shardkit.sources.walking import children, join, parent_of
from shardkit.storage import Folder

_OF_IMAGES = re.compile(r"images?(?:_png|_jpe?g)?|imgs?|jpe?gimages|left_?img_?8bit", re.IGNORECASE)
_OF_ANNOTATIONS = re.compile(
    r"(?:.*[_-])?(?:masks(?:_png)?|annotations?|labels|gt|ground[_-]?truths?|segmentations|bboxes|trimaps|xmls)"
    r"|(?:train|valid|val|test)(?:annot|gt|labels|masks)"
    r"|gt[_-].*|segmentation(?:class|object)|imagesets|gt(?:Fine|Coarse)|label",
    re.IGNORECASE,
)
# A class may be called "labels": the name of one folder among many is no sign.
_MIN_SHARE_OF_FOLDERS = 1 / 3
_LABEL_FILES = frozenset({".json", ".txt", ".xml"})
_MIN_SHARE_OF_IMAGES = 1 / 2  # images in a folder that have a label file next to them
_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
_ROBOFLOW_BOXES = ("_annotations.csv", "_annotations.txt")
_MAX_DEPTH = 3  # levels below a label folder that are searched for the first image
_SHOWN = 4  # folders named in a message
_MASK = re.compile(r"(?P<image>.+)(?P<suffix>[_-](?:masks?|seg(?:mentation)?|gt|labels?))(?:_[0-9]+)?", re.IGNORECASE)
_IMAGE_SUFFIXES = ("", "_sat", "_image", "_img", "_rgb")
_MIN_SHARE = 1 / 4  # masks among all images of a folder; their images are as many


@dataclass(frozen=True, slots=True)
class Sign:
    """What in a tree looks like annotations.

    Attributes:
        what: A phrase for a message.
        holds_labels: Whether a folder of annotations has files and no image: to read folders as classes loses them.
        folders: Paths of the folders of annotations.
    """

    what: str
    holds_labels: bool = False
    folders: tuple[str, ...] = ()


def find_annotated_data(folder: Folder, labels: Sequence[tuple[str, Sequence[str]]]) -> Sign | None:
    """Return what in a tree looks like annotations; None if nothing does."""
    for path, names in labels:
        hits = [name for name in names if _OF_IMAGES.fullmatch(name) or _OF_ANNOTATIONS.fullmatch(name)]
        if hits and len(hits) >= _MIN_SHARE_OF_FOLDERS * len(names):
            what = f"{_folders(path, hits)}, which would be {'classes' if len(hits) > 1 else 'a class'}"
            return _sign(what, folder, path, hits)
    for path, names in labels:
        if names:
            return _sign_below(folder, join(path, names[0]), _MAX_DEPTH)
    return None


def _sign(what: str, folder: Folder, path: str, names: Sequence[str]) -> Sign:
    annotations = tuple(join(path, name) for name in names if _OF_ANNOTATIONS.fullmatch(name))
    return Sign(what, not all(holds_image(folder, one) for one in annotations), annotations)


def says_annotations(name: str, above: str) -> bool:
    """Return whether a folder's name is that of annotations: ``masks/``, or ``Trout GT/`` in ``Trout/``."""
    return _OF_ANNOTATIONS.fullmatch(name.removeprefix(above).lstrip(" _-") or name) is not None


def _sign_below(folder: Folder, path: str, depth: int) -> Sign | None:
    entries = children(folder, path)
    inner = [entry.name for entry in entries if entry.is_folder]
    files = [entry.name for entry in entries if not entry.is_folder]
    # The images of a label may be in cat/images/; annotations next to them are not of a class.
    hits = [name for name in inner if says_annotations(name, posixpath.basename(path))]
    if hits and len(hits) >= _MIN_SHARE_OF_FOLDERS * len(inner):
        return _sign(_folders(path, hits), folder, path, hits)
    if table := next((name for name in files if name.lower() in _METADATA), None):
        source = parent_of(path) if split_of_folder(posixpath.basename(path)) else path
        return Sign(f"{table} in {printable(path)}/, which is read if {join(folder.url, printable(source))} is SOURCE")
    if table := next((name for name in files if name.lower() in _ROBOFLOW_BOXES), None):
        return Sign(f"{table} in {printable(path)}/, a table of boxes")
    images = {posixpath.splitext(name)[0] for name in files if ending(name) in IMAGE_ENDINGS}
    partners = [name for name in files if ending(name) in _LABEL_FILES and posixpath.splitext(name)[0] in images]
    if partners and len(partners) >= _MIN_SHARE_OF_IMAGES * len(images):
        files_of = f"files such as {printable(partners[0])}" if len(partners) > 1 else printable(partners[0])
        return Sign(f"{files_of} next to the images of the same names in {printable(path)}/")
    if images or not inner or not depth:
        return None
    return _sign_below(folder, join(path, inner[0]), depth - 1)


def _folders(path: str, names: Sequence[str]) -> str:
    shown = " and ".join(f"{printable(name)}/" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{'folders' if len(names) > 1 else 'a folder'} {shown}{more}" + (f" in {printable(path)}/" if path else "")


def adjacent_masks(names: Sequence[str]) -> tuple[str, str] | None:
    """Return a mask among the images of a folder, and a glob for all of its kind; None if there are too few."""
    stems = {posixpath.splitext(name)[0] for name in names}
    found = []
    for name in names:
        mask = _MASK.fullmatch(posixpath.splitext(name)[0])
        if mask and any(mask["image"] + suffix in stems for suffix in _IMAGE_SUFFIXES):
            found.append((name, f"*{mask['suffix']}*"))
    return found[0] if found and len(found) >= _MIN_SHARE * len(names) else None
