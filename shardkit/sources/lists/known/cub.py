"""Numbered files that are joined by an image's number, as CUB-200-2011 and NABirds have them.

images.txt               1 001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg
image_class_labels.txt   1 1
classes.txt              1 001.Black_footed_Albatross
train_test_split.txt     1 0        1 for the training images, 0 for those of the test
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.reject_reasons import BAD_LABEL, BAD_LINE, BAD_SPLIT, NO_LABEL
from shardkit.sources.listing import BadRecord
from shardkit.sources.lists.layout import ImageLists
from shardkit.sources.lists.records import ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.walking import file_or_folder, join
from shardkit.storage import Folder

_IMAGES, _LABELS, _CLASSES, _SPLITS = "images.txt", "image_class_labels.txt", "classes.txt", "train_test_split.txt"
_FOLDER = "images"
_SPLIT_OF = {"1": "train", "0": "test"}


@dataclass(frozen=True, slots=True)
class JoinedIds(RecordReader):
    """Reads the four files. Memory grows with the number of images, by about 300 bytes each.

    Attributes:
        with_splits: Whether there is a file of splits.
        path: The file of the images.
    """

    with_splits: bool
    path: str = _IMAGES

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader; in the order of images.txt."""
        del skipped
        names = _pairs(folder, _CLASSES)
        labels = _pairs(folder, _LABELS)
        splits = _pairs(folder, _SPLITS) if self.with_splits else {}
        for fields in read_fields(folder, _IMAGES, None, 2):
            place, key, split = f"{_IMAGES}, line {fields.line}", None, None
            try:
                if fields.problem or len(fields.values) < 2:
                    raise BadRecord(BAD_LINE, fields.problem or "it has no path behind the image's number; add it")
                number, path = fields.values
                key = join(_FOLDER, checked_key(path))
                split = self._split(splits, number)
                label = _label(labels, names, number)
            except BadRecord as error:
                yield rejected(place, fields.line, split, error, key)
            else:
                yield ListRecord(key, split, (label,), place, fields.line)

    def _split(self, splits: dict[str, str], number: str) -> str | None:
        if not self.with_splits:
            return None
        if (split := _SPLIT_OF.get(splits.get(number, ""))) is None:
            msg = f"{_SPLITS} has no line '{number} 1' or '{number} 0'; add it"
            raise BadRecord(BAD_SPLIT, msg)
        return split


def _label(labels: dict[str, str], names: dict[str, str], number: str) -> str:
    if (label := labels.get(number)) is None:
        msg = f"{_LABELS} has no line for image {number}; add it"
        raise BadRecord(NO_LABEL, msg)
    if (name := names.get(label)) is None:
        msg = f"{_LABELS} gives it the class {label}, which {_CLASSES} does not name; correct one of them"
        raise BadRecord(BAD_LABEL, msg)
    return name


def open_joined_ids(folder: Folder, excluded: str | None) -> ImageLists | None:
    """Return the source if a folder has these files, else None.

    Raises:
        DataError: Two classes have the same name.
    """
    if any(file_or_folder(folder, name) is None for name in (_LABELS, _IMAGES, _CLASSES)):
        return None
    names = _pairs(folder, _CLASSES)
    used = dict.fromkeys(_pairs(folder, _LABELS).values())
    classes = [name for number, name in names.items() if number in used]  # NABirds also names groups of classes
    if len(set(classes)) < len(classes):
        twice = next(name for name in classes if classes.count(name) > 1)
        msg = f"{folder.url}/{_CLASSES}: two classes are called {twice!r}; rename one"
        raise DataError(msg)
    reader = JoinedIds(with_splits=file_or_folder(folder, _SPLITS) is not None)
    splits = f", the split from {_SPLITS}" if reader.with_splits else ""
    remark = f"the image from {_IMAGES}, the class from {_LABELS} and {_CLASSES}{splits}"
    title = LAYOUTS["list"].titles[1]
    return ImageLists(folder, title, remark, (reader,), class_names=tuple(classes), excluded=excluded)


def _pairs(folder: Folder, path: str) -> dict[str, str]:
    return {one.values[0]: one.values[1] for one in read_fields(folder, path, None, 2) if len(one.values) > 1}
