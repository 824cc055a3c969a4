"""Write a dataset back to folders: images byte for byte as stored, and tables of everything else.

FOLDER/<split>/<class>/<key>        the layout of class folders, if every example has one class; the start of a key
                                    that repeats the split or class is left out
FOLDER/<split>/images/<key>         other datasets
FOLDER/<split>/masks/<key>.png      if there are masks
FOLDER/<split>/examples.csv         file, key, classes and every other feature of each image
FOLDER/<split>/boxes.csv            a row for each object, in pixels, if there are boxes; an image without objects has
                                    one row without coordinates
"""

import csv
import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from shardkit.dataset import features as names
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.examples.example import Example
from shardkit.examples.sequence import Examples
from shardkit.naming import split_of_folder

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\x7f%]|^\.+|[. ]+$')  # also of Windows and of archives
_ENDINGS = {"JPEG": ".jpg", "PNG": ".png"}
_SAME_ENDINGS = {".jpg": {".jpg", ".jpeg", ".jpe", ".jfif"}, ".png": {".png"}}
_MAX_NAME = 200  # bytes of a name; file systems allow 255
_DIGEST_DIGITS = 12
_LABEL_SEPARATOR = ";"


def extract(dataset: str, folder: str, splits: Sequence[str], where: str | None) -> Generator[Path, None, None]:
    """Write examples to a new folder; yield the path of each image that is written, below the folder.

    The folder appears under its name when everything is written; after an error or Ctrl-C nothing is left.

    Args:
        dataset: The dataset's folder.
        folder: A local folder that does not exist, or is empty.
        splits: Names of splits; () for all.
        where: A condition on the index; None for all examples.

    Raises:
        CallError: The folder is not empty, or a split or the condition is wrong.
        DataError: The dataset is damaged.
    """
    target = Path(folder)
    if "://" in folder:
        msg = f"{folder}: images are extracted to a local folder; copy it to the store afterwards"
        raise CallError(msg)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        msg = f"{folder}: this already exists and is not empty; name a new folder"
        raise CallError(msg)
    parts = [Examples(dataset, split, where, columns=["format"]) for split in splits or _all_splits(dataset)]
    unfinished = target.with_name(f"{target.name}.unfinished")
    if unfinished.exists():
        msg = f"{unfinished}: an earlier extraction was interrupted; remove this folder, then extract again"
        raise CallError(msg)
    try:
        for examples in parts:
            yield from extract_split(examples, unfinished / examples.split)
        unfinished.mkdir(parents=True, exist_ok=True)  # no example at all
        if target.exists():
            target.rmdir()
        os.rename(unfinished, target)
    except BaseException:  # also Ctrl-C: the same command works again
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def commands_to_convert(manifest: Manifest, splits: Sequence[str], folder: str) -> list[str]:
    """Return the commands that convert an extracted folder again: one, or one for each split with tables.

    Args:
        manifest: Manifest of the dataset that was extracted.
        splits: Names of the splits that were extracted; () for all.
        folder: The folder as the user wrote it.
    """
    features = manifest.features
    if features.get(names.LABEL) == names.CLASS_LABEL or names.MASK in features:
        return [shlex.join(["shardkit", "convert", folder, "OUT"])]
    if names.LABEL not in features and names.LABELS not in features and names.OBJECT_LABELS not in features:
        return [shlex.join(["shardkit", "convert", folder, "OUT", "--unlabelled"])]
    table, options = "examples.csv", ["--image-column", "file"]
    if names.OBJECT_LABELS in features:
        table, options = "boxes.csv", []
    elif names.LABELS in features and not _is_json(manifest.classes):
        options += ["--label-separator", _LABEL_SEPARATOR]
    return [
        shlex.join(["shardkit", "convert", os.path.join(folder, split, table), f"OUT-{split}", *options])
        for split in splits or manifest.splits
    ]


def renamed_classes(manifest: Manifest) -> list[str]:
    """Return the classes whose folders have other names, because a file system may refuse theirs."""
    if manifest.features.get(names.LABEL) != names.CLASS_LABEL:
        return []
    return [name for name in manifest.classes if safe_name(name) != name]


def _all_splits(dataset: str) -> list[str]:
    from shardkit.dataset.manifest import read_manifest

    return [*read_manifest(dataset).splits]


