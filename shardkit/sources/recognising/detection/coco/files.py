"""Find COCO's annotation files in a folder, the split of each, and the folder of its images."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.options.words import named
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.engine.split_words import split_of_name
from shardkit.sources.file_names import ending
from shardkit.sources.formats.coco.columns import CocoColumns
from shardkit.sources.json_stream import array_items
from shardkit.sources.name_index import NameIndex, agreeing_most, written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.detection.found_files import FoundFile
from shardkit.sources.recognising.detection.image_paths import nearby_places, paths_by_names, places_of, split_of
from shardkit.sources.walking import (
    HEAD_BYTES,
    file_or_folder,
    files_in,
    folders_in,
    is_within,
    join,
    looks_like,
    read_head,
)
from shardkit.storage import Folder, open_folder, os_errors_as

_IMAGES = rb'"images"\s*:\s*\['
_ARRAYS = rb'"(images|annotations|categories)"\s*:\s*\['
# Our manifest, LabelMe, VIA, Darwin, Datumaro.
_FEATURES_OF_OTHERS = rb'"(format_version|shapes|_via_settings|slots|label_id)"\s*:'
# COCO's files of other tasks over the same images.
_KEYPOINTS, _PANOPTIC = "person_keypoints_", "panoptic_"
_OTHER_TASKS = ("captions_", "image_info_", _PANOPTIC, _KEYPOINTS, "stuff_")
_OF_SPLITS = ("_annotations.coco.json", "annotations.json", "labels.json")  # in a split folder; the first: Roboflow
_WITH_FOLDER = 2  # parts of a path: a folder and the name
_MAX_FOLDERS = 8  # next to each other, whose files are listed
_TRIED_FILES = 4  # files that are tested: LabelMe has one JSON file per image, and none is COCO's
_TRIED_IMAGES = 8  # images that are looked up, because the first may be missing


@dataclass(frozen=True, slots=True)
class AnnotationFiles:
    """The annotation files of a folder.

    Attributes:
        paths: Paths, sorted.
        left_out: Paths of files for COCO's other tasks.
    """

    paths: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def is_coco(folder: Folder) -> bool:
    """Return whether a folder has COCO annotations, judging by names and the start of the first candidate."""
    return bool(next(_candidates(folder), ([], []))[0])


def find_annotation_files(folder: Folder) -> AnnotationFiles:
    """Find the files of object annotations in a folder."""
    for paths, left_out in _candidates(folder):
        good = [path for path in paths if path == paths[0] or _looks_like_coco(folder, path)]
        return AnnotationFiles(tuple(good), tuple(left_out))
    msg = (
        f"{folder.url}: there is no file of COCO's object annotations; searched for annotations/*.json, "
        "<split>/_annotations.coco.json and *.json; give the file itself as SOURCE"
    )
    raise DataError(msg)


def _candidates(folder: Folder) -> Iterator[tuple[list[str], list[str]]]:
    """Yield at most one pair of lists: paths of annotation files, the first one tested, and of other tasks' files."""
    names = folders_in(folder)
    in_splits = [
        join(folder_name, name)
        for folder_name in names
        if split_of_folder(folder_name)
        for name in _OF_SPLITS
        if file_or_folder(folder, join(folder_name, name)) is not None  # listing the folder would list its images
    ]
    in_annotations = [
        path for name in names if name.lower() == "annotations" for path in files_in(folder, name, ".json")
    ]
    for paths in (in_annotations, in_splits, files_in(folder, "", ".json"), _in_only_folder(folder, names)):
        left_out = [path for path in paths if path.rpartition("/")[2].startswith(_OTHER_TASKS)]
        rest = [path for path in paths if path not in left_out]
        for kind in (_KEYPOINTS, _PANOPTIC):  # their boxes, or their masks, are better than nothing
            rest = rest or [path for path in left_out if path.rpartition("/")[2].startswith(kind)]
        left_out = [path for path in left_out if path not in rest]
        instances = [path for path in rest if path.rpartition("/")[2].startswith("instances_")]
        if not instances:
            heads = (i for i, path in enumerate(rest[:_TRIED_FILES]) if _looks_like_coco(folder, path))
            rest = rest[next(heads, len(rest)) :]
        if instances or rest:
            yield instances or rest, left_out
            return


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


