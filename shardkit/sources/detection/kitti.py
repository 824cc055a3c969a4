"""KITTI object labels: ``training/image_2/000000.png`` with ``training/label_2/000000.txt``.

Also ``images/`` with ``labels/`` in the same format, as NVIDIA's tools have it. Boxes are in pixels. DontCare regions
and the values in three dimensions are left out. ``testing/`` has no labels; its images are counted as skipped.

Each line of a label file is an object of 15 fields, or 16 with a score, as in KITTI's object development kit: type,
truncated, occluded, alpha, the box (left, top, right, bottom) in pixels, and seven numbers in three dimensions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.sources.context import Opening
from shardkit.sources.detection.paired_files import FolderPair
from shardkit.sources.detection.paired_texts import PairedTexts, has_texts
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.box_lines import KITTI
from shardkit.sources.walking import folders_in, is_folder, join
from shardkit.storage import Folder

_PAIRS = (("image_2", "label_2"), ("images", "labels"))
_OTHER_BASES = ("default",)  # CVAT's export; other folders than these and splits are not searched


@dataclass(frozen=True, slots=True)
class Kitti(PairedTexts):
    """A source of KITTI object labels.

    Attributes:
        folder: Root of the source.
        groups: The folders of images with labels.
    """

    folder: Folder
    groups: tuple[FolderPair, ...]

    layout = LAYOUTS["kitti"].title
    format = KITTI
    schema = detection_schema(KITTI.object_fields)


def is_kitti(folder: Folder) -> bool:
    """Return whether a folder has label files of KITTI, judging by names and the first lines of one file."""
    return bool(_find_folders(folder))


def _find_folders(folder: Folder) -> tuple[FolderPair, ...]:
    names = folders_in(folder)
    bases = [name for name in names if split_of_folder(name) or name in _OTHER_BASES]
    found = [one for base in ("", *bases) for one in _pairs_in(folder, base)]
    if not found and {"data_object_image_2", "data_object_label_2"} <= set(names):  # the archives, each unpacked
        images, labels = "data_object_image_2/training/image_2", "data_object_label_2/training/label_2"
        found = [FolderPair(images, labels, None)] if has_texts(folder, labels, KITTI) else []
    # KITTI's own has labels for training/ only; a split of its own would leave no validation split to make.
    return (FolderPair(found[0].images, found[0].annotations, None),) if len(found) == 1 else tuple(found)


def _pairs_in(folder: Folder, base: str) -> Iterator[FolderPair]:
    for images, labels in _PAIRS:
        pair = FolderPair(join(base, images), join(base, labels), split_of_folder(base))
        if (
            is_folder(folder, pair.annotations)
            and is_folder(folder, pair.images)
            and has_texts(folder, pair.annotations, KITTI)
        ):
            yield pair
            return


def open_kitti(opening: Opening) -> Kitti:
    """Find the label files and their images.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    found = _find_folders(folder)
    if not found:
        msg = (
            f"{folder.url}: there are no object labels of KITTI; searched for training/label_2/*.txt next to "
            "training/image_2, and for labels/*.txt next to images, with 15 fields a line"
        )
        raise DataError(msg)
    return Kitti(folder, found)
