"""List the images of a YOLO split, and find the label file of each."""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shardkit.naming import IMAGE_ENDINGS, printable, relative_path_problem
from shardkit.reject_reasons import BAD_NAME, MISSING
from shardkit.sources.detection.paired_files import GroupFiles
from shardkit.sources.detection.yolo.image_folders import YoloImages, is_class_file, label_folder
from shardkit.sources.listing import RecordProblem, count_skipped, encodable_path, ending
from shardkit.sources.walking import children, file_or_folder, files_below, is_folder, join, parent_of
from shardkit.storage import Entry, Folder, os_errors_as

_FOLDERS_SHOWN = 4  # folders in a message
_TRIED = 8  # lines of a list that are tried, because the first image may be missing


@dataclass(slots=True)
class LabelFiles:
    """Finds label files by the image's path, in any case of their ending; lists each folder once."""

    folder: Folder
    _listed: dict[str, dict[str, Entry]] = field(default_factory=dict)

    def find(self, image: str) -> tuple[str, Entry | None]:
        """Return path and entry of an image's label file: in labels/, or next to the image if there is no labels/."""
        place, stem = parent_of(image), posixpath.splitext(posixpath.basename(image))[0]
        labels = label_folder(place)
        if labels != place and not self._in(labels):
            labels = place
        found = self._in(labels).get(stem)
        return join(labels, found.name if found else f"{stem}.txt"), found

    def _in(self, path: str) -> dict[str, Entry]:
        if path not in self._listed:
            entries = children(self.folder, path)
            # "1.TXT" sorts before "1.txt", so that the second counts if both exist.
            self._listed[path] = {
                posixpath.splitext(one.name)[0]: one
                for one in entries
                if ending(one.name) == ".txt" and not one.is_folder
            }
        return self._listed[path]


@dataclass(slots=True)
class YoloFiles(GroupFiles[YoloImages, tuple[str, Entry]]):
    """Images of a split, sorted or in their list's order; their labels; and the lines of the list without image.

    `same_stem` has the paths of images that differ only in their endings, by path without it: a label file of this stem
    may belong to any of them.
    """

    labels: LabelFiles = field(kw_only=True)
    problems: list[RecordProblem] = field(default_factory=list)
    same_stem: dict[str, list[str]] = field(default_factory=dict)

    def ambiguity(self, image: str, label: str) -> str | None:
        """Return why a label file cannot be given to an image; None if no other image has the same stem."""
        same = self.same_stem.get(posixpath.splitext(image)[0], ())
        if not same:
            return None
        names = " or ".join(repr(printable(posixpath.basename(one))) for one in same)
        return f"{printable(label)} may belong to {names}, which differ in their endings only; rename or remove one"


def scan_images(folder: Folder, images: YoloImages, base: str) -> YoloFiles:
    """Return the images of a split.

    Args:
        folder: The folder that all paths start at.
        images: The split.
        base: Path that the relative lines of a list start at, unless they start at the list's own folder.
    """
    files = YoloFiles(images, images.path, labels=LabelFiles(folder))
    if images.is_list:
        files.pairs = list(_in_list(folder, images.path, base, files.problems))
    else:
        files.pairs = list(_in_folder(folder, images.path, files.skipped))
    files.num_parsed = files.num_files = len(files.pairs)
    files.same_stem = _of_same_stem(path for path, _ in files.pairs)
    return files


def _of_same_stem(paths: Iterable[str]) -> dict[str, list[str]]:
    found = dict[str, list[str]]()
    for path in dict.fromkeys(paths):
        found.setdefault(posixpath.splitext(path)[0], []).append(path)
    return {stem: same for stem, same in found.items() if len(same) > 1}


def _in_folder(folder: Folder, path: str, skipped: dict[str, int]) -> Iterator[tuple[str, Entry]]:
    for below, entry in files_below(folder, path):
        kind = ending(entry.name)
        if kind in IMAGE_ENDINGS:
            yield below, entry
        elif kind != ".txt" and not is_class_file(entry.name):
            count_skipped(skipped, kind)