def find_image_folders(
    folder: Folder, paths: Sequence[str], options: SourceOptions, *, may_leave: bool
) -> tuple[Folder, tuple[FoundFile, ...]]:
    """Return the folder that all image paths start at, and the files with their images' folders."""
    root, prefix = folder, ""
    if options.root is not None:
        root = open_folder(options.root)
    elif may_leave and (above := posixpath.dirname(folder.url)) and above[-1] not in "/:":
        root, prefix = open_folder(above), posixpath.basename(folder.url)
    is_root = options.root is not None
    found = [_images_of(folder, path, root, prefix, is_root=is_root) for path in paths]
    if prefix and all(is_within(one.paths.place, prefix) for one in found):
        below = (replace(one.paths, place=one.paths.place[len(prefix) + 1 :]) for one in found)
        return folder, tuple(replace(one, paths=paths) for one, paths in zip(found, below, strict=True))
    return root, tuple(found)


def _images_of(folder: Folder, path: str, root: Folder, prefix: str, *, is_root: bool) -> FoundFile:
    """Return how the paths of a file lead to its images."""
    url, tried, split = f"{folder.url}/{path}", places_of(path, prefix, is_root=is_root), split_of(path)
    with os_errors_as("read", url), folder.open(path) as file:
        columns = image_columns(file, url, root.url, _TRIED_IMAGES)
    names, problems = list(filter(None, columns.image_names)), columns.problems
    if not names and problems:
        msg = (
            f"{url}: none of its first images can be looked up: {problems[0].message}, or give the folder that "
            f"absolute paths start at with {named('root')}; without it they must be below {root.url}"
        )
        raise DataError(msg)
    if not names:
        msg = f"{url}: its `images` name no file; is it a file of COCO's object annotations?"
        raise DataError(msg)
    place = next((place for place in tried if _has_one(root, place, names)), None)
    if place is None:
        place = _elsewhere(root, tried, join(prefix, path), names)
    if place is not None:
        return FoundFile(path, PathRule(place), split)
    if (moved := next(filter(None, (_moved(NameIndex(root), name, split) for name in names)), None)) is not None:
        return FoundFile(path, moved, split, "end")
    msg = (
        f"{url}: its first image {names[0]!r} is in none of {', '.join(join(root.url, place) for place in tried)}; "
        f"give the folder of the images with {named('root')}"
    )
    raise DataError(msg)


def _moved(index: NameIndex, name: str, split: str | None) -> PathRule | None:
    """Return how a path leads to the one image with the same name and last folder; None if none, or several, may be it.

    The first folders of the path are not here: ``images/v1/patch8/1.jpg`` is ``train/patch8/1.jpg``, of a file of that
    split.
    """
    found = []
    for path in index.find_all(name):
        _, num_parts = agreeing_most([path], written_path(name))
        others = path.split("/")[:-num_parts]
        splits = [(at, one) for at, folder in enumerate(others) if (one := split_of_folder(folder))]
        if (num_parts >= _WITH_FOLDER or "/" not in name) and (not split or not splits or splits[-1][1] == split):
            place = "/".join(others[splits[-1][0] :]) if split and splits else ""
            found.append(PathRule(place, len(written_path(name).strip("/").split("/")) - num_parts))
    return found[0] if len(found) == 1 else None


def image_columns(file: BinaryIO, url: str, root_url: str, count: int | None = None) -> CocoColumns:
    """Return the images of a file without its annotations; `count` limits how many records are read."""
    columns = CocoColumns(url, root_url)
    for line, (_, record) in enumerate(array_items(file, url, {"images"}), 1):
        columns.add_image(record, line)
        if line == count:
            break
    return columns


def _has_one(root: Folder, place: str, names: Sequence[str]) -> bool:
    found = (file_or_folder(root, join(place, name)) for name in names)
    return any(one is not None and not one.is_folder for one in found)


def _elsewhere(root: Folder, tried: Sequence[str], path: str, names: Sequence[str]) -> str | None:
    """Return the folder of a file's images if its name is not a usual one; None if none, or more than one, may be it.

    It is near the file, as train_images/ is near train_metadata.json, or it is the one that has all images of these
    names.
    """
    near = [place for place in nearby_places(root, path) if place not in tried and _has_one(root, place, names)]
    of_split = [place for place in near if split_of_name(posixpath.basename(place)) == split_of(path)]
    if len(near) == 1 or len(of_split) == 1:
        return (near if len(near) == 1 else of_split)[0]
    plain = [name for name in names if "/" not in name]
    found = paths_by_names(NameIndex(root), plain) if plain and not near else None
    return None if found is None or found.by_name else found.place
