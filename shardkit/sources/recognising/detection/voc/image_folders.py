"""Find Pascal VOC's XML files, images and split lists."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardkit.naming import split_of_folder
from shardkit.sources.file_names import ending
from shardkit.sources.formats.voc import VOC
from shardkit.sources.recognising.claims.searching import files_by_kind
from shardkit.sources.recognising.folders.split_folders import may_mean_split
from shardkit.sources.walking import children, folders_in, is_folder, join, looks_like, parent_of, read_head
from shardkit.storage import Entry, Folder, os_errors_as

_ANNOTATION = rb"<annotation[\s>]"  # not CVAT's <annotations>
_OBJECT = re.compile(rb"<object>.*?</object>", re.DOTALL)
_WORD = re.compile(rb"<(\w+)>\s*([^<>]*[A-Za-z][^<>]*?)\s*</\1>")
_TRIED = 4  # files of a folder that are tested
_YEAR = re.compile(r"VOC[0-9]{4}", re.IGNORECASE)
_IMAGES = ("jpegimages", "images")
_LISTS = {"train": "train", "val": "validation", "test": "test"}
_WHOLE_LIST = "trainval"


@dataclass(frozen=True, slots=True)
class VocFolder:
    """A folder of XML files.

    Attributes:
        images: The folder of their images; the same if they are in one folder.
        annotations: The folder of the files.
        split: The split of all these images, if a folder's name gives it.
        lists: The folder of the split lists; None if there is none.
    """

    images: str
    annotations: str
    split: str | None
    lists: str | None = None


def is_voc(folder: Folder) -> bool:
    """Return whether a folder has Pascal VOC annotations, judging by names and the start of one file."""
    for found, entries in _listed(folder):
        for entry in entries:
            # A special file is rejected when it is listed.
            if _is_xml(entry) and (head := read_head(folder, join(found.annotations, entry.name))) is not None:
                return VOC.sniff(head)
    return False


def has_voc_files(folder: Folder) -> bool:
    """Return whether there are such XML files in the first few folders of a tree, judging by a few of them."""
    found = list(files_by_kind(folder, None, frozenset({".xml"})))
    own = [voc for path, _ in found if path and (voc := _voc_folder(folder, parent_of(path)))]
    tops = folders_in(folder)
    if tops and all(map(may_mean_split, tops)):
        return False  # each may be a source
    if own and (len(found) == 1 or any(one.lists for one in own)):
        return False  # a wrapper, or a source whose lists give the splits
    for path, names in found:
        heads = [read_head(folder, join(path, name)) for name in names[:: max(1, len(names) // _TRIED)]]
        if any(looks_like(head, _ANNOTATION, b"<bndbox>") for head in heads):
            return not _have_other_classes(heads)
    return False


def _have_other_classes(heads: Sequence[bytes | None]) -> bool:
    """Return whether all objects are of one class and another word of theirs differs, such as people's actions.

    The boxes would lose what the images are about; lists of images have it, too.
    """
    words: dict[bytes, set[bytes]] = {}
    for head in heads:
        for one in _OBJECT.findall(head or b""):
            for tag, text in _WORD.findall(one):
                words.setdefault(tag, set()).add(text)
    names = words.pop(b"name", set())
    words.pop(b"pose", None)  # Pascal VOC's own: where an object looks to
    return len(names) == 1 and any(len(texts) > 1 for texts in words.values())


def find_folders(folder: Folder) -> list[VocFolder]:
    """Return the folders of XML files in a source: VOC's own, and split folders with images next to XML files."""
    return [found for found, entries in _listed(folder) if any(_is_xml(entry) for entry in entries)]


def _listed(folder: Folder) -> Iterator[tuple[VocFolder, list[Entry]]]:
    """Yield folders that may have XML files, and their entries; folders in both Annotations/ and JPEGImages/ too."""
    for found in _places(folder):
        entries = children(folder, found.annotations)
        yield found, entries
        if found.images == found.annotations or found.lists:
            continue  # lists name stems without folders
        for entry in entries:
            if entry.is_folder and is_folder(folder, join(found.images, entry.name)):
                images, annotations = join(found.images, entry.name), join(found.annotations, entry.name)
                inner = VocFolder(images, annotations, split_of_folder(entry.name) or found.split)
                yield inner, children(folder, inner.annotations)


def _places(folder: Folder) -> Iterator[VocFolder]:
    # The source itself, VOC2012/, train/, VOCdevkit/VOC2012/. Other folders are not listed: there may be many.
    names = folders_in(folder)
    years = [name for name in names if _YEAR.fullmatch(name)]
    for devkit in names:
        if devkit.lower() == "vocdevkit":
            years += [join(devkit, name) for name in folders_in(folder, devkit) if _YEAR.fullmatch(name)]
    bases = ["", *years, *(name for name in names if split_of_folder(name))]
    own = [found for base in bases if (found := _voc_folder(folder, base))]
    yield from own
    if not own:
        yield from (VocFolder(name, name, split_of_folder(name)) for name in names if split_of_folder(name))
        yield VocFolder("", "", None)


def _voc_folder(folder: Folder, base: str) -> VocFolder | None:
    names = {name.lower(): name for name in folders_in(folder, base)}
    images = [names[name] for name in _IMAGES if name in names]
    if "annotations" not in names or not images:
        return None
    lists = join(base, names.get("imagesets", "ImageSets"), "Main")
    split = split_of_folder(posixpath.basename(base)) if base else None
    annotations = join(base, names["annotations"])
    return VocFolder(join(base, images[0]), annotations, split, lists if is_folder(folder, lists) else None)


def _is_xml(entry: Entry) -> bool:
    return not entry.is_folder and ending(entry.name) == ".xml"


def chosen_lists(folder: Folder, path: str) -> dict[str, str]:
    """Return the names of the lists in a folder such as ``ImageSets/Main`` that give splits, and their splits."""
    names = {
        posixpath.splitext(entry.name)[0]: entry.name for entry in children(folder, path) if entry.name[-4:] == ".txt"
    }
    if {"train", "val"} <= names.keys() or _WHOLE_LIST not in names:
        chosen = {name: split for name, split in _LISTS.items() if name in names}
    else:
        chosen = {_WHOLE_LIST: "train", **({"test": "test"} if "test" in names else {})}
    return {names[name]: split for name, split in chosen.items()}


def read_lists(folder: Folder, path: str) -> dict[str, set[str]]:
    """Read split lists from a folder such as ``ImageSets/Main``: splits by stem; empty if there is no list."""
    splits: dict[str, set[str]] = {}
    for name, split in chosen_lists(folder, path).items():
        with os_errors_as("read", folder.url_of(path)):
            text = folder.read(join(path, name)).decode("utf-8-sig", "surrogateescape")
        for stem in filter(None, map(str.strip, text.split("\n"))):
            splits.setdefault(stem, set()).add(split)
    return splits
