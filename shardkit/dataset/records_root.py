"""The one folder outside of a dataset's own that its manifest may name: the folder of adopted TFRecords.

    /data/imagenet/train-00000-of-01024        records_root = "../imagenet": `..` as often as needed, then names
    /data/indexed/manifest.json                paths of shards = "../imagenet/train-00000-of-01024"
    /data/indexed/indexes/…                    paths of indexes and all other files stay inside the folder

A manifest may come from somebody else, so it must not make a reader open other files of the machine. Paths are relative
and lead to TFRecords only; dataset and records have a parent folder in common that is not the root of the file system;
a shard is opened only if, with all symbolic links resolved, it is a file below that common parent folder. Sizes, CRCs
and sha256 are those of the manifest, as for any shard. `info` and `verify` name the folder.
"""

import os

from shardkit import naming
from shardkit.errors import DataError, ManifestError
from shardkit.storage import Folder, LocalFolder

_UP = ".."


def num_climbs(path: str) -> int:
    """Return the number of ``..`` at the beginning of a path."""
    parts = path.split("/")
    return next((at for at, part in enumerate(parts) if part != _UP), len(parts))


def records_root_problem(records_root: str | None) -> str | None:
    """Return why a manifest's ``records_root`` is not allowed; None if it is."""
    if records_root is None:
        return None
    climbs = num_climbs(records_root)
    rest = "/".join(records_root.split("/")[climbs:])
    if not climbs:
        return f"records_root {records_root!r} may not be used: it does not begin with '..'"
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


def check_climb(root: Folder, records_root: str, *, where: str) -> None:
    """Check that a dataset and the records it points to have a parent folder in common, other than ``/``.

    Args:
        root: The dataset's folder.
        records_root: The manifest's records_root, valid.
        where: Name of the manifest for errors.

    Raises:
        ManifestError: They have not, or the dataset is not in a local folder.
    """
    if not isinstance(root, LocalFolder):
        msg = (
            f"{where}: the manifest points to TFRecords outside of its folder ({records_root}), which works for local "
            "folders only; put the manifest's folder and the records on a disk, or adopt the records in their own folder"
        )
        raise ManifestError(msg)
    if common_parent(root, records_root) == "/":
        msg = (
            f"{where}: the manifest points to {records_root}, which has no parent folder in common with it but /; move "
            "the dataset's folder near the records, at the same relative path as when they were adopted"
        )
        raise ManifestError(msg)


def common_parent(root: LocalFolder, records_root: str) -> str:
    """Return the absolute path of the folder that a dataset and its records have in common, links resolved."""
    path = os.path.realpath(root.path)
    for _ in range(num_climbs(records_root)):
        path = os.path.dirname(path)
    return path


def check_inside(root: Folder, path: str) -> None:
    """Check that the path of a shard does not lead out of the common parent folder by a symbolic link.

    Args:
        root: The dataset's folder.
        path: The shard's path in the manifest; those inside the dataset's folder are not looked at.

    Raises:
        DataError: It does.
    """
    climbs = num_climbs(path)
    if not climbs or not isinstance(root, LocalFolder):
        return
    allowed = common_parent(root, path)
    found = os.path.realpath(f"{root.path}/{path}")
    if not found.startswith(f"{allowed}/"):
        msg = (
            f"{root.url}/{path}: this shard is a symbolic link to {found}, outside of {allowed}, the parent folder of "
            f"the dataset and its records; adopt the file itself"
        )
        raise DataError(msg)
