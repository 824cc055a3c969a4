"""Find the files of an adoption: the folder that they have in common, their dataset's folder and their splits."""

import fnmatch
import glob
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from shardkit import naming
from shardkit.adoption.convert_command import convert_command
from shardkit.adoption.scan_files import RecordsFile
from shardkit.dataset.foreign.compression import compression_of
from shardkit.dataset.foreign.file_names import is_tfrecord_name, split_of_file
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.storage import Folder, LocalFolder, open_folder, unreadable

_HEAD_BYTES = 1 << 16  # 64 KiB
_THREADS = 16
_MAGIC = "*?["
_SHOWN = 5


class Found(NamedTuple):
    """The files of an adoption.

    Attributes:
        records: The folder that they have in common.
        sizes: Size of each file in bytes, by its path in that folder, sorted.
    """

    records: Folder
    sizes: dict[str, int]


def find_files(given: Sequence[str]) -> Found:
    """Find files by what the user gives.

    Args:
        given: Files, folders (all files below that have a TFRecord file's name) and local patterns; local, s3:// or
            gs://.

    Raises:
        CallError: There are none, one is missing, or they are not all in one bucket or all local.
        MachineError: A folder cannot be listed.
    """
    sizes: dict[str, int] = {}
    folders = []
    for one in given:
        for url in _expanded(one):
            folder, found = _files_at(url)
            folders.append(folder.url)
            if not found:
                msg = f"{printable(one)}: there is no TFRecord file below this folder; give the files themselves"
                raise CallError(msg)
            sizes |= found
    if not given:
        msg = "give the TFRecord files to adopt, or their folder"
        raise CallError(msg)
    base = _common(folders if len(folders) == 1 else [url.rpartition("/")[0] for url in sizes])
    below = {url.removeprefix(f"{base.rstrip('/')}/"): num_bytes for url, num_bytes in sizes.items()}
    for path in below:
        if problem := naming.relative_path_problem(path):
            msg = f"{printable(base)}/{printable(path)}: a manifest cannot name this file: {problem}; rename it"
            raise CallError(msg)
    return Found(open_folder(base), dict(sorted(below.items())))


def _expanded(given: str) -> list[str]:
    """Return the paths that an argument stands for: a local pattern that no shell has expanded, or the path itself."""
    if "://" in given or not any(char in given for char in _MAGIC) or os.path.exists(given):
        return [given]
    found = sorted(glob.glob(os.path.expanduser(given)))
    if not found:
        msg = f"{printable(given)}: no file has a name like this; check the pattern"
        raise CallError(msg)
    return found


def _files_at(url: str) -> tuple[Folder, dict[str, int]]:
    """Return the folder of a file or the folder itself, and the sizes of its files by URL."""
    whole = open_folder(url)
    try:
        entry = whole.stat("")
        if entry is None:
            msg = f"{printable(url)}: there is no such file or folder; check the path"
            raise CallError(msg)
        if not entry.is_folder:
            return open_folder(whole.url.rpartition("/")[0] or "/"), {whole.url: entry.num_bytes}
        return whole, {f"{whole.url}/{path}": size for path, size in _below(whole, "")}
    except OSError as error:
        raise unreadable(printable(url), error) from error


def _below(folder: Folder, path: str) -> list[tuple[str, int]]:
    found = []
    for entry in folder.scan(path):
        inner = f"{path}/{entry.name}" if path else entry.name
        if entry.is_folder and not entry.name.startswith(".") and entry.name != naming.INDEXES:
            found += _below(folder, inner)
        elif not entry.is_folder and is_tfrecord_name(entry.name):
            found.append((inner, entry.num_bytes))
    return found


def _common(folders: Sequence[str]) -> str:
    schemes = {url.partition("://")[0] if "://" in url else "" for url in folders}
    if len(schemes) > 1:
        msg = "the files are partly local and partly in an object store; adopt them apart"
        raise CallError(msg)
    (scheme,) = schemes
    if not scheme:
        return os.path.commonpath(folders)
    parts = [url.partition("://")[2].split("/") for url in folders]
    same = [len(set(level)) == 1 for level in zip(*parts, strict=False)]
    common = parts[0][: same.index(False) if False in same else len(same)]
    if not common:
        msg = "the files are in several buckets; adopt them apart"
        raise CallError(msg)
    return f"{scheme}://{'/'.join(common)}"