def extract_split(examples: Examples, folder: Path) -> Iterator[Path]:
    """Write the examples of one split; yield the path of each image that is written, below the folder's parent.

    Args:
        examples: The examples, opened with the column ``format``.
        folder: A new folder. It is not complete before the iteration ends.
    """
    folder.mkdir(parents=True)
    formats = examples.index["format"]
    with _tables(folder, examples.manifest) as (rows, boxes):
        for number, example in enumerate(examples):
            path = _image_path(example, examples, _ENDINGS.get(formats[number].as_py(), ""), folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(example[names.IMAGE])
            if names.MASK in example:
                mask = folder / "masks" / path.relative_to(folder / "images").with_suffix(".png")
                mask.parent.mkdir(parents=True, exist_ok=True)
                mask.write_bytes(example[names.MASK])
            file = path.relative_to(folder).as_posix()
            rows.writerow([file, *_row(example)])
            if boxes is not None:
                boxes.writerows(_box_rows(file, example))
            yield path.relative_to(folder.parent)


def _image_path(example: Example, examples: Examples, ending: str, folder: Path) -> Path:
    parts = example.key.split("/")
    rest = parts[1:] if len(parts) > 1 and split_of_folder(parts[0]) == examples.split else parts
    if examples.manifest.features.get(names.LABEL) == names.CLASS_LABEL:
        [label] = example.label_names
        top, repeated = safe_name(label), label
    else:
        top = repeated = "images"
    below = folder / top
    rest = rest[1:] if len(rest) > 1 and rest[0] == repeated else rest
    path = _with_ending(below.joinpath(*map(safe_name, rest)), ending)
    if path.exists():  # the shortened keys of two examples are equal, or differ in case on such a file system
        path = _with_ending(below.joinpath(*map(safe_name, parts)), ending)
    number = 1
    while path.exists():
        number += 1
        path = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return path


def safe_name(name: str) -> str:
    """Return a name for one file or folder that every file system allows.

    Unsafe characters become %XX; a name that is too long keeps its beginning, with a digest of the whole name.
    """
    safe = _UNSAFE.sub(lambda found: "".join(f"%{ord(char):02X}" for char in found.group()), name)
    encoded = safe.encode("utf-8", "replace")
    if len(encoded) > _MAX_NAME:  # the digest tells two long names with the same beginning apart
        digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST_DIGITS]
        return f"{encoded[: _MAX_NAME - _DIGEST_DIGITS - 1].decode('utf-8', 'ignore')}-{digest}"
    return safe or "%00"


def _with_ending(path: Path, ending: str) -> Path:
    """Return the path with the ending of the stored format: a WebP is stored as PNG."""
    if path.suffix.lower() in _SAME_ENDINGS.get(ending, {path.suffix.lower()}):
        return path
    return path.with_name(path.name + ending)


@contextmanager
def _tables(folder: Path, manifest: Manifest) -> Iterator[tuple[Any, Any]]:
    with _open(folder / "examples.csv") as file:
        rows = csv.writer(file)
        rows.writerow(["file", *_columns(manifest)])
        if f"{names.OBJECTS}bbox" not in manifest.features:
            yield rows, None
            return
        with _open(folder / "boxes.csv") as box_file:
            boxes = csv.writer(box_file)
            boxes.writerow(["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"])
            yield rows, boxes


def _open(path: Path) -> TextIO:
    return open(path, "w", newline="", encoding="utf-8")


def _columns(manifest: Manifest) -> list[str]:
    labels = [] if names.label_feature(manifest.features) in {None, names.OBJECT_LABELS} else ["label"]
    return ["key", *labels, *_other_features(manifest.features)]


def _other_features(all_names: Sequence[str] | Any) -> list[str]:
    told = {names.IMAGE, names.MASK, "key", names.LABEL, names.LABELS}
    return [name for name in all_names if name not in told and not name.startswith(names.OBJECTS)]


def _row(example: Example) -> list[str]:
    labels = []
    if names.LABELS in example:
        labels = [_joined(example)]
    elif names.LABEL in example:
        labels = example.label_names or [_text(example[names.LABEL])]
    return [example.key, *labels, *(_text(example[name]) for name in _other_features(example))]


def _joined(example: Example) -> str:
    """Return the classes of a multi-label example, separated by ";"; as a JSON list if a class contains that."""
    if _is_json(example.class_names):
        return json.dumps(example.label_names, ensure_ascii=False)
    return _LABEL_SEPARATOR.join(example.label_names)


def _is_json(classes: Sequence[str]) -> bool:
    return any(_LABEL_SEPARATOR in name for name in classes)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return json.dumps(value.tolist())
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def _box_rows(file: str, example: Example) -> Iterator[list[Any]]:
    height, width = example["height"], example["width"]
    boxes = example.boxes if example.boxes is not None else np.zeros((0, 4), np.float32)
    classes = example.label_names or [""] * len(boxes)
    if not len(boxes):  # background: a converter of the table reads only images that it names
        yield [file, width, height, *[""] * 5]
    for (ymin, xmin, ymax, xmax), name in zip(boxes.tolist(), classes, strict=True):
        sides = (xmin * width, ymin * height, xmax * width, ymax * height)
        yield [file, width, height, name, *(f"{side:.4f}".rstrip("0").rstrip(".") for side in sides)]
