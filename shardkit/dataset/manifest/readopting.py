"""The command that adopts TFRecords again, with the options that the manifest keeps: the remedy for a changed file.

``options`` of the manifest of adopted records holds, under the key ``adopt``, what the user gave: the files and
folders, relative to the dataset's folder, and every option that is not the default.
"""

import os
import shlex
from collections.abc import Mapping
from typing import Any

from shardkit.dataset.manifest import Manifest, find_dataset
from shardkit.errors import ShardkitError
from shardkit.naming import printable
from shardkit.options.words import convert_again, named, words_of
from shardkit.storage import Folder, LocalFolder

ADOPT = "adopt"  # key in the manifest's options
# Options with a value, by their names in the manifest.
_VALUES = ("image_feature", "label_feature", "label_type", "key_feature", "name")


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
    root, given = manifest.root, dict(manifest.options.get(ADOPT, {}))
    files = [_absolute(root, one) for one in given.get("files", [])] or [manifest.records_place or root.url]
    words = ["shardkit", "adopt", *files]
    if given.get("into") or manifest.records_root is not None:
        words += words_of("into", root.url)
    for pattern, split in _splits(given).items():
        words += words_of("split_files", f"{split}={pattern}")
    for name in _VALUES:
        if name in given:
            words += words_of(name, str(given[name]))
    if given.get("unlabelled"):
        words += words_of("unlabelled", value=True)
    return printable(shlex.join([*words, *words_of("overwrite", value=True)]))


def _splits(given: Mapping[str, Any]) -> Mapping[str, str]:
    splits: Mapping[str, str] = given.get("splits", {})
    return splits


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
