"""Pascal VOC: one XML file per image, paired by stem.

Reads ``Annotations/`` with ``JPEGImages/`` and, if it exists, ``ImageSets/Main/``; the same below ``VOC2012/`` or
``VOCdevkit/VOC2012/``, several years together; folders that are in both ``Annotations/`` and ``JPEGImages/``, such as
splits; and split folders with the XML files next to the images. Images may be in folders below ``JPEGImages/``, such as
one for each class, if the XML files are not. Images in other folders are counted as skipped.
"""

from collections.abc import Sequence

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.sources.context import Opening
from shardkit.sources.formats.voc import VOC
from shardkit.sources.listing import Source
from shardkit.sources.readings.values import Listed
from shardkit.sources.recognising.detection.files_of_images import files_with
from shardkit.sources.recognising.detection.found_files import FilesOfFolder, open_image_files
from shardkit.sources.recognising.detection.voc.image_folders import (
    VocFolder,
    chosen_lists,
    find_folders,
    has_voc_files,
    is_voc,
)
from shardkit.sources.recognising.detection.voc.rival_folders import without_boxes
from shardkit.sources.walking import children, is_image, join, parent_of
from shardkit.storage import Folder

__all__ = ["is_voc", "open_voc"]

_FOLDERS_SHOWN = 8  # folders that the remark names
_TITLE = LAYOUTS["voc"].title


def open_voc(opening: Opening) -> Source:
    """Find the XML files and their images."""
    folder = opening.folder
    found: Sequence[VocFolder] = find_folders(folder)
    if not found and has_voc_files(folder):
        return _open_nearest(opening)
    if not found:
        msg = (
            f"{folder.url}: there are no Pascal VOC annotations; searched for Annotations/*.xml with JPEGImages/, also "
            "below VOC<year>/ and VOCdevkit/VOC<year>/, and for XML files next to the images of split folders"
        )
        raise DataError(msg)
    lists, bases = dict[str, str](), dict[str, str]()
    for one in found:
        for name, split in chosen_lists(folder, one.lists).items() if one.lists else ():
            path = join(one.lists or "", name)
            lists[path], bases[path] = split, one.images
    if lists or not any(_are_deeper(folder, one) for one in found):
        files = [FilesOfFolder(join(one.annotations, "*.xml"), one.images, one.split) for one in found]
        by_lists = Listed(lists, match="stem", bases=bases) if lists else None
        return open_image_files(opening, VOC.name, _TITLE, files, lists=by_lists)
    return open_image_files(
        opening, VOC.name, _TITLE, [join(one.annotations, "*.xml") for one in found], {"splits": "folders"}
    )


def _are_deeper(folder: Folder, found: VocFolder) -> bool:
    """Return whether images are in folders below, such as one for each class, and XML files are not."""
    images, annotations = (children(folder, path) for path in (found.images, found.annotations))
    if found.images == found.annotations or any(is_image(one.name) for one in images):
        return False
    return any(one.is_folder for one in images) and not any(one.is_folder for one in annotations)


def _open_nearest(opening: Opening) -> Source:
    """Return the source of XML files in any folders: next to the images, or with their names."""
    left_out = without_boxes(opening)
    options = {"splits": "folders"}
    if not left_out:
        return open_image_files(opening, VOC.name, _TITLE, ["**/*.xml"], options)
    shown = ", ".join(f"{printable(path)}/" for path in left_out[:_FOLDERS_SHOWN])
    places = dict.fromkeys(parent_of(path) for path, _ in files_with(opening.folder, ".xml"))
    globs = [join(path, "*.xml") for path in places if path not in left_out]
    remark = f"; not read: {shown}, whose objects have no <bndbox>"
    return open_image_files(opening, VOC.name, _TITLE, globs, options, remark=remark)
