"""Find the files of an adoption, their splits and their layout, and check the folder that is written into.

If it holds an earlier adoption of the same files with the same options, nothing is done; everything else is refused. So
the command of an adoption that was killed after it had written the manifest ends well, as `convert` does.
"""

import fnmatch
import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from posixpath import basename, dirname, join
from typing import Any

from shardkit import naming, software
from shardkit.dataset.foreign.file_names import is_tfrecord_name, split_of_file
from shardkit.dataset.foreign.files import ForeignFiles
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.foreign.record_layout import RecordLayout
from shardkit.dataset.manifest import Manifest, find_dataset
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.dataset.manifest.readopting import ADOPT, adopt_command
from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.options.words import named
from shardkit.refusals import RefusedDataError
from shardkit.storage import TEMPORARY, Entry, Folder, LocalFolder, open_folder, os_errors_as
from shardkit.storage.opening import shared_folder

_FILES, _RECORDS = 8, 16  # files, spread over all, and records of each, from which the layout is inferred
_SHOWN = 5
_MAX_SOURCES = 6  # longer calls name the folder that all files are in


def find_files(given: Sequence[str]) -> tuple[Folder, dict[str, Entry]]:
    """Return the folder that files, folders and local patterns have in common, and the files by path, sorted."""
    if not given:
        raise CallError("give the TFRecord files to adopt, or their folder")
    entries, folders = dict[str, Entry](), list[str]()
    for url in [path for one in given for path in _expanded(one)]:
        whole = open_folder(url)
        with os_errors_as("read", printable(url)):
            entry = whole.stat("")
            if entry is None:
                raise CallError(f"{printable(url)}: there is no such file or folder; check the path")
            found = _below(whole, "") if entry.is_folder else [("", entry)]
        if not found:
            raise CallError(f"{printable(url)}: there is no TFRecord file below this folder; give the files themselves")
        folders.append(whole.url if entry.is_folder else whole.url.rpartition("/")[0] or "/")
        entries |= {join(whole.url, path).removesuffix("/"): one for path, one in found}
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
    """Return the split of each file, and where it comes from; of `given`, the first pattern that fits a path counts."""
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


