"""A JSON file of boxes for each image: Supervisely's ``ann/1.jpg.json``, BDD100K's ``labels/1.json``, FUNSD's forms.

Supervisely's tags are classes of whole images, if its files have no objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardkit.layouts import LAYOUTS
from shardkit.sources.detection.box_json.files import classes_of
from shardkit.sources.detection.files_of_images import first_files
from shardkit.sources.detection.image_classes import BoxesOrClasses, ImageClasses, first_images
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.image_json import BDD_IMAGE, DARWIN, DEEP_FASHION, FUNSD, SUPERVISELY
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.walking import read_head
from shardkit.storage import Folder

_FORMATS = {one.name: one for one in (SUPERVISELY, BDD_IMAGE, FUNSD, DEEP_FASHION, DARWIN)}


@dataclass(frozen=True, slots=True)
class BoxJsonFiles(BoxesOrClasses):
    """A source of such files.

    Attributes:
        folder: Root of the source.
        name: Name of the format.
        image_classes: What gives the classes of images; None for boxes.
        groups: The root, whose files are one group.
    """

    folder: Folder
    name: str
    image_classes: ImageClasses | None = None
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["box-json"].title
    box_schema = detection_schema(())

    @property
    def format(self) -> ImageFormat:  # type: ignore[override]
        """See PairedFiles."""
        return _FORMATS[self.name]

    def describe(self) -> str:
        """See Source."""
        note = self.format.note
        boxes = f"boxes, {note}" if note else "boxes"
        read = self.image_classes.read if self.image_classes else boxes
        return f"{self.folder.url}: read *.json, {self.format.title}: {read}"


def open_single_files(folder: Folder, name: str, chosen: Sequence[str]) -> BoxJsonFiles:
    """Decide whether files of single images are read as boxes or as classes, from the first of them.

    Args:
        folder: Root of the source.
        name: Name of the format.
        chosen: The attribute that the user named; empty for none.

    Raises:
        DataError: No file has the attribute, or it gives splits.
        CallError: Several attributes may be the classes.
    """
    source = BoxJsonFiles(folder, name)
    images = [one for one in first_images(source, folder) if isinstance(one, ImageRecord)]
    if not chosen and not any(image.attributes for image in images):
        return source
    attribute, _ = classes_of(folder.url, images, chosen)
    return replace(source, image_classes=ImageClasses.of(folder.url, attribute, images, is_chosen=bool(chosen)))


def find_single_files(folder: Folder) -> str | None:
    """Return the format of a folder's JSON files, one for each image, judging by the first few; None for none."""
    for path in first_files(folder):
        if found := format_of_image(folder, path):
            return found
    return None


def format_of_image(folder: Folder, path: str) -> str | None:
    """Return the format of a file that is about one image; None if it is another one."""
    head = (read_head(folder, path) or b"") if path.lower().endswith(".json") else b""
    return next((one.name for one in _FORMATS.values() if one.sniff(head)), None)