def dataset_place(records: Folder, into: str | None) -> tuple[Folder, str | None]:
    """Return the dataset's folder, and the path from it to the records; None if they are in it.

    Args:
        records: The folder of the records.
        into: The dataset's folder as the user gives it; None for the records' own.

    Raises:
        CallError: No relative path leads to the records.
    """
    if into is None:
        return records, None
    refuse_pinned("--into", into)
    root = open_folder(into)
    if not (isinstance(root, LocalFolder) and isinstance(records, LocalFolder)):
        if root.url == records.url:
            return records, None
        msg = (
            f"--into {printable(into)}: a dataset points to records elsewhere by a relative path, which works for "
            f"local folders only; leave out --into to write the manifest next to the records in {records.url}"
        )
        raise CallError(msg)
    # The system resolves `..` after links, so the climb starts from the folder itself. The way down may have links.
    climb = os.path.relpath(os.path.abspath(records.path), os.path.realpath(root.path))
    if climb == ".":
        return records, None
    if not climb.startswith(".."):
        return root, climb
    return root, climb


def assign_splits(paths: Sequence[str], given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the split of each file, and a sentence that says where the splits come from.

    Args:
        paths: Paths of the files.
        given: Split by pattern, from ``--split NAME=PATTERN``; the first that fits a path or its last part counts.

    Raises:
        CallError: The names of some files tell their split and those of others do not, or a pattern fits no file.
    """
    splits: dict[str, str | None] = dict.fromkeys(paths)
    for pattern, split in given.items():
        fitting = [path for path in paths if _fits(path, pattern)]
        if not fitting:
            msg = f"--split {split}={pattern}: no file has a path like this; the first one is {printable(paths[0])}"
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
            "do; name it with --split NAME=PATTERN, or adopt fewer files"
        )
        raise CallError(msg)
    checked = {path: naming.check_split_name(split) for path, split in told.items() if split}
    counts = {split: list(checked.values()).count(split) for split in naming.split_order(set(checked.values()))}
    return checked, ", ".join(f"{split} ({naming.counted(count, 'file')})" for split, count in counts.items())


def _fits(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)


def records_files(found: Found, splits: Mapping[str, str]) -> list[RecordsFile]:
    """Return the files in the order of the dataset: by split, then by path."""
    order = naming.split_order(set(splits.values()))
    paths = sorted(found.sizes, key=lambda path: (order.index(splits[path]), path))
    return [RecordsFile(number, path, found.sizes[path], splits[path]) for number, path in enumerate(paths)]


def check_heads(found: Found) -> None:
    """Check the beginning of every file: it is an uncompressed TFRecord file, or empty.

    Raises:
        DataError: One is not; the message has the command that converts compressed files.
        MachineError: A file cannot be read.
    """
    records = found.records
    with ThreadPoolExecutor(_THREADS) as pool:
        heads = pool.map(lambda item: _head(records, *item), found.sizes.items())
        compressed = []
        for (path, num_bytes), head in zip(found.sizes.items(), heads, strict=True):
            kind = compression_of(head) if num_bytes else ""
            if kind is None:
                msg = (
                    f"{records.url}/{printable(path)}: this is not a TFRecord file: it does not begin with a "
                    "record's length and its CRC; leave it out, or restore it if it is damaged"
                )
                raise DataError(msg)
            if kind:
                compressed.append((path, kind))
    if compressed:
        path, kind = compressed[0]
        more = f", and so are {len(compressed) - 1:,} other files" if len(compressed) > 1 else ""
        msg = (
            f"{records.url}/{printable(path)}: the file is compressed with {kind}{more}, so that no record can be "
            f"found by its offset; convert it to an uncompressed dataset: {convert_command(records, [*found.sizes])}"
        )
        raise DataError(msg)


def _head(records: Folder, path: str, num_bytes: int) -> bytes:
    try:
        return records.read_range(path, 0, min(_HEAD_BYTES, num_bytes))
    except OSError as error:
        raise unreadable(f"{records.url}/{printable(path)}", error) from error
