"""Find the files of an adoption, and decide their splits."""

import fnmatch
import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardkit import naming
from shardkit.adoption.converting_instead import conversion_of
from shardkit.adoption.scan_files import RecordsFile
from shardkit.dataset.foreign.file_names import is_tfrecord_name, split_of_file
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.refusals import RefusedDataError
from shardkit.storage import Entry, Folder, open_folder, os_errors_as
from shardkit.storage.opening import shared_folder

_MAGIC = "*?["
_SHOWN = 5


def find_files(given: Sequence[str]) -> tuple[Folder, dict[str, Entry]]:
    """Find files by what the user gives.

    Args:
        given: Files, folders (all files below that have a TFRecord file's name) and local patterns; local, s3:// or
            gs://.

    Returns:
        The folder that they have in common, and the files by their paths in it, sorted.

    Raises:
        CallError: There are none, one is missing, or they are not all in one bucket or all local.
        MachineError: A folder cannot be listed.
    """
    entries: dict[str, Entry] = {}
    folders = []
    for one in given:
        for url in _expanded(one):
            folder, found = _files_at(url)
            folders.append(folder)
            if not found:
                msg = f"{printable(one)}: there is no TFRecord file below this folder; give the files themselves"
                raise CallError(msg)
            entries |= found
    if not given:
        msg = "give the TFRecord files to adopt, or their folder"
        raise CallError(msg)
    base = shared_folder(folders if len(folders) == 1 else [url.rpartition("/")[0] for url in entries])
    below = {url.removeprefix(f"{base.rstrip('/')}/"): entry for url, entry in entries.items()}
    for path in below:
        if problem := naming.relative_path_problem(path):
            msg = f"{printable(base)}/{printable(path)}: a manifest cannot name this file: {problem}; rename it"
            raise CallError(msg)
    return open_folder(base), dict(sorted(below.items()))


def _expanded(given: str) -> list[str]:
    """Return the paths that an argument stands for: a local pattern that no shell has expanded, or the path itself."""
    if "://" in given or not any(char in given for char in _MAGIC) or os.path.exists(given):
        return [given]
    found = sorted(glob.glob(os.path.expanduser(given)))
    if not found:
        msg = f"{printable(given)}: no file has a name like this; check the pattern"
        raise CallError(msg)
    return found


def _files_at(url: str) -> tuple[str, dict[str, Entry]]:
    """Return the folder of a file or the folder itself, and its files by URL."""
    whole = open_folder(url)
    with os_errors_as("read", printable(url)):
        entry = whole.stat("")
        if entry is None:
            msg = f"{printable(url)}: there is no such file or folder; check the path"
            raise CallError(msg)
        if not entry.is_folder:
            return whole.url.rpartition("/")[0] or "/", {whole.url: entry}
        return whole.url, {f"{whole.url}/{path}": one for path, one in _below(whole, "")}


def _below(folder: Folder, path: str) -> list[tuple[str, Entry]]:
    found = []
    for entry in folder.scan(path):
        inner = f"{path}/{entry.name}" if path else entry.name
        if entry.is_folder and not entry.name.startswith(".") and entry.name != naming.INDEXES:
            found += _below(folder, inner)
        elif not entry.is_folder and is_tfrecord_name(entry.name):
            found.append((inner, entry))
    return found


def assign_splits(paths: Sequence[str], given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the split of each file, and a sentence that says where the splits come from.

    Args:
        paths: Paths of the files.
        given: Split by pattern, from ``split=NAME=PATTERN``; the first that fits a path or its last part counts.

    Raises:
        CallError: The names of some files tell their split and those of others do not, or a pattern fits no file.
    """
    splits: dict[str, str | None] = dict.fromkeys(paths)
    for pattern, split in given.items():
        fitting = [path for path in paths if _fits(path, pattern)]
        if not fitting:
            msg = f"split {split}, {pattern}: no file has a path like this; the first one is {printable(paths[0])}"
            raise CallError(msg)
        for path in fitting:
            splits[path] = splits[path] or split
    told = {path: split or split_of_file(path) for path, split in splits.items()}
    unknown = [path for path, split in told.items() if split is None]
    if len(unknown) == len(told):
        return dict.fromkeys(paths, "train"), "train: no file name tells a split"
    if unknown:
        shown = ", ".join(map(printable, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
        msg = (
            f"the names of {len(unknown)} of {len(told)} files do not tell their split ({shown}), and those of others "
            "do; give each split a pattern of paths, or adopt fewer files"
        )
        raise CallError(msg)
    checked = {path: naming.check_split_name(split) for path, split in told.items() if split}
    counts = {split: list(checked.values()).count(split) for split in naming.split_order(set(checked.values()))}
    return checked, ", ".join(f"{split} ({naming.counted(count, 'file')})" for split, count in counts.items())


def _fits(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)


def records_files(files: ForeignFiles, splits: Mapping[str, str]) -> list[RecordsFile]:
    """Return the files in the order of the dataset: by split, then by path."""
    order = naming.split_order(set(splits.values()))
    ordered = sorted(files.every, key=lambda file: (order.index(splits[file.path]), file.path))
    return [
        RecordsFile(number, file.path, file.num_bytes, splits[file.path], file.num_records)
        for number, file in enumerate(ordered)
    ]


def refuse_compressed(files: ForeignFiles) -> None:
    """Refuse compressed files.

    Raises:
        DataError: There are some; the message has the command that converts them.
    """
    compressed = [file for file in files.every if file.compression]
    if compressed:
        more = f", and so are {len(compressed) - 1:,} other files" if len(compressed) > 1 else ""
        paths = [file.path for file in files.every]
        msg = (
            f"{files.folder.url}/{printable(compressed[0].path)}: the file is compressed with "
            f"{compressed[0].compression}{more}, so that no record can be found by its offset"
        )
        change = replace(conversion_of(files.folder, paths), meaning="an uncompressed dataset")
        raise RefusedDataError(msg, [change])
