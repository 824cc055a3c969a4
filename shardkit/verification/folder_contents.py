"""Find what a dataset's folder holds besides the dataset: leftovers, unfinished appends, files of the user."""

from shardkit import naming
from shardkit.dataset.export_list import own_exports
from shardkit.dataset.manifest import Manifest, manifest_bytes, parse_manifest
from shardkit.errors import ManifestError
from shardkit.storage import TEMPORARY, Folder
from shardkit.verification.shards import DatasetProblem


def leftover_files(root: Folder, manifest: Manifest) -> list[DatasetProblem]:
    """Return a problem for each file that does not belong: shards of other conversions, temporary files of writers."""
    known = {path for _, shard in manifest.shards() for path in (shard.path, shard.index.path)}
    # Next to adopted records, others may have any names.
    is_ours = naming.is_shard_file if not manifest.is_adopted else lambda _: False
    folders = ["", *(one.folder for one in manifest.generations if one.folder)]
    entries = [(f"{folder}/{one.name}".lstrip("/"), one.name) for folder in folders for one in root.scan(folder)]
    return [
        DatasetProblem(path, None, "is not part of this dataset: the manifest does not list it; remove it")
        for path, name in entries
        if (is_ours(name) and path not in known) or name.startswith(TEMPORARY)
    ]


def unfinished_appends(root: Folder) -> list[str]:
    """Return the folders of appends that the current manifest does not list: they run, or did not end properly."""
    try:
        listed = parse_manifest(manifest_bytes(root), root, where=naming.MANIFEST).generations
    except (OSError, ManifestError):
        return []
    known = {one.folder for one in listed}
    return [
        entry.name
        for entry in root.scan()
        if entry.is_folder and naming.is_generation_folder(entry.name) and entry.name not in known
    ]


def other_names(root: Folder, manifest: Manifest) -> list[str]:
    """Return the names in a dataset's folder that the dataset does not consist of, and that harm no reader.

    They are a user's files, and the work folder of a run that was killed after it had published.
    """
    known = {path for _, shard in manifest.shards() for path in (shard.path, shard.index.path)}
    known |= naming.DATASET_FILES | {file.path for file in manifest.files} | own_exports(root).keys()
    if manifest.is_adopted:
        return []  # the folder is that of its records' owner
    return sorted(
        f"{entry.name}/" if entry.is_folder else entry.name
        for entry in root.scan()
        if entry.name not in known
        and not naming.is_shard_file(entry.name)
        and not entry.name.startswith(TEMPORARY)
        and not (entry.is_folder and _is_of_appends(entry.name))
    )


def _is_of_appends(name: str) -> bool:
    return name == naming.EARLIER_MANIFESTS or naming.is_generation_folder(name)
