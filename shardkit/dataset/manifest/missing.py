"""Explain a missing or damaged manifest: the folder may hold images, a shard, a dataset or an unfinished one."""

import contextlib

from shardkit import naming
from shardkit.options.words import convert_again
from shardkit.storage import Folder

_MAX_DEPTH = 3  # folders between the path and an image: split, class, and one more
_MAX_CHILDREN = 100  # folders searched for a dataset


def is_own_folder(root: Folder) -> bool:
    """Return whether a folder holds files that only shardkit writes: an index, a work folder, manifests of appends."""
    with contextlib.suppress(OSError):
        if any(root.stat(name) is not None for name in (naming.WORK_FOLDER, naming.RUN_LOG)):
            return True
        folders = ((naming.EARLIER_MANIFESTS, naming.is_earlier_manifest), (naming.INDEXES, naming.is_index_folder))
        if any(is_own(child.name) for folder, is_own in folders for child in root.scan(folder)):
            return True
        return any(naming.is_shard_index(child.name) for child in root.scan())
    return False


def damage_remedy(root: Folder) -> str:
    """Return what to do about a damaged manifest, as the end of a sentence.

    Args:
        root: The dataset's folder.
    """
    with contextlib.suppress(OSError):
        if any(naming.is_index_folder(child.name) for child in root.scan(naming.INDEXES)):
            return f"restore it, or remove {naming.MANIFEST} and run the same `shardkit adopt` again"
        if any(naming.is_earlier_manifest(child.name) for child in root.scan(naming.EARLIER_MANIFESTS)):
            # Converting again would remove what was appended.
            return "restore it from a copy; the manifests from before each append are in the folder manifests"
    return f"restore it or {convert_again()}"


def explain_missing_manifest(root: Folder) -> str:
    """Return an explanation of the missing manifest with the remedy, as the end of a sentence.

    Args:
        root: The folder or file given as a dataset.
    """
    plain = "a dataset has one when its conversion is complete"
    with contextlib.suppress(OSError):  # no explanation if the folder cannot be listed
        if root.stat(naming.WORK_FOLDER) is not None:
            return f"{plain}, and this one was interrupted: run the same `shardkit convert` again to finish it"
        given = root.stat("")
        if given is not None and not given.is_folder:
            return _explain_file(root)
        if any(naming.is_index_folder(child.name) for child in root.scan(naming.INDEXES)):
            return f"{plain}, and here an adoption was interrupted: run the same `shardkit adopt` again to finish it"
        children = root.scan()
        if any(naming.is_shard_index(child.name) for child in children):  # also if its generations have manifests
            return f"{plain}, and this folder has shards and indexes of one: {damage_remedy(root)}"
        for child in children[:_MAX_CHILDREN]:
            if child.is_folder and root.stat(f"{child.name}/{naming.MANIFEST}") is not None:
                return f"this is the parent folder of a dataset: give {root.url}/{child.name}"
        if any(child.name.endswith(naming.RECORDS_ENDING) for child in children):
            return (
                f"{plain}, and this folder has TFRecord files only: restore its manifest, or {convert_again()}; if "
                f"others wrote them, `shardkit adopt {root.url}` makes one"
            )
        if _has_image(root, "", _MAX_DEPTH):
            return f"this is a folder of images: convert it first, with `shardkit convert {root.url} OUT`, and give OUT"
    return plain


def _explain_file(root: Folder) -> str:
    folder, _, name = root.url.rpartition("/")
    if name.endswith((naming.RECORDS_ENDING, naming.INDEX_ENDING)):
        return f"this is one file of a dataset: give its folder, {folder or '/'}"
    return "this is a file: give the folder of a dataset, or its manifest.json"


def _has_image(root: Folder, path: str, depth: int) -> bool:
    """Return whether a folder has an image; if not, look into its first folder, up to `depth` levels."""
    children = root.scan(path)
    if any(child.name.lower().endswith(tuple(naming.IMAGE_ENDINGS)) and not child.is_folder for child in children):
        return True
    first = next((child.name for child in children if child.is_folder and not child.name.startswith(".")), None)
    return first is not None and depth > 0 and _has_image(root, f"{path}/{first}".lstrip("/"), depth - 1)
