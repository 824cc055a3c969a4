"""Parse the XML of Pascal VOC, a file for each image, and of CVAT, image by image.

VOC's boxes are (ymin, xmin, ymax, xmax) as written in the file, as in TFDS. VOC counts pixels from 1 and includes the
last one, tools that write VOC today count from 0, and no file says which: a side is off by one pixel at most. Names and
poses are kept as written; TFDS converts them to lower case.

<image id="0" name="a.jpg" subset="Train" width="80" height="60">   CVAT
  <box label="cat" occluded="0" xtl="1" ytl="2" xbr="30" ybr="40" rotation="90" />
  <polygon label="dog" occluded="0" points="5,6;9,6;7,20" />
</image>
"""

import math
from collections.abc import Callable, Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError  # for their names only; defusedxml parses

import pyarrow as pa
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring, iterparse

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import Format, ImageFormat, ImageRecord, Options, Size, size_of
from shardkit.sources.formats.shapes import Point, Sides, around_points, number, points_of, reach_of_ellipse, turned
from shardkit.sources.walking import join, looks_like

_OBJECT_FIELDS = (
    pa.field("is_difficult", pa.bool_()),
    pa.field("is_truncated", pa.bool_()),
    pa.field("pose", pa.string()),  # as written; '' if there is none
)
_MAX_TAGS = 24 * MAX_OBJECTS  # an ordinary object has 20; as elements these take about 100 MiB
_SIDES = ("ymin", "xmin", "ymax", "xmax")


XML_ERRORS = (DefusedXmlException, ParseError, LookupError, ValueError)  # of defusedxml's parsers


def xml_problem(error: Exception) -> str:
    """Return why a file cannot be parsed, as a phrase that begins with ``it``.

    Document types and entities are refused: a small file could expand to gigabytes, or open other files.
    """
    if isinstance(error, DefusedXmlException):
        return "it declares a document type or entities; remove the <!DOCTYPE …>"
    # The others are of an encoding that Python or expat does not support.
    return f"it is not XML: {error}" if isinstance(error, ParseError) else f"its encoding cannot be read: {error}"


def _parse(data: bytes, options: Options) -> ImageRecord:
    if (num_tags := data.count(b"<")) > _MAX_TAGS:
        return ImageRecord(
            bad=f"it has {num_tags:,} tags, more than {_MAX_TAGS:,}; an image has at most {MAX_OBJECTS:,} objects"
        )
    try:
        root = fromstring(data, forbid_dtd=True)
    except XML_ERRORS as error:
        return ImageRecord(bad=xml_problem(error))
    if root.tag != "annotation":
        return ImageRecord(bad=f"its outermost element is <{root.tag}>, not <annotation>")
    record = ImageRecord(_text(root, "filename").replace("\\", "/").rpartition("/")[2], _size(root))
    for place, one in enumerate(root.findall("object"), 1):
        box = one.find("bndbox")
        ymin, xmin, ymax, xmax = (math.nan if box is None else number(_text(box, side)) for side in _SIDES)
        record.add(
            f"object {place}",
            _text(one, "name"),
            (xmin, ymin, xmax, ymax),
            is_difficult=_text(one, "difficult") == "1",
            is_truncated=_text(one, "truncated") == "1",
            pose=_text(one, "pose"),
        )
    return record


def _size(root: Element) -> Size:
    size = root.find("size")
    return (None, None) if size is None else size_of(_text(size, "width"), _text(size, "height"))


def _text(parent: Element, tag: str) -> str:
    return (parent.findtext(tag) or "").strip()


def _is_head(head: bytes) -> bool:
    # Not CVAT's <annotations>; objects of other formats have other shapes only.
    return looks_like(head, rb"<annotation[\s>]") and (b"<bndbox>" in head or b"<object>" not in head)


VOC = ImageFormat("voc", "Pascal VOC", ".xml", _parse, _is_head, _OBJECT_FIELDS)


TAGS = "tags of whole images"  # classes of whole images
_NO_SUBSET = "default"  # the subset of images without one


class TracksError(DataError):
    """The file has tracks of a video."""


def read_images(file: BinaryIO, url: str) -> Iterator[ImageRecord]:
    """Yield the images of a file."""
    try:
        yield from _images(file, url)
    except DataError:
        raise
    except XML_ERRORS as error:
        msg = f"{url}: {xml_problem(error)}; correct the file, or export it again"
        raise DataError(msg) from None


