"""The formats of such files: how each is recognised, and how its records are read one after the other, and parsed.

To add one, describe its records by `Fields`, or write a parser, and enter a row in `VENDORS`.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from shardkit.errors import DataError
from shardkit.sources.formats.format import Format, ImageRecord, Options
from shardkit.sources.formats.shapes import corners, is_finite
from shardkit.sources.formats.vendors import parsers as of
from shardkit.sources.formats.vendors.fields import dict_of, json_of, list_of, signs
from shardkit.sources.json_stream import LONGEST, top_level_items
from shardkit.sources.walking import HEAD_BYTES, looks_like

_DECODER = json.JSONDecoder()
_FIELDS_OF_ROW = 9  # of MOT: frame, object, left, top, width, height, flag, class, visibility
_FIELD = 16 << 20  # 16 Mi characters of a CSV field; an outline of many points is long
# Of a region in VIA's JSON, and the columns of its CSV.
_OF_REGION = (("shape_attributes", "region_shape_attributes"), ("region_attributes", "region_attributes"))


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


def items(file: BinaryIO, url: str, inside: str = "") -> Iterator[tuple[int, Any]]:
    """Yield the elements of a file's array or the values of its object, numbered.

    `inside` is the member that holds them; '' for the file's own.
    """
    found = (value for name, value in top_level_items(file, url, _DECODER) if not inside or name == inside)
    yield from enumerate((one for value in found for one in list_of(value)) if inside else found, 1)


def members(file: BinaryIO, url: str, inside: str) -> Iterator[tuple[int, Any]]:
    """Yield the members of an object as numbered records: the name as `path`, the value as what holds them."""
    found = (value for name, value in top_level_items(file, url, _DECODER) if name == inside)
    named = (one for value in found for one in dict_of(value).items())
    yield from enumerate(({"path": name, inside: value} for name, value in named), 1)


def lines(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with one JSON value a line, with the lines' numbers; text for a line that is none."""
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if line.strip():
            yield number, json_of(line)


