"""The formats of such files: how each is recognised, and how its records are parsed.

To add one, describe its records by `Fields`, or write a parser, and enter a row in `VENDORS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from shardkit.errors import DataError
from shardkit.sources.formats.format import Format, Options
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.vendors import parsers
from shardkit.sources.formats.vendors.fields import corners
from shardkit.sources.formats.vendors.readers import items, lines, members, rows_by_frame, rows_by_image
from shardkit.sources.walking import HEAD_BYTES, looks_like

_JSON, _LINES = (".json",), (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A format."""

    title: str
    endings: tuple[str, ...]
    start: bytes  # the first character of a file that is not blank; '' for any
    words: tuple[bytes, ...]  # patterns that are all in the beginning of a file
    # Yields the numbered records of a file that is open, whose URL it is told for messages
    read: Callable[[BinaryIO, str], Iterator[tuple[int, Any]]]
    parse: Callable[[ImageRecord, dict[str, Any], str | None], None]
    remark: str = ""  # what the user should know about what is read; '' for nothing
    # The parser for boxes that are two corners, in a format whose boxes are usually a corner and a size; None if no
    # file has such boxes
    parse_corners: Callable[[ImageRecord, dict[str, Any], str | None], None] | None = None
    # Whether users name its fields, so that boxes may be guesses of a model and classes the truth
    has_own_fields: bool = False

    def fits(self, name: str, head: bytes | None) -> bool:
        """Return whether a file is of this format, judging by its name and its beginning."""
        return name.lower().endswith(self.endings) and self.sniff(head)

    def sniff(self, head: bytes | None) -> bool:
        return looks_like(head, *self.words, start=self.start)

    def images(self, file: BinaryIO, url: str, column: str | None) -> Iterator[ImageRecord]:
        for number, record in self.read(file, url):
            image = ImageRecord(number=number)
            if isinstance(record, dict):
                self.parse(image, record, column)
            else:
                image.bad = record if isinstance(record, str) and record.startswith("it is") else "it is no JSON object"
            yield image


