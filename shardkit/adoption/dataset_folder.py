"""Check the folder that an adoption is written into: read-only, of something else, or with an earlier adoption.

The same files with the same options are nothing to do, everything else is refused. So the command of an adoption that
was killed after it had written the manifest ends well, as `convert` does.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from posixpath import dirname
from typing import Any

from shardkit import naming, software
from shardkit.dataset.manifest import Manifest, find_dataset
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.dataset.manifest.readopting import ADOPT, adopt_command
from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.storage import TEMPORARY, Folder, LocalFolder, open_folder


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
    others = set[str]()
    urls = {f"{records.url.rstrip('/')}/{path}": path for path in paths}
    for root, manifest in ((f"{one.root.url.rstrip('/')}/", one) for one in own):
        below = {url.removeprefix(root): path for url, path in urls.items() if url.startswith(root)}
        for known in {shard.path for _, shard in manifest.shards()} & {*below}:
            del below[known]
        others |= {path for url, path in below.items() if naming.is_generation_folder(url.partition("/")[0])}
    return others


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
        flags = [f"--{one.replace('splits', 'split').replace('_', '-')}" if one != "files" else one for one in others]
        raise CallError(
            f"{url}: the files were adopted before, with other {' and '.join(flags)}; add {named('overwrite', True)} "
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
