"""Where Pascal VOC's XML files, images and lists of splits are."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.errors import SpecialFileError
from shardkit.naming import printable, split_of_folder
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.walking import children, folders_in, is_folder, join
from shardkit.storage import Entry, Folder, os_errors_as

_HEAD = 4096  # bytes; <annotation> is the first element
_YEAR = re.compile(r"VOC[0-9]{4}", re.IGNORECASE)
_IMAGES = ("jpegimages", "images")
_LISTS = {"train": "train", "val": "validation", "test": "test"}
_WHOLE_LIST = "trainval"


@dataclass(frozen=True, slots=True)
class VocFolder:
    """A folder of XML files with its images.

    Attributes:
        annotations: path of the XML files.
        images: path of the images; the same where they lie together.
        lists: path of the lists of splits; None for none.
        split: of all of it, where a folder's name tells.
    """

    annotations: str
    images: str
    lists: str | None
    split: str | None


def is_voc(folder: Folder) -> bool:
    """Whether a folder holds Pascal VOC's annotations: by names, and the head of one file."""
    for found, entries in _listed(folder):
        for entry in entries:
            if _is_xml(entry) and (head := _head(folder, join(found.annotations, entry.name))) is not None:
                return b"<annotation" in head
    return False


def _head(folder: Folder, path: str) -> bytes | None:
    """The first bytes of a file; None if it is none: the file is rejected when it is listed."""
    try:
        with os_errors_as("read", f"{folder.url}/{path}"), folder.open(path) as file:
            head: bytes = file.read(_HEAD)
    except SpecialFileError:
        return None
    return head


def find_folders(folder: Folder) -> list[VocFolder]:
    """Folders of XML files in a source: VOC's own, and splits' with images and XML files side by side."""
    return [found for found, entries in _listed(folder) if any(_is_xml(entry) for entry in entries)]


def _listed(folder: Folder) -> Iterator[tuple[VocFolder, list[Entry]]]:
    """Folders that may hold XML files, with their entries; a folder in both Annotations/ and JPEGImages/ is one too."""
    for found in _places(folder):
        entries = children(folder, found.annotations)
        yield found, entries
        if found.images == found.annotations or found.lists:
            continue  # lists name stems, without a folder
        for entry in entries:
            if entry.is_folder and is_folder(folder, join(found.images, entry.name)):
                inner = VocFolder(
                    join(found.annotations, entry.name),
                    join(found.images, entry.name),
                    None,
                    split_of_folder(entry.name) or found.split,
                )
                yield inner, children(folder, inner.annotations)


def _places(folder: Folder) -> Iterator[VocFolder]:
    # The source itself, VOC2012/, train/, VOCdevkit/VOC2012/. Other folders are not looked into: there may be many.
    names = folders_in(folder)
    years = [name for name in names if _YEAR.fullmatch(name)]
    for devkit in names:
        if devkit.lower() == "vocdevkit":
            years += [join(devkit, name) for name in folders_in(folder, devkit) if _YEAR.fullmatch(name)]
    bases = ["", *years, *(name for name in names if split_of_folder(name))]
    own = [found for base in bases if (found := _voc_folder(folder, base))]
    yield from own
    if not own:
        yield from (VocFolder(name, name, None, split_of_folder(name)) for name in names if split_of_folder(name))
        yield VocFolder("", "", None, None)


def _voc_folder(folder: Folder, base: str) -> VocFolder | None:
    names = {name.lower(): name for name in folders_in(folder, base)}
    images = [names[name] for name in _IMAGES if name in names]
    if "annotations" not in names or not images:
        return None
    lists = join(base, names.get("imagesets", "ImageSets"), "Main")
    split = split_of_folder(posixpath.basename(base)) if base else None
    return VocFolder(
        join(base, names["annotations"]), join(base, images[0]), lists if is_folder(folder, lists) else None, split
    )


def _is_xml(entry: Entry) -> bool:
    return not entry.is_folder and ending(entry.name) == ".xml"


@dataclass(slots=True)
class Files:
    """What is in a folder, by stem.

    Attributes:
        annotations: XML files.
        images: file names and entries, sorted.
        skipped: other files, counted by ending.
        folders: paths of the folders in it.
    """

    annotations: dict[str, Entry]
    images: dict[str, list[Entry]]
    skipped: dict[str, int]
    folders: list[str]

    @property
    def num_files(self) -> int:
        """XML files and images."""
        return len(self.annotations) + sum(map(len, self.images.values()))


def scan_files(folder: Folder, found: VocFolder) -> Files:
    """The files of a folder of XML files."""
    files = Files({}, {}, {}, [])
    for path in dict.fromkeys((found.annotations, found.images)):
        for entry in children(folder, path):
            if entry.is_folder:
                files.folders.append(join(path, entry.name))
                continue
            stem, kind = posixpath.splitext(entry.name)[0], ending(entry.name)
            if path == found.annotations and kind == ".xml":
                files.annotations[stem] = entry
            elif path == found.images and kind in IMAGE_ENDINGS:
                files.images.setdefault(stem, []).append(entry)
            else:
                files.skipped[kind] = files.skipped.get(kind, 0) + 1
    return files


def read_lists(folder: Folder, path: str) -> dict[str, list[tuple[str, str]]]:
    """(split, where it says so) by stem, out of a folder such as ``ImageSets/Main``; empty where no list is there."""
    there = {
        posixpath.splitext(entry.name)[0]: entry.name for entry in children(folder, path) if entry.name[-4:] == ".txt"
    }
    if {"train", "val"} <= there.keys() or _WHOLE_LIST not in there:
        chosen = {name: split for name, split in _LISTS.items() if name in there}
    else:
        chosen = {_WHOLE_LIST: "train", **({"test": "test"} if "test" in there else {})}
    splits: dict[str, list[tuple[str, str]]] = {}
    for name, split in chosen.items():
        with os_errors_as("read", f"{folder.url}/{path}"):
            text = folder.read(join(path, there[name])).decode("utf-8-sig", "surrogateescape")
        for number, line in enumerate(text.split("\n"), 1):
            if stem := line.strip():
                splits.setdefault(stem, []).append((split, f"{join(path, there[name])}, line {number}"))
    return splits


def split_in_lists(places: list[tuple[str, str]]) -> tuple[str | None, str | None, str | None]:
    """Split, reason and message of what stands in lists at those places: one split, or a problem."""
    if len({split for split, _ in places}) > 1:
        where = " and ".join(printable(place) for _, place in places)
        return None, "no_split", f"it is in two splits: {where}; leave it in one"
    return places[0][0], None, None
