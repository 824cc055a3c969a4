"""Which files of a folder are COCO's object annotations, which split each is, and where its images are."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.naming import split_of_folder
from shardkit.sources.detection.coco_columns import image_names
from shardkit.sources.options import SourceOptions
from shardkit.sources.walking import children, file_or_folder, folders_in, join, parent_of
from shardkit.storage import Folder, open_folder, os_errors_as

_HEAD = 1 << 16  # 64 KiB; the first of the arrays begins there, unless the file is none of COCO's
_ARRAYS = re.compile(rb'"(images|annotations|categories)"\s*:\s*\[')
_FEATURES_OF_OTHERS = re.compile(rb'"(format_version|shapes|_via_settings)"\s*:')  # our manifest, LabelMe, VIA
# COCO's files of other tasks over the same images.
_OTHER_TASKS = ("captions_", "image_info_", "panoptic_", "person_keypoints_", "stuff_")
_OF_SPLITS = ("_annotations.coco.json", "annotations.json", "labels.json")  # in a split's folder; the first: Roboflow
_TRIED_FILES = 4  # LabelMe has a JSON an image, and none of them is COCO's
_TRIED_IMAGES = 8  # one missing image is a problem of its own, and does not hide where the others are


@dataclass(frozen=True, slots=True)
class CocoFile:
    """One file of annotations.

    Attributes:
        path: below the folder of annotations.
        split: that its name or its folder's name tells; None for neither.
        images: path of the images' folder, below the folder of images.
        owns_images: whether no other file's images are in that folder, nor above or below it.
    """

    path: str
    split: str | None
    images: str
    owns_images: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Files of annotations, and what was left out.

    Attributes:
        paths: sorted.
        left_out: files of COCO's other tasks.
    """

    paths: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def is_coco(folder: Folder) -> bool:
    """Whether a folder holds files of object annotations: by names, and the head of the first candidate."""
    return bool(next(_candidates(folder), ([], []))[0])


def find_files(folder: Folder) -> Found:
    """The files of object annotations in a folder.

    Raises:
        DataError: there are none.
    """
    for paths, left_out in _candidates(folder):
        good = [path for path in paths if path == paths[0] or _looks_like_coco(folder, path)]
        return Found(tuple(good), tuple(left_out))
    msg = (
        f"{folder.url}: there is no file of COCO's object annotations; looked for annotations/*.json, "
        "<split>/_annotations.coco.json and *.json; give the file itself as SOURCE"
    )
    raise DataError(msg)


def _candidates(folder: Folder) -> Iterator[tuple[list[str], list[str]]]:
    """At most one pair of lists, of which the first file was looked into: annotations, other tasks' files."""
    names = folders_in(folder)
    in_splits = [
        join(folder_name, name)
        for folder_name in names
        if split_of_folder(folder_name)
        for name in _OF_SPLITS
        if file_or_folder(folder, join(folder_name, name)) is not None  # listing it would cost more: its images
    ]
    in_annotations = [path for name in names if name.lower() == "annotations" for path in _jsons(folder, name)]
    for paths in (in_annotations, in_splits, _jsons(folder, "")):
        left_out = [path for path in paths if path.rpartition("/")[2].startswith(_OTHER_TASKS)]
        rest = [path for path in paths if path not in left_out]
        instances = [path for path in rest if path.rpartition("/")[2].startswith("instances_")]
        if not instances:
            heads = (i for i, path in enumerate(rest[:_TRIED_FILES]) if _looks_like_coco(folder, path))
            rest = rest[next(heads, len(rest)) :]
        if instances or rest:
            yield instances or rest, left_out
            return


def _jsons(folder: Folder, path: str) -> list[str]:
    entries = children(folder, path)
    return [join(path, one.name) for one in entries if one.name.lower().endswith(".json") and not one.is_folder]


def _looks_like_coco(folder: Folder, path: str) -> bool:
    with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
        head: bytes = file.read(_HEAD)
    return bool(_ARRAYS.search(head)) and not _FEATURES_OF_OTHERS.search(head)


def split_tokens(name: str) -> list[tuple[str, str]]:
    """Parts of a file's or folder's name that stand for a split, and that split: (train2017, train)."""
    found = []
    for token in re.split(r"[^A-Za-z0-9]+", name):
        split = split_of_folder(token.rstrip("0123456789"))
        if split:
            found.append((token, split))
    return found


def split_of(path: str) -> str | None:
    """The split that a file's name tells, else its folder's."""
    for name in (posixpath.splitext(posixpath.basename(path))[0], posixpath.basename(parent_of(path))):
        if tokens := split_tokens(name):
            return tokens[0][1]
    return None


def place_images(
    folder: Folder, paths: Sequence[str], options: SourceOptions, *, may_leave: bool
) -> tuple[Folder, tuple[CocoFile, ...]]:
    """The folder that all images are below, and the files with their images' folders in it.

    Args:
        folder: of the files.
        paths: of the files.
        options: `root` is where images are.
        may_leave: whether images may be in the folder above: where SOURCE is the file.

    Raises:
        DataError: the images of a file are nowhere.
    """
    root, prefix = folder, ""
    if options.root is not None:
        root = open_folder(options.root)
    elif may_leave and (above := posixpath.dirname(folder.url)) and above[-1] not in "/:":
        root, prefix = open_folder(above), posixpath.basename(folder.url)
    places = [_images_of(folder, path, root, _tried(path, prefix, is_root=options.root is not None)) for path in paths]
    if prefix and all(place == prefix or place.startswith(f"{prefix}/") for place in places):
        root, places = folder, [place[len(prefix) + 1 :] for place in places]
    files = []
    for path, place in zip(paths, places, strict=True):
        is_shared = sum(is_within(place, other) or is_within(other, place) for other in places) > 1
        files.append(CocoFile(path, split_of(path), place, not is_shared))
    return root, tuple(files)


def _tried(path: str, prefix: str, *, is_root: bool) -> list[str]:
    """Folders below the root where a file's images may be, the likeliest first."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    own = "" if is_root else join(prefix, parent_of(path))
    above = parent_of(own)
    tokens = [token for token, _ in split_tokens(stem) or split_tokens(posixpath.basename(parent_of(path)))]
    tokens += [token.rstrip("0123456789") for token in tokens if token[-1].isdigit()]
    places = [own]
    for base in dict.fromkeys((above, own)):
        places += [join(base, *way) for token in tokens for way in ((token,), ("images", token))]
        places += [join(base, "images"), join(base, "data")]
    places += ["", *(join(base, stem) for base in dict.fromkeys((above, own)))]
    return list(dict.fromkeys(places))


def _images_of(folder: Folder, path: str, root: Folder, tried: Sequence[str]) -> str:
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) as file:
        names, problems = image_names(file, url, root.url, _TRIED_IMAGES)
    if not names and problems:
        msg = (
            f"{url}: none of its first images can be looked for: {problems[0][2]}, or give the folder that absolute "
            f"paths are below by --root; without it they are followed below {root.url}"
        )
        raise DataError(msg)
    if not names:
        msg = f"{url}: its `images` name no file; is it a file of COCO's object annotations?"
        raise DataError(msg)
    for place in tried:
        for name in names:
            found = file_or_folder(root, join(place, name))
            if found is not None and not found.is_folder:
                return place
    msg = (
        f"{url}: its first image {names[0]!r} is in none of {', '.join(join(root.url, place) for place in tried)}; "
        "give the folder of the images by --root"
    )
    raise DataError(msg)


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder, or in it or below."""
    return not folder or path == folder or path.startswith(f"{folder}/")
