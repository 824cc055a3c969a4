"""Refuse datasets whose labels are in MATLAB files, or are not there: the sentence says which file to make or to add.

A MATLAB file is compressed binary data of any class, and reading it needs SciPy; the table is made once, in a line.
"""

import re
from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.engine.splits import split_of_file
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.walking import children, ending, file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class MatDataset:
    """A dataset with labels in MATLAB files."""

    name: str
    folder: str  # folder of images by which it is recognised
    labels: str
    row: str
    script: str  # Python program that writes the table into the working directory; it needs SciPy


_TABLE = "labels.csv"
_WNID = re.compile(r"n\d{8}")
_PLACES = ("", "CLS-LOC", "Data/CLS-LOC", "ILSVRC/Data/CLS-LOC")
_BELOW_ROOT = ("/ILSVRC/Data/CLS-LOC", "/ILSVRC/Data", "/ILSVRC")
_SOLUTION = "LOC_val_solution.csv"
# The fields are those that torchvision's Flowers102 and StanfordCars read.
_DATASETS = (
    MatDataset(
        "Flowers-102",
        "jpg",
        "imagelabels.mat",
        "jpg/image_00001.jpg,77,test",
        "import csv, scipy.io as io\n"
        "s, l = io.loadmat('setid.mat'), io.loadmat('imagelabels.mat')['labels'][0]\n"
        "of = {i: n for n, k in (('train', 'trnid'), ('validation', 'valid'), ('test', 'tstid')) for i in s[k][0]}\n"
        "rows = [(f'jpg/image_{i:05}.jpg', c, of[i]) for i, c in enumerate(l, 1)]\n"
        f"csv.writer(open('{_TABLE}', 'w')).writerows([('image', 'label', 'split'), *rows])",
    ),
    MatDataset(
        "Stanford Cars",
        "cars_train",
        "devkit/cars_train_annos.mat",
        "cars_train/00001.jpg,14,train",
        "import csv, os, scipy.io as io\n"
        "rows = [('image', 'label', 'split')]\n"
        "for split, mat in (('train', 'devkit/cars_train_annos.mat'), ('test', 'cars_test_annos_withlabels.mat')):\n"
        "    if os.path.exists(mat):\n"
        "        for a in io.loadmat(mat, squeeze_me=True)['annotations']:\n"
        "            rows.append((f\"cars_{split}/{a['fname']}\", int(a['class']), split))\n"
        f"csv.writer(open('{_TABLE}', 'w')).writerows(rows)",
    ),
)


def refusal_of_known(folder: Folder) -> CallError | None:
    """Return why a folder is not read that is such a dataset, with the program or the command that helps; else None."""
    found = _found(folder)
    return _without_answers(folder) if found is None else _refusal(folder, found)


def _found(folder: Folder) -> MatDataset | None:
    return next(
        (one for one in _DATASETS if is_folder(folder, one.folder) and file_or_folder(folder, one.labels) is not None),
        None,
    )


def _refusal(folder: Folder, found: MatDataset) -> CallError:
    command = [Change(found.name, sources=(join(folder.url, _TABLE),))]
    if any(entry.name == _TABLE for entry in children(folder)):
        problem = f"{printable(folder.url)}: this is {found.name}, with its labels in {found.labels} and in {_TABLE}"
        return RefusalError(problem, command)
    problem = (
        f"{printable(folder.url)}: the labels of {found.name} are in MATLAB files, which shardkit does not read; make "
        f"{_TABLE} in this folder, with the header image,label,split and a record such as {found.row} for each image "
        "(the program below does it in this folder, with SciPy)"
    )
    return RefusalError(problem, command, appendix=f"python - <<'END'\n{found.script}\nEND")


def _without_answers(folder: Folder) -> CallError | None:
    """Return the refusal of ImageNet with a flat folder of validation images and no file of their labels."""
    for place in _PLACES:
        train, val = join(place, "train"), join(place, "val")
        # Not listed before the cheap look-ups: any class folder may be called "train".
        if file_or_folder(folder, train) is None or file_or_folder(folder, val) is None:
            continue
        names = folders_in(folder, train)
        is_flat = any(not one.is_folder and ending(one.name) in IMAGE_ENDINGS for one in children(folder, val))
        if not names or not all(map(_WNID.fullmatch, names)) or not is_flat:
            continue
        texts = [one.name for one in children(folder) if ending(one.name) in TEXT_ENDINGS]
        if any(split_of_file(name) == "validation" for name in texts):
            return None  # a list of another form, such as Caffe's val.txt
        commands = [Change(f"only the training images, {len(names):,} classes", sources=(join(folder.url, train),))]
        above = next((folder.url.removesuffix(end) for end in _BELOW_ROOT if folder.url.endswith(end)), None)
        if above:
            commands.insert(0, Change(f"the folder above ILSVRC, if {_SOLUTION} is in it", sources=(above,)))
        problem = (
            f"{printable(folder.url)}: the labels of the images in {val}/ are not there; Kaggle distributes them as "
            f"{_SOLUTION}: put it into this folder, or sort the images into one folder for each class"
        )
        return RefusalError(problem, commands)
    return None
