"""Parse CVAT's XML image by image, without loading the file into memory.

<image id="0" name="a.jpg" subset="Train" width="80" height="60">
  <box label="cat" occluded="0" xtl="1" ytl="2" xbr="30" ybr="40" rotation="90" />
  <polygon label="dog" occluded="0" points="5,6;9,6;7,20" />
</image>
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError  # for their names only; defusedxml parses

import pyarrow as pa
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_BOX
from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import Format, Options
from shardkit.sources.formats.record import ImageRecord, number, size_of
from shardkit.sources.listing import RecordProblem
from shardkit.sources.walking import join, looks_like

TAGS = "tags of whole images"  # classes of whole images
_NO_SUBSET = "default"  # the subset of images without one
_Points = list[tuple[float, float]]


class TracksError(DataError):
    """The file has tracks of a video."""


def read_images(file: BinaryIO, url: str) -> Iterator[ImageRecord]:
    """Yield the images of a file."""
    try:
        yield from _images(file, url)
    except DefusedXmlException:
        msg = f"{url}: it declares a document type or entities; remove the <!DOCTYPE …>"
        raise DataError(msg) from None
    except ParseError as error:
        msg = f"{url}: this is not XML: {error}; correct the file, or export it again"
        raise DataError(msg) from None
    except (LookupError, ValueError) as error:  # an encoding that Python or expat does not support
        if isinstance(error, DataError):
            raise
        msg = f"{url}: its encoding cannot be read: {error}; save the file as UTF-8"
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
    name, outline_of = f"image {image.number}, shape {place}", _OUTLINES.get(element.tag)
    label = element.get("label", "").strip()
    if element.tag == "tag":
        image.attributes.setdefault("tag", []).append(label)
        image.leave_out(TAGS)
        return
    if outline_of is None:
        image.leave_out(f"shapes of the kind {printable(element.tag)}")
        return
    points = outline_of(element.attrib)
    if not label:
        message = "it has no label; add its class, or remove it"
        image.problems.append(RecordProblem(name, BAD_ANNOTATION, message))
    elif not points or not all(math.isfinite(value) for point in points for value in point):
        message = f"the coordinates of this <{element.tag}> must be finite numbers; correct or remove it"
        image.problems.append(RecordProblem(name, BAD_BOX, message))
    elif len(image.objects) <= MAX_OBJECTS:
        across, down = zip(*points, strict=True)
        polygon = ",".join(f"{value:.10g}" for point in points for value in point)
        image.objects.append(
            {
                # The corners of a plain box are not exchanged, so that wrong ones are found.
                "bbox": [down[0], across[0], down[1], across[1]]
                if len(points) == 2
                else [min(down), min(across), max(down), max(across)],
                "label_name": label,
                "name": name,
                "is_occluded": element.get("occluded") == "1",
                "segmentation": f"[[{polygon}]]" if element.tag == "polygon" else "",
            }
        )


def _box(values: Mapping[str, str]) -> _Points:
    x0, y0, x1, y1 = (_number(values, side) for side in ("xtl", "ytl", "xbr", "ybr"))
    return _turned([(x0, y0), (x1, y1)], _number(values, "rotation", 0.0))


def _ellipse(values: Mapping[str, str]) -> _Points:
    x, y, rx, ry = (_number(values, name) for name in ("cx", "cy", "rx", "ry"))
    angle = math.radians(_number(values, "rotation", 0.0))
    # The box that encloses a turned ellipse.
    across = math.hypot(rx * math.cos(angle), ry * math.sin(angle)) if math.isfinite(angle) else math.nan
    down = math.hypot(rx * math.sin(angle), ry * math.cos(angle)) if math.isfinite(angle) else math.nan
    return [(x - across, y - down), (x + across, y + down)]


def _mask(values: Mapping[str, str]) -> _Points:
    x, y, width, height = (_number(values, name) for name in ("left", "top", "width", "height"))
    return [(x, y), (x + width, y + height)]


def _polygon(values: Mapping[str, str]) -> _Points:
    points = [pair.split(",") for pair in values.get("points", "").split(";")]
    if len(points) <= 2 or any(len(pair) != 2 for pair in points):
        return []
    return [(number(x), number(y)) for x, y in points]


def _turned(corners: _Points, degrees: float) -> _Points:
    """Return the corners of a box, all four of them if it is turned around its centre."""
    if degrees == 0:
        return corners
    (x0, y0), (x1, y1) = corners
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    sine, cosine = math.sin(math.radians(degrees % 360)), math.cos(math.radians(degrees % 360))
    return [
        (x + (px - x) * cosine - (py - y) * sine, y + (px - x) * sine + (py - y) * cosine)
        for px, py in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    ]


# The points of each kind of shape, two for a box; other kinds have no area.
_OUTLINES: dict[str, Callable[[Mapping[str, str]], _Points]] = {
    "box": _box,
    "polygon": _polygon,
    "ellipse": _ellipse,
    "mask": _mask,
}


def _number(values: Mapping[str, str], name: str, default: float = math.nan) -> float:
    return number(values[name]) if name in values else default


class _Cvat(Format):
    """CVAT for images 1.1; with the option `subset`, the images of a subset are in a folder of its name."""

    name = "cvat"
    title = "CVAT for images"
    noun = "image"
    settings = frozenset({"subset"})
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
