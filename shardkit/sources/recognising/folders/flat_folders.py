"""Refuse a tree without label folders; one without any image with what it holds instead."""

import itertools
from collections import Counter

from shardkit.errors import DataError, ShardkitError
from shardkit.naming import printable
from shardkit.options.call import Change
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.context import Opening
from shardkit.sources.file_names import ending
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.formats.unsupported_images import unsupported_format
from shardkit.sources.recognising.claims.files_of_images import may_hold_labels
from shardkit.sources.recognising.folders.class_tree import FlatFolders
from shardkit.sources.recognising.folders.data_formats import data_format
from shardkit.sources.recognising.folders.first_images import image_names
from shardkit.sources.recognising.only_folders import is_text
from shardkit.sources.walking import files_below, is_image
from shardkit.storage import Folder

_EXAMPLES = 2  # file names shown in a message
_MAX_FILES = 1_000  # that are looked at
_KINDS_SHOWN = 4
_ARCHIVES = (".zip", ".tar")
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_ARRAYS = (".npy", ".npz", ".pkl", ".pickle", ".h5", ".hdf5", ".mat", ".pt", ".pth", ".mdb", ".lmdb", ".bin")
_RECORDS = (".tfrecord", ".tfrecords", ".tfrec")
# Files that may have labels of the images: no command loses them.
_OF_LABELS = frozenset({*TABLE_ENDINGS, *TEXT_ENDINGS, ".json", ".xml", ".yaml", ".yml", ".mat", ".npy", ".pkl"})
_NO_ENDING = "(none)"


def refusal_of_flat_folders(opening: Opening, flat: FlatFolders, url: str) -> ShardkitError:
    """Return the refusal of folders of images without label folders."""
    folder, hidden = opening.folder, opening.left_out
    names = {root.path: image_names(folder, root.path) for root in flat.roots}
    every = [name for found in names.values() for name in found]
    if not every:
        return refuse_without_images(folder, url)
    others = (path for path, entry in files_below(folder, "") if not is_image(path) and not is_text(entry.name))
    has_labels = any(ending(path) in _OF_LABELS and may_hold_labels(folder, path) for path in others)
    without = {"ignore": (*opening.options.ignore, *hidden)} if hidden else {}
    unlabelled = Change("images without labels", {"unlabelled": True, **without}, sources=(opening.url,))
    commands = [] if has_labels else [unlabelled]
    paths = [root.path for root in flat.roots if root.path]
    where = "the top folder"
    if paths:
        shown = " and ".join(f"{printable(path)}/" for path in paths)
        where = shown if len(paths) == len(names) else f"{where} and {shown}"
        # A class alone may be appended to a dataset. Globs begin at SOURCE, which would be another folder.
        if len(paths) == len(names) == 1 and not (url != opening.url and (hidden or opening.options.ignore)):
            forced = {"layout": "class-folders", **without}
            commands.append(Change(f"{shown} is the only class", forced, sources=(url,)))
    examples = " and ".join(map(printable, every[:_EXAMPLES]))
    problem = f"{url}: there are no label folders, only images such as {examples} in {where}"
    return UnrecognisedError(problem, commands)


def refuse_without_images(folder: Folder, url: str) -> ShardkitError:
    """Return the error for a tree that holds no image."""
    paths = list(itertools.islice((path for path, _ in files_below(folder, "")), _MAX_FILES))
    kinds = Counter(map(ending, paths))
    shown = ", ".join(f"{count:,} {'without ending' if kind == _NO_ENDING else kind}" for kind, count in _most(kinds))
    found = f"only other files ({shown})" if kinds else "the folder is empty"
    problem = f"{url}: no images found, {found}"
    archives = [path for path in paths if path.lower().endswith(_ARCHIVES)]
    if archives:
        names = archives[:_KINDS_SHOWN]
        commands = [Change(f"the images are in {printable(name)}", sources=(f"{url}/{name}",)) for name in names]
        return RefusalError(problem, commands)
    if form := data_format(folder, paths):
        return form.refusal(problem)
    return DataError(f"{problem}; {_remedy(kinds, paths)}")


def _most(kinds: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kinds.items(), key=lambda one: (-one[1], one[0]))[:_KINDS_SHOWN]


def _remedy(kinds: Counter[str], paths: list[str]) -> str:
    if any(kind in _PACKED for kind in kinds):
        return "unpack them, then give the folder with the images"
    if any(kind in _RECORDS for kind in kinds):
        return "give the folder that has the TFRecord files, itself or in split folders, and no images next to them"
    foreign = next((problem for path in paths if (problem := unsupported_format(path))), None)
    if foreign is not None:
        return f"{foreign.key}: {foreign.message}"
    if any(kind in _ARRAYS for kind in kinds) or kinds[_NO_ENDING]:
        return "images inside arrays or databases are not read; write each image to a file, such as PNG"
    return "give the folder that holds the images"
