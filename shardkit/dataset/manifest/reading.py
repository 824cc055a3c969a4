"""Read the manifest of a dataset's folder."""

from pydantic_core import from_json

from shardkit import naming
from shardkit.dataset.manifest.missing import damage_remedy, explain_missing_manifest, is_own_folder
from shardkit.dataset.manifest.model import Manifest
from shardkit.dataset.manifest.pinning import pinned, read_earlier
from shardkit.dataset.manifest.text import parse_manifest
from shardkit.errors import DataError, ManifestError, SpecialFileError
from shardkit.storage import Folder, is_of_machine, open_folder, unreadable

MAX_MANIFEST_BYTES = 256 << 20  # 256 MiB: some 500,000 shards


def dataset_folder(path: str) -> Folder:
    """Open the folder of a dataset, given by its own path or that of its ``manifest.json``, with or without a pin."""
    path, _ = pinned(path)
    folder, slash, last = path.rpartition("/")
    return open_folder(folder + slash or "." if last == naming.MANIFEST else path)


def read_manifest(path: str) -> Manifest:
    """Read the manifest of a dataset.

    Args:
        path: The dataset's folder, local or s3:// or gs://, or its ``manifest.json``. ``OUT@sha256:…`` with the digest
            of a manifest is the dataset as it was with that manifest, before later appends.

    Raises:
        CallError: This is not a path, or what follows ``@sha256:`` is not a digest.
        ManifestError: There is no manifest, it is damaged or of a newer format, it names a path outside its folder, or
            the dataset never had the pinned manifest.
        MachineError: It cannot be read.
    """
    from shardkit.arguments.checks import folder  # it needs NumPy, which `import shardkit` does not load

    path = folder("dataset", path)
    root, digest = dataset_folder(path), pinned(path)[1]
    where = f"{root.url}/{naming.MANIFEST}"
    try:
        raw = manifest_bytes(root)
    except (FileNotFoundError, NotADirectoryError):
        raise ManifestError(f"{where}: there is no manifest here; {explain_missing_manifest(root)}") from None
    except OSError as error:
        raise unreadable(where, error) from error
    manifest = parse_manifest(raw, root, where=where, remedy=lambda: damage_remedy(root))
    if digest is not None and manifest.digest != digest:
        raw, where = read_earlier(root, digest, [one.previous for one in manifest.generations] + [manifest.digest])
        manifest = parse_manifest(raw, root, where=where, remedy=lambda: "restore it from a copy")
    manifest.check_records(root, where=where)
    manifest._root = root  # noqa: SLF001 - only reading sets it
    return manifest


def manifest_bytes(root: Folder) -> bytes:
    """Return the text of a dataset's manifest.

    Raises:
        ManifestError: The file is too large for a manifest.
        OSError: It is missing, or it cannot be read.
    """
    try:
        return root.read_at_most(naming.MANIFEST, MAX_MANIFEST_BYTES)
    except SpecialFileError:
        raise
    except DataError as error:
        raise ManifestError(f"{error}; it is damaged, {damage_remedy(root)}") from None


def find_dataset(path: str) -> Manifest | None:
    """Return the manifest of the dataset at a path; None if something else is there.

    Raises:
        ManifestError: The manifest is damaged or of a newer format, and it or the files next to it are shardkit's.
        MachineError: There is a manifest.json that may not be read.
    """
    root = dataset_folder(path)
    try:
        raw = manifest_bytes(root)
    except DataError:
        raw = b""  # too large, or no regular file
    except OSError as error:
        if isinstance(error, PermissionError) or is_of_machine(error):
            raise unreadable(f"{root.url}/{naming.MANIFEST}", error) from error
        return None
    except ValueError:  # no path
        return None
    # Other programs write a manifest.json too. A damaged one is ours if the files next to it are.
    return read_manifest(path) if _is_own(raw) or is_own_folder(root) else None


def _is_own(raw: bytes) -> bool:
    try:
        found = from_json(raw)
    except ValueError:
        return False
    return isinstance(found, dict) and "plan_digest" in found
