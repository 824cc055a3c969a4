"""Labelme: ``1.json`` next to ``1.jpg``, or in a folder of its own, with the shapes of the image.

Rectangles are boxes; the boxes of polygons, circles and masks enclose them, and polygons are kept as `segmentation` in
pixels. Points and lines have no area and are left out. Flags are the classes of images, if no file has shapes.
"""

from dataclasses import dataclass, replace

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.sources.context import Opening
from shardkit.sources.detection.files_of_images import first_files, walk
from shardkit.sources.detection.image_classes import BoxesOrClasses, ImageClasses, first_images, has_shapes
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.labelme import LABELME
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.walking import read_head
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class Labelme(BoxesOrClasses):
    """A source of Labelme's files.

    Attributes:
        folder: Root of the source.
        with_splits: Whether the top folders are splits.
        image_classes: The flags, if they are the classes of images; None for boxes.
        groups: The root, whose files are one group.
    """

    folder: Folder
    with_splits: bool
    image_classes: ImageClasses | None = None
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["labelme"].title
    format = LABELME
    box_schema = detection_schema(LABELME.object_fields)
    noun = "Labelme file"

    def describe(self) -> str:
        """See Source."""
        splits = ", the top folders as splits" if self.with_splits else ""
        if self.image_classes is not None:
            return f"{self.folder.url}: read Labelme's *.json{splits}; {self.image_classes.read}"
        return (
            f"{self.folder.url}: read Labelme's *.json{splits}; note: the boxes of polygons, circles and masks enclose "
            "them, points and lines are left out"
        )

    def split_of(self, path: str, image: str) -> str | None:
        """See FilesOfImages; the top folders are splits, or none."""
        del image
        return split_of_folder(path.partition("/")[0]) if self.with_splits else None

    def refusal(self, found: ImageRecord) -> str | None:
        """See FilesOfImages."""
        if self.image_classes is not None or not found.attributes or found.objects:
            return None
        return (
            "sets flags of the whole image and has no shapes, unlike other files, and only shapes are read; for "
            "classes of images, write a CSV file of image,label and give it as SOURCE"
        )


def is_labelme_file(folder: Folder, path: str) -> bool:
    """Return whether a file is Labelme's, judging by its beginning."""
    return LABELME.sniff(read_head(folder, path) or b"")


def has_labelme(folder: Folder) -> bool:
    """Return whether a folder has files of Labelme, judging by names and the beginning of a few files."""
    return any(is_labelme_file(folder, path) for path in first_files(folder))


def open_labelme(opening: Opening) -> Labelme:
    """Find Labelme's files.

    Raises:
        DataError: There are none.
    """
    folder = opening.folder
    jsons = walk(folder, ".json").pairs
    if not any(is_labelme_file(folder, path) for path, _ in jsons[:64]):
        msg = f"{folder.url}: there is no file of Labelme: a *.json with `shapes` next to its image"
        raise DataError(msg)
    with_splits = all("/" in path and split_of_folder(path.partition("/")[0]) for path, _ in jsons)
    source = Labelme(folder, with_splits)
    images = first_images(source, folder)
    has_flags = any(image.attributes for image in images) and not any(map(has_shapes, images))
    return replace(source, image_classes=ImageClasses.of(folder.url, "flags" if has_flags else None, images))