def adoptable_layout(files: ForeignFiles, overrides: LayoutOverrides) -> RecordLayout:
    """Return the layout of the records, from the first ones of some files, if the reader can read them as they are."""
    num = len(files.files)
    chosen = [files.files[at * num // _FILES] for at in range(_FILES)] if num > _FILES else files.files
    samples = files.sample(chosen, _RECORDS, _RECORDS)
    layout = files.infer_layout([one for some in samples.values() for one in some], overrides)
    problem = None
    if layout.image.form != "encoded":
        problem = f"the image in {printable(layout.image.name)!r} is stored as pixels, not as a JPEG or PNG"
    elif layout.label.is_text:
        problem = f"the labels in {printable(layout.label.name)!r} are texts, not numbers"
    if problem is not None:
        msg = f"{printable(files.folder.url)}: {problem}, and records are adopted as they are"
        raise RefusedDataError(msg, [conversion_of(files.folder, [file.path for file in files.every])])
    return layout


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


def dataset_place(records: Folder, into: str | None) -> tuple[Folder, str | None]:
    """Return the dataset's folder, and the path from it to the records; None if they are in it."""
    if into is None:
        return records, None
    refuse_pinned(named("into"), into)
    root = open_folder(into)
    if not (isinstance(root, LocalFolder) and isinstance(records, LocalFolder)):
        if root.url == records.url:
            return records, None
        raise CallError(
            f"{named('into', printable(into))}: a dataset points to records elsewhere by a relative path, which works "
            f"for local folders only; leave out {named('into')} to write the manifest next to the records in "
            f"{records.url}"
        )
    # The system resolves `..` after links, so the climb starts from the folder itself. The way down may have links.
    climb = os.path.relpath(os.path.abspath(records.path), os.path.realpath(root.path))
    return (records, None) if climb == "." else (root, climb)


def refuse_read_only(root: Folder) -> None:
    """Refuse a local folder that cannot be written before terabytes are read."""
    if isinstance(root, LocalFolder):
        path = root.path
        while not os.path.exists(path):  # into may name a new folder in new folders
            path = os.path.dirname(path)
        if not os.access(path, os.W_OK):
            raise CallError(f"{path} is read-only; {_elsewhere()}")


def _elsewhere() -> str:
    return f"add {named('into', 'DATASET')} to write the manifest and the indexes elsewhere"


def own_datasets(records: Folder, paths: Iterable[str]) -> list[Manifest]:
    """Return the datasets that shardkit wrote and that some of the files are in; not the generations of one."""
    folders = sorted({"", *map(dirname, paths)})
    found = (find_dataset(f"{records.url.rstrip('/')}/{folder}".rstrip("/")) for folder in folders)
    manifests = [one for one in found if one is not None and not one.is_adopted]
    return [one for one in manifests if "appended_to" not in one.options] or manifests


def unfinished(records: Folder, paths: Sequence[str], own: Sequence[Manifest]) -> set[str]:
    """Return the files in folders of shardkit's datasets that are not theirs, as of a killed append."""
    shards = {f"{one.root.url.rstrip('/')}/": {shard.path for _, shard in one.shards()} for one in own}

    def is_other(url: str) -> bool:
        below = [(url.removeprefix(root), known) for root, known in shards.items() if url.startswith(root)]
        return any(path not in known and naming.is_generation_folder(path.partition("/")[0]) for path, known in below)

    return {path for path in paths if is_other(f"{records.url.rstrip('/')}/{path}")}


def refuse_own(own: Sequence[Manifest]) -> None:
    """Refuse files of a dataset that shardkit wrote: all that an adoption adds is there."""
    if own:
        raise CallError(
            f"{printable(own[0].root.url)} is a dataset that shardkit wrote, with a manifest and indexes; there is "
            "nothing to adopt. Train on it with shardkit.reader, or give other files"
        )


def adopted_before(root: Folder) -> Manifest | None:
    """Return the manifest of the adoption in a folder; None if there is none. Refuse a folder of something else."""
    manifest = find_dataset(root.url)
    if manifest is not None and not manifest.is_adopted:
        what = "is a dataset that shardkit wrote, and its manifest is not replaced; choose another folder"
        raise CallError(f"{root.url} {what}")
    if manifest is None and root.stat(naming.MANIFEST) is not None:
        raise CallError(f"{root.url}/{naming.MANIFEST} is not shardkit's, and it is not replaced; {_elsewhere()}")
    for entry in root.scan(naming.INDEXES):
        if not (entry.name.startswith(TEMPORARY) or (entry.is_folder and naming.is_index_folder(entry.name))):
            what = f"holds files that shardkit did not write, such as {printable(entry.name)}"
            raise CallError(f"{root.url}/{naming.INDEXES} {what}; {_elsewhere()}")
    return manifest


def refuse_other(before: Manifest, recorded: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Refuse other options or other files, by path and size, than those of an earlier adoption, before any is read."""
    url, earlier = printable(before.root.url), before.options.get(ADOPT, {})
    if others := sorted(name for name in {*earlier, *recorded} if earlier.get(name) != recorded.get(name)):
        options = [one if one == "files" else named({"splits": "split_files"}.get(one, one)) for one in others]
        raise CallError(
            f"{url}: the files were adopted before, with other {' and '.join(options)}; add {named('overwrite', True)} "
            f"to adopt them again, or {named('into', 'DATASET')} to write another manifest elsewhere"
        )
    known = {before.path_in_records(shard): shard.num_bytes for _, shard in before.shards()}
    for path in sorted({*known, *sizes}):
        if known.get(path) != sizes.get(path):
            what = "is gone" if path not in sizes else "has another size now" if path in known else "is new"
            raise CallError(f"{url}: the files were adopted before, and {printable(path)} {what}; {_again(before)}")


def refuse_changed(before: Manifest, sha256: Mapping[str, str]) -> None:
    """Raise the error for another result, by hashes of the files, than that of an earlier adoption."""
    url = f"{printable(before.root.url)}: the files were adopted before"
    known = {before.path_in_records(shard): shard.sha256 for _, shard in before.shards()}
    for path, found in sha256.items():
        if known.get(path) != found:
            raise DataError(f"{url}, and {printable(path)} has changed since; {_again(before)}")
    why = software.difference(before.software, software.versions(), ignored=software.OPTIONAL) or "of other features"
    raise CallError(f"{url}, with another result ({why}); {_again(before)}")


def _again(before: Manifest) -> str:
    return f"adopt the files as they are now with `{adopt_command(before)}`"
