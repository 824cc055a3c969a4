"""A JSON file of boxes for each image: Supervisely's ``ann/1.jpg.json``, BDD100K's ``labels/1.json``, FUNSD's forms.

Supervisely's tags are classes of whole images, if its files have no objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardkit.layouts import LAYOUTS
from shardkit.sources.detection.box_json.files import classes_of
from shardkit.sources.detection.files_of_images import first_files
from shardkit.sources.detection.image_classes import BoxesOrClasses, ImageClasses, first_images
from shardkit.sources.detection.rows import detection_schema
from shardkit.sources.formats.record import ImageRecord, encodable
from shardkit.sources.formats.vendors.fields import Box, Fields, at, corner_and_size, text_at
from shardkit.sources.formats.vendors.formats import JsonFormat
from shardkit.sources.formats.vendors.parsers import parse_bdd
from shardkit.sources.formats.vendors.readers import around, dict_of, items, json_of, list_of
from shardkit.sources.walking import looks_like, read_head
from shardkit.storage import Folder


def _parse_supervisely(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """Supervisely's objects; rectangles and polygons have their points."""
    del column
    for tag in map(dict_of, list_of(record.get("tags"))):
        # A tag with a value, such as weather: sunny, is an attribute; those without are names of classes.
        name, value = text_at(tag, "name"), tag.get("value")
        if name and value in (None, ""):
            image.attributes.setdefault("tags", []).append(encodable(name))
        elif name:
            image.attributes.setdefault(encodable(name), []).append(encodable(str(value)))
    image.set_size(at(record, ("size", "width")), at(record, ("size", "height")))
    for place, given in enumerate(map(dict_of, list_of(record.get("objects"))), 1):
        kind = given.get("geometryType")
        if kind not in {"rectangle", "polygon"}:
            image.leave_out(f"objects without box ({kind})")
            continue
        points = [list_of(one) for one in list_of(at(given, ("points", "exterior")))]
        sides = around([one[0] for one in points if one], [one[-1] for one in points if one])
        image.add(f"object {place}", given.get("classTitle"), sides)


def _parse_frame(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """BDD100K's first frame: a file of an image has no other."""
    parse_bdd(image, {"name": record.get("name"), "labels": at(record, ("frames", 0, "objects"))}, column)


# FUNSD's parts of a form have words, too, which are left out.
_FORM = Fields((), ("form",), ("label",), Box(("box",), ""), noun="part")
_ITEMS = Fields((), (), ("category_name",), Box(("bounding_box",), ""), noun="item", key="item")
_DARWIN = Fields(
    (),
    ("annotations",),
    ("name",),
    Box(("bounding_box",), "x y w h", corner_and_size),
    (("item", "slots", 0, "width"), ("item", "slots", 0, "height")),
    "annotation",
    without_box="annotations without bounding_box (tags, keypoints)",
)


def _parse_darwin(image: ImageRecord, record: dict[str, Any], column: str | None) -> None:
    """V7 Darwin's annotations; those with a `tag` are classes of the whole image."""
    _DARWIN.parse(image, record, column)
    tags = [one for one in map(dict_of, list_of(record.get("annotations"))) if isinstance(one.get("tag"), dict)]
    if tags and not image.objects:
        image.attributes["tag"] = [encodable(text_at(one, "name")) for one in tags]
        image.left_out.clear()


_FORMATS = {
    one.title: one
    for one in (
        JsonFormat(
            "Supervisely's JSON of an image",
            (".json",),
            b"{",
            # Files of bitmaps only have no boxes: the masks next to them are read.
            (
                rb'"objects"\s*:\s*\[',
                rb'"size"\s*:\s*\{',
                rb'"tags"\s*:\s*\[',
                rb'"objects"\s*:\s*\[\s*\]|"geometryType"\s*:\s*"(?:rectangle|polygon)"',
            ),
            items,
            _parse_supervisely,
            "boxes enclose polygons",
        ),
        JsonFormat(
            "BDD100K's JSON of an image",
            (".json",),
            b"{",
            (rb'"frames"\s*:\s*\[', rb'"objects"\s*:\s*\[', rb'"box2d"'),
            items,
            _parse_frame,
        ),
        JsonFormat(
            "FUNSD's JSON of a form",
            (".json",),
            b"{",
            (rb'"form"\s*:\s*\[', rb'"box"\s*:\s*\[', rb'"label"'),
            items,
            _FORM.parse,
        ),
        JsonFormat(
            "DeepFashion2's JSON of an image",
            (".json",),
            b"{",
            (rb'"item[0-9]+"\s*:\s*\{', rb'"category_name"', rb'"bounding_box"\s*:\s*\['),
            items,
            _ITEMS.parse,
        ),
        JsonFormat(
            "V7 Darwin's JSON of an image",
            (".json",),
            b"{",
            (rb'"slots"\s*:\s*\[', rb'"item"\s*:\s*\{', rb'"annotations"\s*:\s*\['),
            items,
            _parse_darwin,
            "boxes enclose polygons",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class BoxJsonFiles(BoxesOrClasses):
    """A source of such files.

    Attributes:
        folder: Root of the source.
        title: Name of the format.
        image_classes: What gives the classes of images; None for boxes.
        groups: The root, whose files are one group.
    """

    folder: Folder
    title: str
    image_classes: ImageClasses | None = None
    groups: tuple[str, ...] = ("",)

    layout = LAYOUTS["box-json"].title
    box_schema = detection_schema(())

    def describe(self) -> str:
        """See Source."""
        remark = _FORMATS[self.title].remark
        boxes = f"boxes, {remark}" if remark else "boxes"
        return (
            f"{self.folder.url}: read *.json, {self.title}: {self.image_classes.read if self.image_classes else boxes}"
        )

    def parse(self, data: bytes) -> ImageRecord | str:
        """See PairedFiles."""
        record = json_of(data)
        if isinstance(record, str):
            return record
        if not looks_like(data, _FORMATS[self.title].words[0], start=b"{"):  # without objects it has no other word
            return f"it is not {self.title}"
        image = ImageRecord(number=1)
        _FORMATS[self.title].parse(image, dict_of(record), None)
        return image


def open_single_files(folder: Folder, title: str, chosen: Sequence[str]) -> BoxJsonFiles:
    """Decide whether files of single images are read as boxes or as classes, from the first of them.

    Args:
        folder: Root of the source.
        title: Name of the format.
        chosen: The attribute that the user named; empty for none.

    Raises:
        DataError: No file has the attribute, or it gives splits.
        CallError: Several attributes may be the classes.
    """
    source = BoxJsonFiles(folder, title)
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
    head = read_head(folder, path)
    return next((one.title for one in _FORMATS.values() if one.fits(path, head)), None)