def _images(file: BinaryIO, url: str) -> Iterator[ImageRecord]:
    above: list[Element] = []
    image, num_images, num_shapes = None, 0, 0
    for event, element in iterparse(file, events=("start", "end"), forbid_dtd=True):
        if event == "start":
            if not above and element.tag != "annotations":
                msg = f"{url}: its outermost element is <{element.tag}>, not CVAT's <annotations>"
                raise DataError(msg)
            if len(above) == 1 and element.tag == "track":
                msg = f"{url}: the file is 'CVAT for video' and has tracks"
                raise TracksError(msg)
            if len(above) == 1 and element.tag == "image":
                num_images, num_shapes = num_images + 1, 0
                image = _image(element, num_images)
            above.append(element)
            continue
        above.pop()
        if image is not None and len(above) == 2:
            num_shapes += 1
            _add_shape(image, element, num_shapes)
        if image is not None and len(above) == 1 and element.tag == "image":
            yield image
            image = None
        if above:
            # It is its parent's last child: nothing of the file stays in memory.
            del above[-1][-1]


def _image(element: Element, place: int) -> ImageRecord:
    size = size_of(element.get("width"), element.get("height"))
    return ImageRecord(element.get("name", ""), size, number=place, split=element.get("subset", ""))


def _add_shape(image: ImageRecord, element: Element, place: int) -> None:
    name, kind = f"image {image.number}, shape {place}", element.tag
    label = element.get("label", "").strip()
    if kind == "tag":
        image.attributes.setdefault("tag", []).append(label)
        image.leave_out(TAGS)
    elif kind not in _SIDES_OF:
        image.leave_out(f"shapes of the kind {printable(kind)}")
    else:
        polygon = ",".join(f"{value:.10g}" for point in _points(element) for value in point)
        image.add(
            name,
            label,
            _SIDES_OF[kind](element),
            key=name,
            is_occluded=element.get("occluded") == "1",
            segmentation=f"[[{polygon}]]" if kind == "polygon" else "",
        )


def _box(element: Element) -> Sides | None:
    x0, y0, x1, y1 = _numbers(element, "xtl ytl xbr ybr")
    degrees = number(element.get("rotation", 0.0))
    if degrees == 0:  # corners are not exchanged, so that wrong ones are found
        return x0, y0, x1, y1
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return around_points(turned(x, y, [(px - x, py - y) for px, py in corners], degrees))


def _ellipse(element: Element) -> Sides | None:
    x, y, rx, ry = _numbers(element, "cx cy rx ry")
    across, down = reach_of_ellipse(rx, ry, number(element.get("rotation", 0.0)))
    return x - across, y - down, x + across, y + down


def _mask(element: Element) -> Sides | None:
    x, y, width, height = _numbers(element, "left top width height")
    return x, y, x + width, y + height


def _polygon(element: Element) -> Sides | None:
    points = _points(element)
    return around_points(points) if len(points) > 2 else None


def _points(element: Element) -> list[Point]:
    return points_of(pair.split(",") for pair in element.get("points", "").split(";"))


# Other kinds of shapes have no area.
_SIDES_OF: dict[str, Callable[[Element], Sides | None]] = {
    "box": _box,
    "polygon": _polygon,
    "ellipse": _ellipse,
    "mask": _mask,
}


def _numbers(element: Element, names: str) -> Iterator[float]:
    return (number(element.get(name)) for name in names.split())


class _Cvat(Format):
    """CVAT for images 1.1; with the option `subset`, the images of a subset are in a folder of its name."""

    name = "cvat"
    title = "CVAT for images"
    noun = "image"
    settings = frozenset({"subset"})
    ways = ({}, {"subset": "folder"})
    missing = "export the task as 'COCO 1.0' with its images"
    object_fields = (pa.field("is_occluded", pa.bool_()), pa.field("segmentation", pa.string()))
    note = "the boxes of polygons, ellipses, masks and turned boxes enclose them"

    def sniff(self, head: bytes) -> bool:
        return looks_like(head, b"<annotations>", b"<version>1")

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        for record in read_images(file, name):
            if options.get("subset") == "folder":
                record.image = join(record.split, record.image)
            if record.split.lower() == _NO_SUBSET:
                record.split = ""
            yield record


CVAT = _Cvat()