def _in_list(folder: Folder, path: str, base: str, problems: list[RecordProblem]) -> Iterator[tuple[str, Entry]]:
    with os_errors_as("read", folder.url_of(path)):
        text = folder.read(path).decode("utf-8-sig", "surrogateescape")
    lines = [(number, line.strip().replace("\\", "/")) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in lines if line]
    num_dropped, prefix = _start_of(folder, [line for _, line in lines[:_TRIED]], (parent_of(path), base, ""))
    entries = dict[str, dict[str, Entry]]()
    for number, line in lines:
        key = encodable_path(f"{path}, line {number}")
        image = join(prefix, *_parts(line)[num_dropped:])
        if problem := relative_path_problem(image):
            message = f"the path {printable(line)!r} may not be followed: {problem}"
            problems.append(RecordProblem(key, BAD_NAME, message))
            continue
        place, name = parent_of(image), posixpath.basename(image)
        if place not in entries:
            entries[place] = {entry.name: entry for entry in children(folder, place) if not entry.is_folder}
        if name in entries[place]:
            yield image, entries[place][name]
        else:
            message = f"there is no image {printable(line)!r} at {printable(image)}; restore it, or remove the line"
            problems.append(RecordProblem(key, MISSING, message))


def _start_of(folder: Folder, lines: list[str], bases: tuple[str, ...]) -> tuple[int, str]:
    """Return how many leading folders to remove from a list's lines, and the path to put before the rest.

    Lists often hold absolute paths of another machine, or paths that start at the trainer's folder.
    """
    for line in lines:
        parts = _parts(line)
        if ".." in parts:
            continue
        for num_dropped in range(len(parts)):
            for prefix in bases:
                if file_or_folder(folder, join(prefix, *parts[num_dropped:])) is not None:
                    return num_dropped, prefix
    return 0, bases[0]


def _parts(line: str) -> list[str]:
    return [part for part in line.split("/") if part not in {"", "."}]


def labels_without_image(folder: Folder, path: str, images: Iterable[tuple[str, Entry]]) -> Iterator[str]:
    """Yield the label files of a folder of images that belong to none of its images."""
    files = LabelFiles(folder)
    expected = {files.find(image)[0] for image, _ in images}
    for below, entry in files_below(folder, labels_of(folder, path)):
        if ending(entry.name) == ".txt" and below not in expected and not is_class_file(entry.name):
            yield below


def labels_of(folder: Folder, path: str) -> str:
    """Return the folder of label files for a folder of images: labels/, or the same if there is no labels/."""
    labels = label_folder(path)
    return labels if labels == path or is_folder(folder, labels) else path


def missing_labels(folder: Folder, images: Iterable[YoloImages], base: str) -> str:
    """Return the folders that were searched without finding a label file; '' if one exists, or if there is no image."""
    looked, has_images = list[str](), False
    for one in images:
        if one.is_list:
            files = LabelFiles(folder)
            for image, _ in scan_images(folder, one, base).pairs:
                has_images = True
                path, found = files.find(image)
                if found:
                    return ""
                looked += [label_folder(parent_of(image)), parent_of(path)]
        else:
            place = labels_of(folder, one.path)
            for _, entry in files_below(folder, place):
                if ending(entry.name) == ".txt" and not is_class_file(entry.name):
                    return ""
            looked += [label_folder(one.path), place]
            inside = files_below(folder, one.path)
            has_images = has_images or any(ending(entry.name) in IMAGE_ENDINGS for _, entry in inside)
    shown = [printable(join(folder.url, place)) for place in dict.fromkeys(looked)] if has_images else []
    return ", ".join([*shown[:_FOLDERS_SHOWN], *(["…"] if len(shown) > _FOLDERS_SHOWN else [])])
