"""Which images a split of a YOLO source has, and which label file belongs to each."""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shardkit.naming import printable, relative_path_problem
from shardkit.sources.detection.yolo_folders import YoloImages, is_class_file, label_folder
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.walking import children, file_or_folder, files_below, is_folder, join, parent_of
from shardkit.storage import Entry, Folder, os_errors_as

_PLACES_SHOWN = 4
_TRIED = 8  # lines of a list: one missing image does not hide where the others are


@dataclass(frozen=True, slots=True)
class Listed:
    """Images of a split, sorted or as listed, and lines of a list that lead to none: (where, reason, message)."""

    images: list[tuple[str, Entry]]
    problems: list[tuple[str, str, str]]
    skipped: dict[str, int]


@dataclass(slots=True)
class LabelFiles:
    """Label files by the image's path, whatever the case of their ending; every folder of them is listed once."""

    folder: Folder
    _listed: dict[str, dict[str, Entry]] = field(default_factory=dict)

    def of(self, image: str) -> tuple[str, Entry | None]:
        """The path of an image's label file, and what is there: in labels/, or beside it where there is no labels/."""
        place, stem = parent_of(image), posixpath.splitext(posixpath.basename(image))[0]
        labels = label_folder(place)
        if labels != place and not self._in(labels):
            labels = place
        found = self._in(labels).get(stem)
        return join(labels, found.name if found else f"{stem}.txt"), found

    def _in(self, path: str) -> dict[str, Entry]:
        if path not in self._listed:
            entries = children(self.folder, path)
            # Sorted, "1.TXT" stands before "1.txt", which counts where both are there.
            self._listed[path] = {
                posixpath.splitext(one.name)[0]: one
                for one in entries
                if ending(one.name) == ".txt" and not one.is_folder
            }
        return self._listed[path]


def listed_images(folder: Folder, images: YoloImages, base: str) -> Listed:
    """Images of a split.

    Args:
        folder: that all paths are below.
        images: of the split.
        base: path that a list's relative lines start at, unless they start at the list's own folder.
    """
    return _from_list(folder, images.path, base) if images.is_list else _from_folder(folder, images.path)


def _from_folder(folder: Folder, path: str) -> Listed:
    found = Listed([], [], {})
    for below, entry in files_below(folder, path):
        kind = ending(entry.name)
        if kind in IMAGE_ENDINGS:
            found.images.append((below, entry))
        elif kind != ".txt":
            found.skipped[kind] = found.skipped.get(kind, 0) + 1
    return found


def _from_list(folder: Folder, path: str, base: str) -> Listed:
    with os_errors_as("read", f"{folder.url}/{path}"):
        text = folder.read(path).decode("utf-8-sig", "surrogateescape")
    lines = [(number, line.strip().replace("\\", "/")) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in lines if line]
    num_dropped, prefix = _start_of(folder, [line for _, line in lines[:_TRIED]], (parent_of(path), base, ""))
    found, entries = Listed([], [], {}), dict[str, dict[str, Entry]]()
    for number, line in lines:
        where = f"{path}, line {number}"
        image = join(prefix, *_parts(line)[num_dropped:])
        if problem := relative_path_problem(image):
            found.problems.append((where, "bad_name", f"the path {printable(line)!r} may not be followed: {problem}"))
            continue
        place, name = parent_of(image), posixpath.basename(image)
        if place not in entries:
            entries[place] = {entry.name: entry for entry in children(folder, place) if not entry.is_folder}
        if name in entries[place]:
            found.images.append((image, entries[place][name]))
        else:
            message = f"there is no image {printable(line)!r} at {printable(image)}; restore it, or take the line out"
            found.problems.append((where, "missing", message))
    return found


def _start_of(folder: Folder, lines: list[str], bases: tuple[str, ...]) -> tuple[int, str]:
    """How many leading folders of a list's lines are to be dropped, and what stands before the rest.

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


def labels_without_image(folder: Folder, path: str, images: list[tuple[str, Entry]]) -> Iterator[str]:
    """Label files below a folder's labels that belong to none of its images."""
    files = LabelFiles(folder)
    expected = {files.of(image)[0] for image, _ in images}
    for below, entry in files_below(folder, labels_of(folder, path)):
        if ending(entry.name) == ".txt" and below not in expected and not is_class_file(entry.name):
            yield below


def labels_of(folder: Folder, path: str) -> str:
    """The folder of the labels of a folder of images: labels/, or the same where there is no labels/."""
    labels = label_folder(path)
    return labels if labels == path or is_folder(folder, labels) else path


def missing_labels(folder: Folder, images: Iterable[YoloImages], base: str) -> str:
    """Where labels were looked for in vain; '' where one image at least has some, or where there are no images."""
    looked, has_images = list[str](), False
    for one in images:
        if one.is_list:
            files = LabelFiles(folder)
            for image, _ in listed_images(folder, one, base).images:
                has_images = True
                path, found = files.of(image)
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
    return ", ".join([*shown[:_PLACES_SHOWN], *(["…"] if len(shown) > _PLACES_SHOWN else [])])
