"""Find the label files of YOLO's images: in ``labels`` for ``images`` in their path, or next to them."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shardkit.naming import relative_path_problem
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.name_index import written_path
from shardkit.sources.readings.values import Listed
from shardkit.sources.recognising.detection.found_files import FilesOfFolder
from shardkit.sources.recognising.detection.yolo.image_folders import IMAGES, YoloImages, is_class_file, label_folder
from shardkit.sources.walking import (
    children,
    file_or_folder,
    files_in,
    folders_in,
    is_folder,
    is_image,
    join,
    parent_of,
)
from shardkit.storage import Folder

_TRIED = 8  # lines of a list that are tried, because the first image may be missing
_MAX_PLACES = 16  # folders of listed images that are read each on its own


def label_files(folder: Folder, images: Sequence[YoloImages], base: str) -> tuple[list[FilesOfFolder], Listed | None]:
    """Return the label files of some images, and the lists that name images; None for none."""
    files = [one for some in images if not some.is_list for one in _of_folder(folder, some.path, some.split)]
    lists = [one for one in images if one.is_list]
    if not lists:
        return files, None
    starts = {one.path: _start_of(folder, one.path, (parent_of(one.path), base, "")) for one in lists}
    splits = {one.path: one.split or "train" for one in lists} | {one.glob: one.split or "" for one in files}
    strip = tuple(dict.fromkeys(f"{start.dropped}=" for start in starts.values() if start.dropped))
    prefixes = {path: start.prefix for path, start in starts.items()}
    first = prefixes[lists[0].path]
    bases = {path: prefix for path, prefix in prefixes.items() if prefix != first}
    covered = [one.images for one in files]
    places = {place for start in starts.values() for place in start.places}
    places = {place for place in places if not any(f"{place}/".startswith(f"{path}/") for path in covered)}
    if len(places) > _MAX_PLACES and not files:
        files = _of_folder(folder, posixpath.commonpath(sorted(places)), None)
    else:
        files += [FilesOfFolder(join(_labels_of(folder, place), "*.txt"), place) for place in sorted(places)]
    return files, Listed(splits, match="path", base=first, bases=bases, strip=strip)


def _of_folder(folder: Folder, path: str, split: str | None) -> list[FilesOfFolder]:
    """Return the label files of the images below a folder."""
    if label_folder(path) != path:
        labels = label_folder(path) if is_folder(folder, label_folder(path)) else path
        return [FilesOfFolder(join(labels, "**/*.txt"), path, split)]
    inner = [place for place in _folders_below(folder, path) if posixpath.basename(place) == IMAGES]
    if not inner:
        return [FilesOfFolder(join(path, "**/*.txt"), path, split)]
    outside = [place for place in [path, *_folders_below(folder, path)] if _is_outside(folder, place)]
    files = [one for place in inner for one in _of_folder(folder, place, split)]
    return files + [FilesOfFolder(join(place, "*.txt"), place, split) for place in outside]


def _folders_below(folder: Folder, path: str) -> Iterator[str]:
    """Yield the folders below a folder, but none in one called images."""
    for name in folders_in(folder, path):
        yield join(path, name)
        if name != IMAGES:
            yield from _folders_below(folder, join(path, name))


def _is_outside(folder: Folder, place: str) -> bool:
    """Return whether a folder that is not called images has images."""
    is_other = posixpath.basename(place) != IMAGES
    return is_other and any(is_image(one.name) for one in children(folder, place) if not one.is_folder)


def _labels_of(folder: Folder, place: str) -> str:
    labels = label_folder(place)
    return place if not _has_texts(folder, labels) and _has_texts(folder, place) else labels


def _has_texts(folder: Folder, place: str) -> bool:
    return any(not is_class_file(posixpath.basename(path)) for path in files_in(folder, place, ".txt"))


@dataclass(slots=True)
class _Start:
    """How the lines of a list lead to images: without what they begin with, below another folder."""

    dropped: str = ""
    prefix: str = ""
    places: set[str] = field(default_factory=set)


def _start_of(folder: Folder, path: str, bases: tuple[str, ...]) -> _Start:
    """Return how the lines of a list lead to images, and the folders of these.

    Lists often hold absolute paths of another machine, or paths that start at the trainer's folder.
    """
    lines = [written_path(one.values[0]) for one in read_fields(folder, path, "\n")]
    start = next(filter(None, (_start_of_line(folder, line, bases) for line in lines[:_TRIED])), _Start("", bases[0]))
    dropped = f"{start.dropped}/" if start.dropped else ""
    for line in lines:
        start.places.add(parent_of(posixpath.normpath(join(start.prefix, line.removeprefix(dropped)))))
    inside = (place for place in start.places if not place or relative_path_problem(place) is None)
    start.places = {place for place in inside if is_folder(folder, place)}
    return start


def _start_of_line(folder: Folder, line: str, bases: tuple[str, ...]) -> _Start | None:
    parts = [part for part in line.split("/") if part not in {"", "."}]
    for num_dropped in range(len(parts)) if ".." not in parts else ():
        kept = "/".join(parts[num_dropped:])
        for prefix in bases:
            if line.endswith(kept) and file_or_folder(folder, join(prefix, kept)) is not None:
                return _Start(line[: -len(kept)].rstrip("/"), prefix)
    return None
