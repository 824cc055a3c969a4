"""The command that adopts TFRecords again, with the options that the manifest keeps: the remedy for a changed file.

``options`` of the manifest of adopted records holds, under the key ``adopt``, what the user gave: the files and
folders, relative to the dataset's folder, and every option that is not the default.
"""

import os

from shardkit.dataset.manifest import Manifest, find_dataset
from shardkit.errors import ShardkitError
from shardkit.options.call import Call
from shardkit.options.words import convert_again, named, words_of
from shardkit.storage import Folder, LocalFolder

ADOPT = "adopt"  # key in the manifest's options
# Options whose names in the manifest are their own; the names of classes are kept without a file.
_KEPT = ("image_feature", "label_feature", "label_type", "key_feature", "name", "unlabelled")


def made_again(root: Folder) -> str:
    """Return how a damaged dataset is made again, as the end of a sentence: "convert again …", or the command to adopt.

    Without checking, the same damaged images of the source would be stored again.

    Args:
        root: The dataset's folder. Its manifest is read, so call this for an error only.
    """
    try:
        manifest = find_dataset(root.url)
    except (ShardkitError, OSError):
        manifest = None
    if manifest is None or not manifest.is_adopted:
        is_unchecked = manifest is not None and manifest.options.get("check") == "header"
        return convert_again() + (f" {named('check', 'decode')}" if is_unchecked else "")
    return f"adopt the files as they are now with `{adopt_command(manifest)}`"


def adopt_command(manifest: Manifest) -> str:
    """Return the command that adopts the records of an adopted dataset again, with the same options."""
    root, given = manifest.root, manifest.options.get(ADOPT, {})
    files = [_absolute(root, one) for one in given.get("files", [])] or [manifest.records_place or root.url]
    is_elsewhere = given.get("into") or manifest.records_root is not None
    options = {"into": root.url} if is_elsewhere else {}
    options |= {name: given[name] for name in _KEPT if name in given}
    splits = [f"{split}={pattern}" for pattern, split in given.get("splits", {}).items()]
    words = [word for one in splits for word in words_of("split_files", one)]
    return Call("adopt", tuple(files), None, {**options, "overwrite": True}, tuple(words)).line


def relative_to(root: Folder, given: str) -> str:
    """Return the path from a dataset's folder to a file, a folder or a pattern; a URL elsewhere stays as it is."""
    if isinstance(root, LocalFolder) and "://" not in given:
        return os.path.relpath(os.path.abspath(os.path.expanduser(given)), os.path.realpath(root.path))
    url = given.rstrip("/")
    return "." if url == root.url.rstrip("/") else url.removeprefix(f"{root.url.rstrip('/')}/")


def _absolute(root: Folder, path: str) -> str:
    if "://" in path:
        return path
    if isinstance(root, LocalFolder):
        return os.path.normpath(os.path.join(os.path.realpath(root.path), path))
    return root.url if path == "." else f"{root.url.rstrip('/')}/{path}"