_VIA = rb'"shape_attributes"'
# frame, object, left, top, width, height, flag, class and visibility, or flag and three unknown values
_MOT = rb"\A[0-9]+,[0-9]+(?:,-?[0-9.]+){4},[01],(?:-1,-1,-1|[0-9]+,[0-9.]+)\s*$"
_LABELBOX = (rb'"data_row"\s*:', rb'"projects"\s*:')
_AROUND = "boxes enclose polygons, circles and ellipses"
# Sharp signs before common ones.
VENDORS = (
    JsonFormat(
        "CrowdHuman's boxes",
        (".odgt",),
        b"{",
        (rb'"gtboxes"', rb'"ID"'),
        lines,
        parsers.parse_crowd_human,
        "full boxes",
    ),
    JsonFormat(
        "a manifest of SageMaker or Rekognition",
        (".manifest", *_LINES),
        b"{",
        (rb'"source-ref"',),
        lines,
        parsers.parse_manifest,
    ),
    JsonFormat("Vertex AI's JSON Lines", _LINES, b"{", (rb'"imageGcsUri"',), lines, parsers.parse_vertex),
    JsonFormat("Labelbox's data rows", (".jsonl", ".ndjson"), b"{", _LABELBOX, lines, parsers.parse_labelbox, _AROUND),
    JsonFormat("Labelbox's array of data rows", _JSON, b"[", _LABELBOX, items, parsers.parse_labelbox, _AROUND),
    JsonFormat(
        "FiftyOne's samples",
        _JSON,
        b"{",
        (rb'"samples"\s*:\s*\[', rb'"filepath"\s*:', rb'"_cls"\s*:'),
        partial(items, inside="samples"),
        parsers.parse_fiftyone,
        has_own_fields=True,
    ),
    # Other files of image_url and label are tables.
    JsonFormat("Azure's AutoML", (".jsonl",), b"{", (rb'"image_url"\s*:', rb'"topX"\s*:'), lines, parsers.parse_automl),
    JsonFormat(
        "Azure's AutoML",
        (".jsonl",),
        b"{",
        (rb'"image_url"\s*:\s*"azureml:', rb'"label"\s*:'),
        lines,
        parsers.parse_automl,
    ),
    JsonFormat(
        "Dataturks' JSON Lines",
        _LINES,
        b"{",
        (rb'"content"\s*:', rb'"annotation"\s*:\s*\[', rb'"points"'),
        lines,
        parsers.parse_dataturks,
    ),
    JsonFormat(
        "Hugging Face's metadata with objects",
        (".jsonl",),
        b"{",
        (rb'"file_name"\s*:', rb'"objects"\s*:\s*[\[{]', rb'"bbox"\s*:\s*\['),
        lines,
        parsers.parse_hugging_face,
        "as x, y, width, height",
        partial(parsers.parse_hugging_face, sides=corners),
    ),
    JsonFormat(
        "a project of VIA",
        _JSON,
        b"{",
        (rb'"_via_img_metadata"',),
        partial(items, inside="_via_img_metadata"),
        parsers.parse_via,
        _AROUND,
    ),
    JsonFormat("VIA's JSON", _JSON, b"{", (_VIA, rb'"regions"'), items, parsers.parse_via, _AROUND),
    JsonFormat(
        "VIA's CSV",
        (".csv",),
        b"",
        (rb"region_shape_attributes", rb"region_attributes"),
        rows_by_image,
        parsers.parse_via,
        _AROUND,
    ),
    JsonFormat(
        "Edge Impulse's boxes",
        (".labels",),
        b"{",
        (rb'"boundingBoxes"\s*:\s*\{',),
        partial(members, inside="boundingBoxes"),
        parsers.EDGE_IMPULSE.parse,
    ),
    JsonFormat(
        "Edge Impulse's list of files",
        (".labels",),
        b"{",
        (rb'"files"\s*:\s*\[', rb'"boundingBoxes"\s*:\s*\['),
        partial(items, inside="files"),
        parsers.EDGE_IMPULSE.parse,
    ),
    JsonFormat(
        "CreateML's JSON",
        _JSON,
        b"[",
        (rb'"coordinates"', rb'"annotations"', rb'"image"'),
        items,
        parsers.CREATEML.parse,
    ),
    JsonFormat(
        "Azure Custom Vision's list",
        _JSON,
        b"[",
        (rb'"regions"\s*:', rb'"tagName"', rb'"originalImageUri"'),
        items,
        parsers.parse_custom_vision,
    ),
    JsonFormat("MOT's rows", ("gt.txt",), b"", (_MOT,), rows_by_frame, parsers.parse_mot, "classes as numbers"),
    JsonFormat(
        "BDD100K's JSON", _JSON, b"[", (rb'"name"\s*:', rb'"labels"\s*:', rb'"box2d"'), items, parsers.parse_bdd
    ),
    JsonFormat(
        "Scalabel's JSON",
        _JSON,
        b"{",
        (rb'"frames"\s*:\s*\[', rb'"labels"\s*:', rb'"box2d"'),
        partial(items, inside="frames"),
        parsers.parse_bdd,
    ),
)


class _BoxJson(Format):
    """All of these formats; the option `form` names one, else the beginning of the file tells."""

    name = "box-json"
    title = "JSON of boxes"
    settings = frozenset({"form", "class", "box"})

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        """See Format; the option `class` names what gives the classes of boxes, `box: corners` what numbers are."""
        kind = next((one for one in VENDORS if one.title == options.get("form")), None)
        if kind is None:
            head = file.read(HEAD_BYTES)
            file.seek(0)
            kind = next((one for one in VENDORS if one.sniff(head)), None)
        if kind is None:
            msg = f"{name}: none of these formats was found: {', '.join(one.title for one in VENDORS)}"
            raise DataError(msg)
        if options.get("box") == "corners" and kind.parse_corners is not None:
            kind = replace(kind, parse=kind.parse_corners)
        return kind.images(file, name, options.get("class"))


BOX_JSON = _BoxJson()
