"""YOLO: one text file per image, with boxes or polygons as fractions of its sides, and data.yaml.

The label file of ``…/images/…/1.jpg`` is ``…/labels/…/1.txt``, else the one next to it. shardkit reads the folders and
lists of data.yaml or, without one, ``images/`` and ``labels/`` with classes.txt or obj.names, or the lists of Darknet's
obj.data. It ignores the ``path`` of a data.yaml that was moved, and the ``../`` that Roboflow writes before folders
that are next to the file. A ``path`` that leads out of the YAML's folder is followed only with ``root``: a file that
comes with the data must not lead out of it. Other images in SOURCE are counted as skipped.
"""

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import first_of, printable
from shardkit.sources.context import Opening
from shardkit.sources.engine.file_groups import matching_files
from shardkit.sources.formats.yolo import YOLO
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.found_files import open_image_files
from shardkit.sources.recognising.detection.yolo.image_folders import is_yolo, read_source
from shardkit.sources.recognising.detection.yolo.pairs import label_files
from shardkit.sources.walking import join

__all__ = ["is_yolo", "open_yolo"]

_FOLDERS_SHOWN = 4  # folders in a message


def open_yolo(opening: Opening) -> Source:
    """Find class names, images and label files; `root` is the folder that entries of data.yaml start at."""
    root, found = read_source(opening.folder, opening.options, opening.file)
    files, lists = label_files(root, found.images, found.base)
    if next(matching_files(root, [one.glob for one in files], YOLO.side_files), None) is None:
        looked = first_of([printable(join(root.url, one.glob)) for one in files], _FOLDERS_SHOWN)
        msg = (
            f"{opening.folder.url}: there is no label file of YOLO; searched for {looked}: an image without objects "
            "has an empty one; put the label files there"
        )
        raise DataError(msg)
    remark = "".join(f"; note: {one}" for one in found.remarks)
    return open_image_files(
        opening,
        YOLO.name,
        LAYOUTS["yolo"].title,
        files,
        root=root,
        names=found.named_by,
        classes=() if found.named_by else [name for _, name in found.names],
        lists=lists,
        remark=remark,
    )
