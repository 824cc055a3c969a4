"""YOLO: one text file per image, with boxes or polygons as fractions of its sides, and data.yaml.

The label file of ``…/images/…/1.jpg`` is ``…/labels/…/1.txt``, else the one next to it; an image without one is
background. shardkit reads the folders and lists of data.yaml or, without one, ``images/`` and ``labels/`` with
classes.txt or obj.names, or the lists of Darknet's obj.data. It ignores the ``path`` of a data.yaml that was moved, and
the ``../`` that Roboflow writes before folders that are next to the file. A ``path`` that leads out of the YAML's
folder is followed only with ``root``: a file that comes with the data must not lead out of it. Other images in SOURCE
are counted as skipped.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.claims.claim import UsedFile
from shardkit.sources.context import Opening
from shardkit.sources.detection.paired_files import PairedFiles
from shardkit.sources.detection.rows import detection_schema, rejected_file, rejected_image
from shardkit.sources.detection.yolo.image_folders import YoloImages, YoloSource, is_yolo, label_folder, read_source
from shardkit.sources.detection.yolo.pairs import YoloFiles, labels_without_image, missing_labels, scan_images
from shardkit.sources.formats.format import Options
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.yolo import YOLO
from shardkit.sources.listing import ListingRow, rejected_row
from shardkit.sources.unlisted_images import count_unlisted_images
from shardkit.sources.walking import join, parent_of
from shardkit.storage import Entry, Folder

__all__ = ["Yolo", "is_yolo", "open_yolo"]


@dataclass(frozen=True, slots=True)
class Yolo(PairedFiles[YoloImages, tuple[str, Entry]]):
    """A source of YOLO images and label files.

    Attributes:
        folder: The folder that all paths start at.
        groups: Images of the splits.
        found: Images, classes and remarks.
        names: Names of the classes by index; empty if they are called by their numbers.
    """

    folder: Folder
    groups: tuple[YoloImages, ...]
    found: YoloSource
    names: Mapping[int, str]

    layout = LAYOUTS["yolo"].title
    format = YOLO
    schema = detection_schema(YOLO.object_fields)

    @property
    def options(self) -> Options:  # type: ignore[override]
        """See PairedFiles."""
        names = [self.names.get(index, "") for index in range(max(self.names, default=-1) + 1)]
        return {"names": "\n".join(names), "keypoints": str(self.found.num_keypoint_fields)}

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; in the order of the class indexes, None if these are the names."""
        return tuple(name for _, name in self.found.names) or None

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        """See Source."""
        folders = (label_folder(one.path) for one in self.groups if not one.is_list)
        labels = [UsedFile(join(path, f"*{self.annotation_ending}"), "labels") for path in dict.fromkeys(folders)]
        lists = [UsedFile(one.path, "splits") for one in self.groups if one.is_list]
        return (*labels, *lists, UsedFile(self.found.named_by, "class names"))

    @property
    def unlisted(self) -> str:
        """See PairedFiles."""
        return self.found.unlisted_clause

    def describe(self) -> str:
        """See Source."""
        read = [
            (printable(images.path) or "all images") + (f" as {images.split}" if images.split else "")
            for images in self.groups
        ]
        remarks = "".join(f"; note: {remark}" for remark in self.found.remarks)
        named_by = (
            f"classes of {printable(self.found.named_by)}" if self.found.named_by else "classes as the user names them"
        )
        if not self.names:
            named_by = "classes called by their numbers"
        return f"{self.folder.url}: read {', '.join(read)}, {named_by}{remarks}"

    def scan(self, group: YoloImages) -> YoloFiles:
        """See PairedFiles; images of folders are sorted by path, images of lists are in the list's order."""
        return scan_images(self.folder, group, self.found.base)

    def rest_rows(self, files: YoloFiles) -> Iterator[ListingRow]:
        """See PairedFiles; lines without image, and label files without image."""
        group = files.group
        yield from (rejected_row(problem, group.split) for problem in files.problems)
        if not group.is_list:  # other images of a list's folder may be in another list
            message = "there is no image next to or above it; restore the image, or remove the file"
            for path in labels_without_image(self.folder, group.path, files.pairs):
                yield rejected_file(path, group.split, message)

    def pair_rows(self, files: YoloFiles, pair: tuple[str, Entry]) -> Iterator[ListingRow]:
        """See PairedFiles."""
        path, image = pair
        label_path, label = files.labels.find(path)
        if label and (message := files.ambiguity(path, label_path)):
            yield rejected_image(path, files.group.split, image, NO_LABEL, message)
            return
        found = self.read(label_path, label) if label else ImageRecord(size=(0, 0))
        yield from self.image_rows(files, path, files.group.split, image, found)

    def count_unlisted(self, below: Iterable[str] = ("",)) -> dict[str, int]:
        """See PairedFiles."""
        covered, named = set[str](), set[str]()
        for images in self.groups:
            if images.is_list:
                named.update(path for path, _ in self.scan(images).pairs)
            else:
                covered |= {images.path, label_folder(images.path)}
        places = {parent_of(path) for path in named}
        covered |= {label_folder(place) for place in places} - places
        return count_unlisted_images(self.folder, self.unlisted, below=below, covered=covered, named=named)


def open_yolo(opening: Opening) -> Yolo:
    """Find class names, images and label files; `root` is the folder that entries of data.yaml start at.

    Raises:
        DataError: There are no images, or no label file at all.
        RefusalError: There are no class names.
    """
    root, found = read_source(opening.folder, opening.options, opening.file)
    if looked := missing_labels(root, found.images, found.base):
        msg = (
            f"{opening.folder.url}: there is no label file of YOLO; searched for *.txt in {looked}: an image without "
            "one is background, and all images would be; put the label files there"
        )
        raise DataError(msg)
    return Yolo(root, found.images, found, dict(found.names))
