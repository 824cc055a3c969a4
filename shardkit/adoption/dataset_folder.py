"""Find and check the folder that an adoption is written into, and the datasets that its files belong to already."""

import os
import posixpath
from collections.abc import Iterable, Sequence

from shardkit import naming
from shardkit.dataset.manifest import Manifest, find_dataset
from shardkit.dataset.manifest.pinning import refuse_pinned
from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.storage import TEMPORARY, Folder, LocalFolder, open_folder


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
    refuse_pinned(named("into"), into)
    root = open_folder(into)
    if not (isinstance(root, LocalFolder) and isinstance(records, LocalFolder)):
        if root.url == records.url:
            return records, None
        msg = (
            f"{named('into', printable(into))}: a dataset points to records elsewhere by a relative path, which works "
            f"for local folders only; leave out {named('into')} to write the manifest next to the records in "
            f"{records.url}"
        )
        raise CallError(msg)
    # The system resolves `..` after links, so the climb starts from the folder itself. The way down may have links.
    climb = os.path.relpath(os.path.abspath(records.path), os.path.realpath(root.path))
    return (records, None) if climb == "." else (root, climb)


def refuse_read_only(root: Folder) -> None:
    """Refuse a local folder that cannot be written before terabytes are read.

    Raises:
        CallError: It is such a folder.
    """
    if not isinstance(root, LocalFolder):
        return
    path = root.path
    while not os.path.exists(path):  # into may name a new folder in new folders
        path = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        msg = f"{path} is read-only; {_elsewhere()}"
        raise CallError(msg)


def _elsewhere() -> str:
    return f"add {named('into', 'DATASET')} to write the manifest and the indexes elsewhere"


def own_datasets(records: Folder, paths: Iterable[str]) -> list[Manifest]:
    """Return the datasets that shardkit wrote and that some of the files are in; not the generations of one."""
    folders = sorted({"", *(posixpath.dirname(path) for path in paths)})
    urls = [f"{records.url.rstrip('/')}/{folder}".rstrip("/") for folder in folders]
    manifests = [one for one in map(find_dataset, urls) if one is not None and not one.is_adopted]
    whole = [one for one in manifests if "appended_to" not in one.options]
    return whole or manifests


def unfinished(records: Folder, paths: Sequence[str], own: Sequence[Manifest]) -> set[str]:
    """Return the files in folders of shardkit's datasets that are not theirs, as of a killed append."""
    others = set[str]()
    above = records.url.rstrip("/") + "/"
    for manifest in own:
        root = manifest.root.url.rstrip("/") + "/"
        known = {root + shard.path for _, shard in manifest.shards()}
        others |= {path for path in paths if _is_of_generation(above + path, root) and above + path not in known}
    return others


def _is_of_generation(url: str, root: str) -> bool:
    below = url.removeprefix(root)
    return url.startswith(root) and naming.is_generation_folder(below.partition("/")[0])


def refuse_own(own: Sequence[Manifest], *, is_elsewhere: bool) -> None:
    """Refuse files of a dataset that shardkit wrote: all that an adoption adds is there.

    Elsewhere, it is done if asked.

    Raises:
        CallError: There are such files.
    """
    if own and not is_elsewhere:
        msg = (
            f"{printable(own[0].root.url)} is a dataset that shardkit wrote, with a manifest and indexes; there is "
            "nothing to adopt. Train on it with shardkit.reader, or give other files"
        )
        raise CallError(msg)


def adopted_before(root: Folder) -> Manifest | None:
    """Return the manifest of the adoption in a folder; None if there is none.

    Raises:
        CallError: The folder has a manifest or a folder `indexes` of something else.
    """
    manifest = find_dataset(root.url)
    if manifest is not None and not manifest.is_adopted:
        msg = f"{root.url} is a dataset that shardkit wrote, and its manifest is not replaced; choose another folder"
        raise CallError(msg)
    if manifest is None and root.stat(naming.MANIFEST) is not None:
        msg = f"{root.url}/{naming.MANIFEST} is not shardkit's, and it is not replaced; {_elsewhere()}"
        raise CallError(msg)
    others = [entry.name for entry in root.scan(naming.INDEXES) if not _is_ours(root, entry.name)]
    if others:
        msg = (
            f"{root.url}/{naming.INDEXES} holds files that shardkit did not write, such as {printable(others[0])}; "
            f"{_elsewhere()}"
        )
        raise CallError(msg)
    return manifest


def _is_ours(root: Folder, name: str) -> bool:
    if name.startswith(TEMPORARY):
        return True
    return naming.is_index_folder(name) and root.stat(f"{naming.INDEXES}/{name}").is_folder  # type: ignore[union-attr] # it was just listed
