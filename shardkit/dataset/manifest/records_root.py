"""The one folder outside of a dataset's own that its manifest may name: the folder of adopted TFRecords.

    /data/imagenet/train-00000-of-01024        records_root = "../imagenet": `..` as often as needed, also never, then
                                               names
    /data/indexed/manifest.json                paths of shards = "../imagenet/train-00000-of-01024"
    /data/indexed/indexes/…                    paths of indexes and all other files stay inside the folder

A manifest may come from somebody else, so it must not make a reader open files that its user does not know of. The path
is relative and leads to one folder, which `info`, `verify` and `adopt` name; every shard lies below it, with all
symbolic links resolved; everything but TFRecords stays inside the dataset's own folder. Sizes, CRCs and sha256 of the
files are those of the manifest, as for any shard, so that only a file which the author has, too, can be read.
"""

import os
from collections.abc import Iterable

from shardkit import naming
from shardkit.errors import ManifestError
from shardkit.storage import Folder, LocalFolder

_UP = ".."
_NOT_LOCAL = (
    "which works for local folders only; put the manifest's folder and the records on a disk, or adopt the records in "
    "their own folder"
)


def records_root_problem(records_root: str | None) -> str | None:
    """Return why a manifest's ``records_root`` is not allowed; None if it is."""
    if records_root is None:
        return None
    parts = records_root.split("/")
    rest = "/".join(parts[next((at for at, part in enumerate(parts) if part != _UP), len(parts)) :])
    if rest and (problem := naming.relative_path_problem(rest)):
        return f"records_root {records_root!r} may not be used: {problem}"
    return None


def shard_path_problem(path: str, records_root: str | None) -> str | None:
    """Return why the path of a shard is not allowed in a manifest with this ``records_root``; None if it is."""
    if records_root is None:
        if not path.startswith(_UP):
            return None  # the type of the path has checked it
        below = path
    elif path.startswith(f"{records_root}/"):
        below = path.removeprefix(f"{records_root}/")
    else:
        return f"path {path!r} may not be used: it is not below records_root {records_root!r}"
    problem = naming.relative_path_problem(below)
    return f"path {path!r} may not be used: {problem}" if problem else None


def check_records_root(root: Folder, records_root: str, paths: Iterable[str], *, where: str) -> None:
    """Check that a dataset's shards lie below the folder that its manifest names.

    Args:
        root: The dataset's folder.
        records_root: The manifest's records_root, valid.
        paths: Paths of the shards, valid.
        where: Name of the manifest for errors.

    Raises:
        ManifestError: A shard is a symbolic link to a file elsewhere, or the dataset is in an object store.
    """
    if not isinstance(root, LocalFolder):
        msg = f"{where}: the manifest points to TFRecords outside of its folder ({records_root}), {_NOT_LOCAL}"
        raise ManifestError(msg)
    allowed = os.path.realpath(f"{root.path}/{records_root}")
    folders: dict[str, bool] = {}  # thousands of shards are in few folders
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder not in folders:
            folders[folder] = _is_inside(os.path.realpath(f"{root.path}/{folder}"), allowed)
        at = f"{root.path}/{path}"
        if not folders[folder] or (os.path.islink(at) and not _is_inside(os.path.realpath(at), allowed)):
            raise ManifestError(
                f"{where}: the shard {path} is a symbolic link to {os.path.realpath(at)}, outside of {allowed}, the "
                "folder that the manifest names; adopt the file itself"
            )


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
