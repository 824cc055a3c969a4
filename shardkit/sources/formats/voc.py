"""Parse an XML file of Pascal VOC.

Boxes are (ymin, xmin, ymax, xmax) as written in the file, as in TFDS. VOC counts pixels from 1 and includes the last
one, tools that write VOC today count from 0, and no file says which: a side is off by one pixel at most. Names and
poses are kept as written; TFDS converts them to lower case.
"""

import math
from xml.etree.ElementTree import Element, ParseError  # for their names only; defusedxml parses

import pyarrow as pa
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from shardkit.sources.columns import MAX_OBJECTS
from shardkit.sources.formats.format import ImageFormat, ImageRecord, Options, Size, number, size_of
from shardkit.sources.walking import looks_like

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
