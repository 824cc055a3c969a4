"""KITTI object labels: ``training/image_2/000000.png`` with ``training/label_2/000000.txt``.

Also ``images/`` with ``labels/`` in the same format, as NVIDIA's tools have it. ``testing/`` has no labels; its images
are counted as skipped.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.sources.context import Opening
from shardkit.sources.formats.box_lines import KITTI
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.found_files import FilesOfFolder, has_texts, open_image_files
from shardkit.sources.walking import folders_in, is_folder, join
from shardkit.storage import Folder

_PAIRS = (("image_2", "label_2"), ("images", "labels"))
_OTHER_BASES = ("default",)  # CVAT's export; other folders than these and splits are not searched


def is_kitti(folder: Folder) -> bool:
    """Return whether a folder has label files of KITTI, judging by names and the first lines of one file."""
    return bool(_find_folders(folder))


def _find_folders(folder: Folder) -> list[FilesOfFolder]:
    names = folders_in(folder)
    bases = [name for name in names if split_of_folder(name) or name in _OTHER_BASES]
    found = [one for base in ("", *bases) for one in _files_in(folder, base)]
    if not found and {"data_object_image_2", "data_object_label_2"} <= set(names):  # the archives, each unpacked
        images, labels = "data_object_image_2/training/image_2", "data_object_label_2/training/label_2"
        found = [FilesOfFolder(f"{labels}/*.txt", images)] if has_texts(folder, labels, KITTI) else []
    # KITTI's own has labels for training/ only; a split of its own would leave no validation split to make.
    return [replace(found[0], split=None)] if len(found) == 1 else found


def _files_in(folder: Folder, base: str) -> Iterator[FilesOfFolder]:
    for images, labels in (map(partial(join, base), pair) for pair in _PAIRS):
        if is_folder(folder, labels) and is_folder(folder, images) and has_texts(folder, labels, KITTI):
            yield FilesOfFolder(f"{labels}/*.txt", images, split_of_folder(base))
            return


def open_kitti(opening: Opening) -> Source:
    """Find the label files and their images."""
    folder = opening.folder
    found = _find_folders(folder)
    if not found:
        msg = (
            f"{folder.url}: there are no object labels of KITTI; searched for training/label_2/*.txt next to "
            "training/image_2, and for labels/*.txt next to images, with 15 fields a line"
        )
        raise DataError(msg)
    return open_image_files(opening, KITTI.name, LAYOUTS["kitti"].title, found)