def rows_by_frame(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield MOT's rows by frame, in the order of frames: rows of one object follow each other; text for a bad line."""
    frames: dict[int, list[list[float]]] = {}
    for number, line in enumerate(file, 1):
        try:
            row = list(map(float, line.decode("ascii").split(",")))
        except ValueError:
            row = []
        if len(row) >= _FIELDS_OF_ROW and row[0].is_integer() and all(map(is_finite, row)):
            frames.setdefault(int(row[0]), []).append(row)
        elif line.strip():
            yield number, f"it is not {_FIELDS_OF_ROW} numbers with commas"
    for frame, rows in sorted(frames.items()):
        yield frame, {"frame": f"{frame:06}", "rows": rows}


def rows_by_image(file: BinaryIO, url: str) -> Iterator[tuple[int, Any]]:
    """Yield VIA's CSV as its JSON has it: a row for each region, with JSON in fields; sorted rows may lie apart."""
    csv.field_size_limit(_FIELD)
    reader = csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", errors="backslashreplace", newline=""))
    numbered = ((reader.line_num, {str(name).lstrip("#"): text for name, text in row.items()}) for row in reader)
    try:
        images: dict[str | None, list[tuple[int, dict[str, str]]]] = {}
        for number, row in numbered:
            images.setdefault(row.get("filename"), []).append((number, row))
        for name, rows in images.items():
            regions = [{key: _value(row.get(column)) for key, column in _OF_REGION} for _, row in rows]
            found = [region for region in regions if region["shape_attributes"] != {}]
            about = _value(rows[0][1].get("file_attributes"))
            yield rows[0][0], {"filename": name, "file_attributes": about, "regions": found}
    except csv.Error as error:
        msg = f"{url}, line {reader.line_num}: this is not CSV: {error}; write the file again"
        raise DataError(msg) from None


def _value(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


_JSON, _LINES = (".json",), (".json", ".jsonl", ".ndjson")
# frame, object, left, top, width, height, flag, class and visibility, or flag and three unknown values
_MOT = rb"\A[0-9]+,[0-9]+(?:,-?[0-9.]+){4},[01],(?:-1,-1,-1|[0-9]+,[0-9.]+)\s*$"
_HUGGING_FACE = (*signs("file_name"), rb'"objects"\s*:\s*[\[{]', *signs("bbox["))
_AZURE_CLASSES = (rb'"image_url"\s*:\s*"azureml:', *signs("label"))
_VIA_CSV = (rb"region_shape_attributes", rb"region_attributes")
_LABELBOX, _AUTOML = signs("data_row projects"), "Azure's AutoML"
_AROUND = "boxes enclose polygons, circles and ellipses"
_METADATA = "_via_img_metadata"
# Sharp signs before common ones.
VENDORS = (
    JsonFormat("CrowdHuman's boxes", (".odgt",), b"{", signs("gtboxes ID"), lines, of.parse_crowd_human, "full boxes"),
    JsonFormat(
        "a manifest of SageMaker or Rekognition",
        (".manifest", *_LINES),
        b"{",
        signs("source-ref"),
        lines,
        of.parse_manifest,
    ),
    JsonFormat("Vertex AI's JSON Lines", _LINES, b"{", signs("imageGcsUri"), lines, of.parse_vertex),
    JsonFormat("Labelbox's data rows", (".jsonl", ".ndjson"), b"{", _LABELBOX, lines, of.parse_labelbox, _AROUND),
    JsonFormat("Labelbox's array of data rows", _JSON, b"[", _LABELBOX, items, of.parse_labelbox, _AROUND),
    JsonFormat(
        "FiftyOne's samples",
        _JSON,
        b"{",
        signs("samples[ filepath _cls"),
        partial(items, inside="samples"),
        of.parse_fiftyone,
        has_own_fields=True,
    ),
    # Other files of image_url and label are tables.
    JsonFormat(_AUTOML, (".jsonl",), b"{", signs("image_url topX"), lines, of.parse_automl),
    JsonFormat(_AUTOML, (".jsonl",), b"{", _AZURE_CLASSES, lines, of.parse_automl),
    JsonFormat("Dataturks' JSON Lines", _LINES, b"{", signs("content annotation[ points"), lines, of.parse_dataturks),
    JsonFormat(
        "Hugging Face's metadata with objects",
        (".jsonl",),
        b"{",
        _HUGGING_FACE,
        lines,
        of.parse_hugging_face,
        "as x, y, width, height",
        partial(of.parse_hugging_face, sides=corners),
    ),
    JsonFormat(
        "a project of VIA", _JSON, b"{", signs(_METADATA), partial(items, inside=_METADATA), of.parse_via, _AROUND
    ),
    JsonFormat("VIA's JSON", _JSON, b"{", signs("shape_attributes regions"), items, of.parse_via, _AROUND),
    JsonFormat("VIA's CSV", (".csv",), b"", _VIA_CSV, rows_by_image, of.parse_via, _AROUND),
    JsonFormat(
        "Edge Impulse's boxes",
        (".labels",),
        b"{",
        signs("boundingBoxes{"),
        partial(members, inside="boundingBoxes"),
        of.EDGE_IMPULSE.parse,
    ),
    JsonFormat(
        "Edge Impulse's list of files",
        (".labels",),
        b"{",
        signs("files[ boundingBoxes["),
        partial(items, inside="files"),
        of.EDGE_IMPULSE.parse,
    ),
    JsonFormat("CreateML's JSON", _JSON, b"[", signs("coordinates annotations image"), items, of.CREATEML.parse),
    JsonFormat(
        "Azure Custom Vision's list",
        _JSON,
        b"[",
        signs("regions tagName originalImageUri"),
        items,
        of.parse_custom_vision,
    ),
    JsonFormat("MOT's rows", ("gt.txt",), b"", (_MOT,), rows_by_frame, of.parse_mot, "classes as numbers"),
    JsonFormat("BDD100K's JSON", _JSON, b"[", signs("name labels box2d"), items, of.parse_bdd),
    JsonFormat(
        "Scalabel's JSON", _JSON, b"{", signs("frames[ labels box2d"), partial(items, inside="frames"), of.parse_bdd
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
