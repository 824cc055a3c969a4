"""Refuse datasets whose labels are in MATLAB files, and say which table to make from them.

Such a file is compressed binary data of any class, and reading it needs SciPy; the table is made once, in a line.
"""

from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError
from shardkit.sources.walking import children, file_or_folder, is_folder, join
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class MatDataset:
    """A dataset with labels in MATLAB files.

    Attributes:
        name: Its name.
        folder: Folder of images by which it is recognised.
        labels: The file of labels.
        row: The table's first records.
        script: Python program that writes the table into the working directory; it needs SciPy.
    """

    name: str
    folder: str
    labels: str
    row: str
    script: str


_TABLE = "labels.csv"
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


def refuse_mat_labels(folder: Folder) -> None:
    """Refuse a folder whose labels are in MATLAB files.

    Raises:
        CallError: It is one; the message has the program that makes the table, and the command that reads it.
    """
    if found := _found(folder):
        raise _refusal(folder, found)


def has_mat_labels(folder: Folder) -> bool:
    """Return whether a folder is a dataset whose labels are in MATLAB files."""
    return _found(folder) is not None


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
