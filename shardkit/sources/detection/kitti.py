"""KITTI object labels: ``training/image_2/000000.png`` with ``training/label_2/000000.txt``.

Also ``images/`` with ``labels/`` in the same format, as NVIDIA's tools have it. Boxes are in pixels. DontCare regions
and the values in three dimensions are left out. ``testing/`` has no labels; its images are counted as skipped.

Each line of a label file is an object of 15 fields, or 16 with a score, as in KITTI's object development kit: type,
truncated, occluded, alpha, the box (left, top, right, bottom) in pixels, and seven numbers in three dimensions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import counted, split_of_folder
from shardkit.sources.context import Opening
from shardkit.sources.detection.paired_files import FolderPair
from shardkit.sources.detection.paired_texts import PairedTexts, has_lines
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.record import NUMBER, ImageRecord, Object, number_problem
from shardkit.sources.listing import count_skipped
from shardkit.sources.walking import folders_in, is_folder, join
from shardkit.storage import Folder

_OBJECT_FIELDS = (
    pa.field("truncated", pa.float32()),
    pa.field("occluded", pa.int64()),
    pa.field("alpha", pa.float32()),
)
_PAIRS = (("image_2", "label_2"), ("images", "labels"))
_OTHER_BASES = ("default",)  # CVAT's export; other folders than these and splits are not searched
_DONT_CARE = "DontCare"  # regions without labels, not objects; TFDS leaves them out too
_FIELDS = (15, 16)


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
    schema = detection_schema(_OBJECT_FIELDS)

    note = "DontCare regions and 3D values are left out"

    def object_of(self, line: str, found: ImageRecord) -> Object | str | None:
        """See PairedTexts."""
        fields = line.split()
        if fields[0] == _DONT_CARE:
            count_skipped(found.left_out, "DontCare regions")
            return None
        return _object(fields)


def _object(fields: list[str]) -> Object | str:
    if len(fields) not in _FIELDS:
        return f"{counted(len(fields), 'field')}, where an object has {_FIELDS[0]}"
    if problem := number_problem(fields[1:]):
        return problem
    truncated, occluded, alpha, left, top, right, bottom = map(float, fields[1:8])
    return {
        "bbox": [top, left, bottom, right],
        "label_name": fields[0],
        "truncated": truncated,
        "occluded": int(occluded),
        "alpha": alpha,
    }


def is_label_line(line: str) -> bool:
    """Return whether a line is an object of KITTI: a word and 14 or 15 numbers."""
    fields = line.split()
    return len(fields) in _FIELDS and not NUMBER.fullmatch(fields[0]) and all(map(NUMBER.fullmatch, fields[1:]))


def is_kitti(folder: Folder) -> bool:
    """Return whether a folder has label files of KITTI, judging by names and the first lines of one file."""
    return bool(_find_folders(folder))


def _find_folders(folder: Folder) -> tuple[FolderPair, ...]:
    names = folders_in(folder)
    bases = [name for name in names if split_of_folder(name) or name in _OTHER_BASES]
    found = [one for base in ("", *bases) for one in _pairs_in(folder, base)]
    if not found and {"data_object_image_2", "data_object_label_2"} <= set(names):  # the archives, each unpacked
        images, labels = "data_object_image_2/training/image_2", "data_object_label_2/training/label_2"
        found = [FolderPair(images, labels, None)] if has_lines(folder, labels, is_label_line) else []
    # KITTI's own has labels for training/ only; a split of its own would leave no validation split to make.
    return (FolderPair(found[0].images, found[0].annotations, None),) if len(found) == 1 else tuple(found)


def _pairs_in(folder: Folder, base: str) -> Iterator[FolderPair]:
    for images, labels in _PAIRS:
        pair = FolderPair(join(base, images), join(base, labels), split_of_folder(base))
        if (
            is_folder(folder, pair.annotations)
            and is_folder(folder, pair.images)
            and has_lines(folder, pair.annotations, is_label_line)
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
