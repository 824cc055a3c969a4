"""Datasets of class folders in a folder of a known name, with other folders next to it.

Stanford Dogs   Images/n02085620-Chihuahua/, Annotation/n02085620-Chihuahua/, train_list.mat
Caltech-101     101_ObjectCategories/, Annotations/
Caltech-256     256_ObjectCategories/
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS
from shardkit.options.words import named
from shardkit.sources.listing import count_skipped, ending
from shardkit.sources.lists.layout import ImageLists
from shardkit.sources.lists.records import ListRecord, RecordReader
from shardkit.sources.walking import file_or_folder, files_below, folders_in, is_folder, join
from shardkit.storage import Folder

_CALTECH = {"101_ObjectCategories": "Caltech-101", "256_ObjectCategories": "Caltech-256"}
_BACKGROUND = "BACKGROUND_Google"
_LISTS = ("train_list.mat", "test_list.mat")
_DOGS, _BOXES = "Images", "Annotation"
_UNLISTED = "outside the class folders"


@dataclass(frozen=True, slots=True)
class ClassFolder(RecordReader):
    """Reads every image below a folder as one class.

    Attributes:
        path: The folder.
        label: The class.
        split: The split; None if the source gives none.
    """

    path: str
    label: str
    split: str | None

    @property
    def url(self) -> str:
        """See RecordReader."""
        return ""

    @property
    def gives_splits(self) -> bool:
        """See RecordReader."""
        return self.split is not None

    @property
    def own_folder(self) -> str:
        """See RecordReader."""
        return self.path

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader; sorted by path, folder by folder."""
        for path, entry in files_below(folder, self.path):
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS:
                yield ListRecord(path, self.split, (self.label,), entry=entry)
            else:
                count_skipped(skipped, kind)


def class_folders(folder: Folder, path: str, split: str | None) -> tuple[ClassFolder, ...]:
    """Return a reader for each folder in a folder; its name is the class."""
    return tuple(ClassFolder(join(path, name), name, split) for name in folders_in(folder, path))


def open_known_tree(folder: Folder, excluded: str | None) -> ImageLists | None:
    """Return the source if a folder is one of these datasets, else None."""
    found = next((name for name in _CALTECH if is_folder(folder, name)), None)
    if found is not None:
        remark = "the class from the folder"
        if _BACKGROUND in folders_in(folder, found):
            remark += f"; {_BACKGROUND} is a class, as in TFDS; torchvision leaves it out"
        return _source(folder, excluded, _CALTECH[found], found, remark)
    if not is_folder(folder, _BOXES):
        return None
    classes = folders_in(folder, _DOGS)
    if not classes or classes != folders_in(folder, _BOXES):
        return None
    remark = f"the class from the folder, without the boxes in {_BOXES}/"
    lists = [name for name in _LISTS if file_or_folder(folder, name) is not None]
    if lists:
        remark += (
            f"; note: the splits in {' and '.join(lists)} are MATLAB files and not read; {named('splits')} makes others"
        )
    return _source(folder, excluded, "Stanford Dogs", _DOGS, remark)


def _source(folder: Folder, excluded: str | None, name: str, path: str, remark: str) -> ImageLists:
    readers = class_folders(folder, path, None)
    return ImageLists(folder, name, f"{path}/<class>/image, {remark}", readers, excluded=excluded, unlisted=_UNLISTED)
