"""Find the files of an adoption and their splits, and the call that converts files that cannot be adopted."""

import fnmatch
import glob
import os
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname, join
from typing import Any

from shardkit import naming
from shardkit.dataset.foreign.file_names import is_tfrecord_name, split_of_file
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusedDataError
from shardkit.storage import Entry, Folder, open_folder, os_errors_as
from shardkit.storage.opening import shared_folder

_SHOWN = 5
_MAX_SOURCES = 6  # longer calls name the folder that all files are in


def find_files(given: Sequence[str]) -> tuple[Folder, dict[str, Entry]]:
    """Return the folder that files, folders and local patterns have in common, and the files by path, sorted."""
    entries: dict[str, Entry] = {}
    folders = []
    for url in [path for one in given for path in _expanded(one)]:
        folder, found = _files_at(url)
        folders.append(folder)
        entries |= found
    if not given:
        raise CallError("give the TFRecord files to adopt, or their folder")
    base = shared_folder(folders if len(folders) == 1 else [url.rpartition("/")[0] for url in entries])
    below = {url.removeprefix(f"{base.rstrip('/')}/"): entry for url, entry in entries.items()}
    for path in below:
        if problem := naming.relative_path_problem(path):
            where = f"{printable(base)}/{printable(path)}"
            raise CallError(f"{where}: a manifest cannot name this file: {problem}; rename it")
    return open_folder(base), dict(sorted(below.items()))


def _expanded(given: str) -> list[str]:
    """Return the paths that an argument stands for: a local pattern that no shell has expanded, or the path itself."""
    if "://" in given or not glob.has_magic(given) or os.path.exists(given):
        return [given]
    found = sorted(glob.glob(os.path.expanduser(given)))
    if not found:
        raise CallError(f"{printable(given)}: no file has a name like this; check the pattern")
    return found


def _files_at(url: str) -> tuple[str, dict[str, Entry]]:
    """Return the folder of a file or the folder itself, and its files by URL."""
    whole = open_folder(url)
    with os_errors_as("read", printable(url)):
        entry = whole.stat("")
        if entry is None:
            raise CallError(f"{printable(url)}: there is no such file or folder; check the path")
        if not entry.is_folder:
            return whole.url.rpartition("/")[0] or "/", {whole.url: entry}
        found = {f"{whole.url}/{path}": one for path, one in _below(whole, "")}
    if not found:
        raise CallError(f"{printable(url)}: there is no TFRecord file below this folder; give the files themselves")
    return whole.url, found


def _below(folder: Folder, path: str) -> list[tuple[str, Entry]]:
    found = []
    for entry in folder.scan(path):
        inner = join(path, entry.name)
        if entry.is_folder and not entry.name.startswith(".") and entry.name != naming.INDEXES:
            found += _below(folder, inner)
        elif not entry.is_folder and is_tfrecord_name(entry.name):
            found.append((inner, entry))
    return found


def assign_splits(paths: Sequence[str], given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the split of each file, and a sentence that says where the splits come from.

    Args:
        paths: Paths of the files.
        given: Split by pattern; the first pattern that fits a path or its last part counts.
    """
    chosen: dict[str, str] = {}
    for pattern, split in given.items():
        fitting = [path for path in paths if any(fnmatch.fnmatchcase(one, pattern) for one in (path, basename(path)))]
        if not fitting:
            where = f"split {split}, {pattern}"
            raise CallError(f"{where}: no file has a path like this; the first one is {printable(paths[0])}")
        chosen = dict.fromkeys(fitting, split) | chosen
    splits = {path: name for path in paths if (name := chosen.get(path) or split_of_file(path))}
    if not splits:
        return dict.fromkeys(paths, "train"), "train: no file name tells a split"
    if unknown := [path for path in paths if path not in splits]:
        shown = ", ".join(map(printable, unknown[:_SHOWN])) + (", …" if len(unknown) > _SHOWN else "")
        raise CallError(
            f"the names of {len(unknown)} of {len(paths)} files do not tell their split ({shown}), and those of others "
            "do; give each split a pattern of paths, or adopt fewer files"
        )
    splits = {path: naming.check_split_name(split) for path, split in splits.items()}
    counts = {split: [*splits.values()].count(split) for split in naming.split_order({*splits.values()})}
    return splits, ", ".join(f"{split} ({naming.counted(count, 'file')})" for split, count in counts.items())


def refuse_compressed(files: ForeignFiles) -> None:
    """Refuse compressed files, with the call that converts them."""
    compressed = [file for file in files.every if file.compression]
    if compressed:
        more = f", and so are {len(compressed) - 1:,} other files" if len(compressed) > 1 else ""
        msg = (
            f"{files.folder.url}/{printable(compressed[0].path)}: the file is compressed with "
            f"{compressed[0].compression}{more}, so that no record can be found by its offset"
        )
        change = conversion_of(files.folder, [file.path for file in files.every], meaning="an uncompressed dataset")
        raise RefusedDataError(msg, [change])


def conversion_of(records: Folder, paths: Sequence[str], meaning: str = "", **options: Any) -> Change:
    """Return the call that converts TFRecord files; it names their folders if it converts all files in these."""
    folders = {dirname(path) for path in paths}
    # A source is read with the split folders in it.
    chosen = {dirname(path) if naming.split_of_folder(basename(path)) else path for path in folders}
    if not all(_records_in(records, folder) <= {*paths} for folder in folders):
        chosen = {*paths}
    if "" in chosen or len(chosen) > _MAX_SOURCES:
        chosen = {""}
    urls = [f"{records.url.rstrip('/')}/{one}".rstrip("/") for one in sorted(chosen)]
    changed = {"layout": "tfrecord", **options}
    return Change(meaning, changed, sources=tuple(urls), command="convert", starts_anew=True)


def _records_in(records: Folder, folder: str) -> set[str]:
    names = [entry.name for entry in records.scan(folder) if not entry.is_folder and is_tfrecord_name(entry.name)]
    return {join(folder, name) for name in names}
