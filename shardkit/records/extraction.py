"""Write a dataset back to a folder: images byte for byte as stored, and a table of everything else.

FOLDER/<split>/<class>/<key>        if every example has one class; the start of a key that repeats the split or class
                                    is left out
FOLDER/<split>/images/<key>         other datasets
FOLDER/<split>/masks/<key>.png      if there are masks
FOLDER/examples.jsonl, …            the table; see `dataset.extracted_table`

`convert FOLDER` gives the same dataset again.
"""

import hashlib
import json
import math
import re
import shlex
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardkit.dataset import extracted_table as table
from shardkit.dataset import features as names
from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.errors import CallError
from shardkit.naming import printable, split_of_folder
from shardkit.records.example import Example, is_unlabelled
from shardkit.records.new_folder import new_folder
from shardkit.records.sequence import Examples

COLUMNS = ("format", "group")  # of the index, with which examples are opened
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\x7f%]|^\.+|[. ]+$')  # also of Windows and of archives
_ENDINGS = {"JPEG": ".jpg", "PNG": ".png"}
_SAME_ENDINGS = {".jpg": {".jpg", ".jpeg", ".jpe", ".jfif"}, ".png": {".png"}}
_MAX_NAME = 200  # bytes of a name; file systems allow 255
_DIGEST_DIGITS = 12


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
    with new_folder(folder, "extract") as unfinished:
        parts = [Examples(dataset, split, where, columns=COLUMNS) for split in splits or read_manifest(dataset).splits]
        yield from write_examples(parts, unfinished)


def command_to_convert(folder: str) -> str:
    """Return the command that converts an extracted folder to the same dataset again.

    Args:
        folder: The folder as the user wrote it.
    """
    return shlex.join(["shardkit", "convert", folder, "OUT"])


def renamed_classes(manifest: Manifest) -> list[str]:
    """Return the classes whose folders have other names, because a file system may refuse theirs."""
    if manifest.features.get(names.LABEL) != names.CLASS_LABEL:
        return []
    return [name for name in manifest.classes if safe_name(name) != name]


def write_examples(parts: Sequence[Examples], folder: Path) -> Iterator[Path]:
    """Write the examples of some splits; yield the path of each image that is written, below the folder.

    Args:
        parts: The examples of each split of one dataset, opened with COLUMNS.
        folder: A new folder. It is not complete before the iteration ends.

    Raises:
        CallError: The name of a class is no line of text.
    """
    manifest = parts[0].manifest
    if bad := next((name for name in manifest.classes if "\n" in name or "\r" in name), None):
        msg = f"the class {printable(bad)!r} contains a line break, and {table.CLASSES} has a class a line; rename it"
        raise CallError(msg)
    folder.mkdir(parents=True)
    types = table.ExtractedTypes(
        features=dict(manifest.features),
        splits=[one.split for one in parts],
        has_unlabelled=any(manifest.splits[one.split].num_unlabelled for one in parts),
    )
    (folder / table.TYPES).write_text(types.to_json() + "\n", encoding="utf-8")
    if manifest.classes:
        lines = "".join(f"{name}\n" for name in manifest.classes)
        (folder / table.CLASSES).write_text(lines, encoding="utf-8", newline="")
    with open(folder / table.TABLE, "w", encoding="utf-8", newline="") as file:
        for examples in parts:
            for path, row in _write_split(examples, folder / examples.split):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                yield path


def _write_split(examples: Examples, folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the path of each image, and its row of the table."""
    folder.mkdir()
    index = examples.index
    formats, groups = index["format"], index["group"]
    for number, example in enumerate(examples):
        path = _image_path(example, examples, _ENDINGS.get(formats[number].as_py(), ""), folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(example[names.IMAGE])
        below = path.relative_to(folder.parent)
        row = {table.FILE: below.as_posix(), table.KEY: example.key, table.SPLIT: examples.split}
        if (group := groups[number].as_py()) is not None:
            row[table.GROUP] = group
        if names.MASK in example:
            mask = folder / "masks" / path.relative_to(folder / "images").with_suffix(".png")
            while mask.exists():  # of an image whose name differs in its ending
                mask = mask.with_name(f"{mask.stem}-1{mask.suffix}")
            mask.parent.mkdir(parents=True, exist_ok=True)
            mask.write_bytes(example[names.MASK])
            row[table.column_of(names.MASK)] = mask.relative_to(folder.parent).as_posix()
        yield below, row | _values(example)


def _values(example: Example) -> dict[str, Any]:
    """Return the columns of an example's features, without its files and its key."""
    found: dict[str, Any] = {}
    label = names.label_feature(example)
    if label == names.OBJECT_LABELS:
        found[table.OBJECTS] = _objects(example)
    elif label is not None and is_unlabelled(example):
        found[label] = None
    elif label == names.LABELS:
        found[label] = example.label_names
    elif label is not None:
        found[label] = example.label_names[0] if example.label_names else _json(example[label])
    told = {names.IMAGE, names.MASK, table.KEY, label}
    others = [name for name in example if name not in told and not name.startswith(names.OBJECTS)]
    return found | {table.column_of(name): _json(example[name]) for name in others}


def _objects(example: Example) -> list[dict[str, Any]]:
    boxes = example.boxes if example.boxes is not None else np.zeros((0, 4), np.float32)
    fields = {field: _json(example[name]) for field, name in table.object_fields(example).items()}
    rows = zip(_json(boxes), example.label_names, *fields.values(), strict=True)
    return [dict(zip((table.BOX, table.OBJECT_LABEL, *fields), row, strict=True)) for row in rows]


def _json(value: Any) -> Any:
    """Return a value as JSON has it; NaN, which JSON lacks, is null."""
    if isinstance(value, np.ndarray):
        return [_json(one) for one in value.tolist()]
    if isinstance(value, list):
        return [_json(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _image_path(example: Example, examples: Examples, ending: str, folder: Path) -> Path:
    parts = example.key.split("/")
    rest = parts[1:] if len(parts) > 1 and split_of_folder(parts[0]) == examples.split else parts
    if examples.manifest.features.get(names.LABEL) == names.CLASS_LABEL:
        top = repeated = table.UNLABELLED
        if example.label_names:
            [repeated] = example.label_names
            top = safe_name(repeated)
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
