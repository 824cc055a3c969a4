"""ImageNet (ILSVRC 2012, as Kaggle distributes it) and Tiny ImageNet: training images in folders, validation in a list.

ILSVRC/Data/CLS-LOC/train/n01440764/n01440764_10026.JPEG
ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_00000001.JPEG         with LOC_val_solution.csv next to ILSVRC/
ILSVRC/Data/CLS-LOC/test/ILSVRC2012_test_00000001.JPEG       without labels: counted as skipped

train/n01443537/images/n01443537_0.JPEG, val/images/val_0.JPEG, val/val_annotations.txt

A class is called by its WordNet id, as in TFDS and in torchvision's folders. The words of LOC_synset_mapping.txt and
words.txt do not serve as names: two classes of ImageNet are called "crane", and two "maillot" but for a second word.
Sorted ids give the usual label order.
"""

import re
from collections.abc import Sequence

from shardkit.errors import CallError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.listing import ending
from shardkit.sources.lists.finding import find_lists
from shardkit.sources.lists.known.class_folder_datasets import class_folders
from shardkit.sources.lists.known.fixed_columns import FieldList
from shardkit.sources.lists.layout import ImageLists
from shardkit.sources.lists.records import RecordReader
from shardkit.sources.walking import children, file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder

_WNID = re.compile(r"n\d{8}")
_PLACES = ("", "CLS-LOC", "Data/CLS-LOC", "ILSVRC/Data/CLS-LOC")
_BELOW_ROOT = ("/ILSVRC/Data/CLS-LOC", "/ILSVRC/Data", "/ILSVRC")
_SOLUTION = "LOC_val_solution.csv"
_TINY_IMAGES = "val/images"
_TINY_LIST = "val/val_annotations.txt"


def open_imagenet(folder: Folder, excluded: str | None) -> ImageLists | None:
    """Return the source if a folder is ImageNet with a flat folder of validation images, else None.

    Raises:
        CallError: The labels of the validation images are not there.
    """
    for place in _PLACES:
        train, val = join(place, "train"), join(place, "val")
        # Not listed before the cheap look-ups: any class folder may be called "train".
        if file_or_folder(folder, train) is None or file_or_folder(folder, val) is None:
            continue
        names = folders_in(folder, train)
        if not names or not all(map(_WNID.fullmatch, names)):
            continue
        if place == "" and is_folder(folder, _TINY_IMAGES) and file_or_folder(folder, _TINY_LIST) is not None:
            answers = FieldList(_TINY_LIST, "\t", _TINY_IMAGES, "", "second", "validation")
            return _source(folder, excluded, train, answers)
        if not _is_flat(folder, val):
            if not place:
                return None  # split folders, read as any others
            return _source(folder, excluded, train, None, class_folders(folder, val, "validation"))
        if file_or_folder(folder, _SOLUTION) is None:
            if any(one.split == "validation" for one in find_lists(folder)):
                return None  # a list of another form, such as Caffe's val.txt
            raise _no_answers(folder, train, val, len(names))
        answers = FieldList(_SOLUTION, ",", val, ".JPEG", "second", "validation", has_header=True)
        return _source(folder, excluded, train, answers)
    return None


def _source(
    folder: Folder, excluded: str | None, train: str, answers: FieldList | None, val: Sequence[RecordReader] = ()
) -> ImageLists:
    remark = f"classes by WordNet id from the folders in {train}/"
    remark += f", and for {answers.base}/ from {answers.path}" if answers else " and in val/ next to it"
    remark += "; the images in other folders have no labels"
    readers = (*([answers] if answers else []), *class_folders(folder, train, "train"), *val)
    return ImageLists(folder, "ImageNet", remark, readers, excluded=excluded, unlisted="without labels")


def _is_flat(folder: Folder, path: str) -> bool:
    return any(not one.is_folder and ending(one.name) in IMAGE_ENDINGS for one in children(folder, path))


def _no_answers(folder: Folder, train: str, val: str, num_classes: int) -> CallError:
    commands = [Change(f"only the training images, {num_classes:,} classes", sources=(join(folder.url, train),))]
    above = next((folder.url.removesuffix(end) for end in _BELOW_ROOT if folder.url.endswith(end)), None)
    if above:
        commands.insert(0, Change(f"the folder above ILSVRC, if {_SOLUTION} is in it", sources=(above,)))
    problem = (
        f"{printable(folder.url)}: the labels of the images in {val}/ are not there; Kaggle distributes them as "
        f"{_SOLUTION}: put it into this folder, or sort the images into one folder for each class"
    )
    return RefusalError(problem, commands)
