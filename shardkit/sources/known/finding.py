"""Find the shipped reading of a dataset that everybody knows, or why one is not read, by its files.

Datasets whose labels are in MATLAB files, or are not there, are refused: the sentence says which file to make or to
add. A MATLAB file is compressed binary data of any class, and reading it needs SciPy; the table is made once.
"""

import fnmatch
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from shardkit.errors import CallError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import split_of_file
from shardkit.sources.formats.class_names import read_fields
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.options import Opening
from shardkit.sources.readings.text import from_data
from shardkit.sources.readings.values import Column, Reading
from shardkit.sources.walking import children, ending, file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder

_NAME = re.compile(r"\{(\w+)\}")
_EVERY = ("*",)  # the columns of a label


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that a folder is."""

    title: str
    remark: str  # what the user should know about its reading; '' for nothing
    readings: tuple[Reading, ...]

    def reading(self, columns: tuple[str, ...]) -> Reading:
        for known in (columns, _EVERY) if columns else ():
            for reading in self.readings:
                origin = reading.label.origin if reading.label else None
                if reading.label and isinstance(origin, Column) and origin.column == known:
                    label = replace(reading.label, origin=replace(origin, column=columns))
                    classes = columns if label.kind == "indicators" else ()
                    return replace(reading, label=label, classes=classes)
        if columns:
            what = f"{named('label_columns')} has no effect on {self.title}"
            msg = f"{what}: it has one kind of label; leave the option out"
            raise CallError(msg)
        return self.readings[0]


@cache
def shipped() -> tuple[Mapping[str, Any], ...]:
    """Return the contents of all files, sorted by name."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    texts = {one.name: one.read_text(encoding="utf-8") for one in files(__package__).iterdir() if ".yaml" in one.name}
    return tuple(yaml.load(texts[name], loader) for name in sorted(texts))  # noqa: S506 - texts only


def find_known(folder: Folder) -> KnownDataset | None:
    """Return the dataset that a folder is, by its files; None if it is none that is known."""
    for content in shipped():
        for place in content.get("places", [""]):
            depth = place.count("/")
            values: dict[str, str] = {"place": place, "0": str(depth), "1": str(depth + 1)}
            if not all(_exists(folder, _filled(path, values)) for path in content.get("files", ())):
                continue
            if not all(_begins(folder, path, line) for path, line in content.get("begins", {}).items()):
                continue
            for name, paths in content.get("paths", {}).items():
                candidates = [paths] if isinstance(paths, str) else paths
                found = next((path for path in candidates if _exists(folder, path)), None)
                values |= {} if found is None else {name: found}
            wanted = [one for one in content["readings"] if _are_there(one, content, values)]
            if wanted:
                readings = tuple(from_data(_filled(one, values), content["title"]) for one in wanted)
                return KnownDataset(content["title"], content.get("remark", ""), readings)
    return None


def open_known(opening: Opening, found: KnownDataset) -> ReadingSource:
    """Open the dataset that a folder is."""
    reading = found.reading(opening.options.label_columns)
    remark = f"; {found.remark}" * bool(found.remark)
    return open_reading(opening, reading, name=found.title, is_strict=False, remark=remark)


def _are_there(reading: Any, content: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    """Return whether all paths exist that a reading is read from; expressions of others may be in it."""
    merged = _filled(reading, {})
    facts = {name: fact for name, fact in merged.items() if isinstance(fact, Mapping)}
    used = {name: {key: one for key, one in fact.items() if key != "lines"} for name, fact in facts.items()}
    names = {*_NAME.findall(json.dumps(used))} & {*content.get("paths", {})}
    return names <= {*values}


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return texts, lists and mappings with the values of names in braces."""
    if isinstance(value, Mapping):
        filled = {_filled(key, values): _filled(one, values) for key, one in value.items()}
        filled = {**filled.pop("<<", {}), **filled}  # a merge of YAML, which the loader of texts leaves
        return {key: one for key, one in filled.items() if not _NAME.fullmatch(key)}  # lines of files that are not here
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    return _NAME.sub(lambda found: values.get(found[1], found[0]), value)


def _exists(folder: Folder, path: str) -> bool:
    above, _, name = path.rpartition("/")
    if "*" in name or "?" in name:
        return is_folder(folder, above) and any(fnmatch.fnmatchcase(one.name, name) for one in children(folder, above))
    return file_or_folder(folder, path) is not None


def _begins(folder: Folder, path: str, line: str) -> bool:
    """Return whether the first line of a file that is no comment has a form."""
    lines = (one.values[0] for one in read_fields(folder, path, "\n"))
    return re.fullmatch(line, next((one for one in lines if not one.startswith("#")), "")) is not None


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
    for one in _DATASETS:
        if is_folder(folder, one.folder) and file_or_folder(folder, one.labels) is not None:
            return _refusal(folder, one)
    return _without_answers(folder)


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
