"""The formats of such files: how each is recognised, and how its records are parsed.

To add one, write a function that fills a `JsonImage` from a record, and enter a row in `FORMATS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from shardkit.sources.detection.box_json.records import (
    ONE_CLASS,
    JsonImage,
    around,
    corner_and_size,
    dict_of,
    items,
    lines,
    list_of,
    rows_by_image,
)
from shardkit.sources.detection.rows import encodable
from shardkit.sources.walking import looks_like

_UNIT = (0, 0)  # the size of boxes in fractions of the image's sides
_JSON, _LINES = (".json",), (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        title: Its name in descriptions.
        endings: Endings of its files.
        start: The first character of a file that is not blank; '' for any.
        words: Patterns that are all in the beginning of a file.
        read: Yields the numbered records of a file that is open, whose URL it is told for messages.
        parse: Fills a JsonImage from a record; takes the name of what gives the boxes' classes, None for the only one.
        remark: What the user should know about what is read; '' for nothing.
    """

    title: str
    endings: tuple[str, ...]
    start: bytes
    words: tuple[bytes, ...]
    read: Callable[[BinaryIO, str], Iterator[tuple[int, Any]]]
    parse: Callable[[JsonImage, dict[str, Any], str | None], None]
    remark: str = ""

    def fits(self, name: str, head: bytes | None) -> bool:
        """Return whether a file is of this format, judging by its name and its beginning."""
        return name.lower().endswith(self.endings) and looks_like(head, *self.words, start=self.start)

    def images(self, file: BinaryIO, url: str, column: str | None) -> Iterator[JsonImage]:
        """Yield the images of a file."""
        for number, record in self.read(file, url):
            image = JsonImage(number=number)
            if isinstance(record, dict):
                self.parse(image, record, column)
            else:
                image.bad = record if isinstance(record, str) and record.startswith("it is") else "it is no JSON object"
            yield image


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def parse_bdd(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """Fill in BDD100K's or Scalabel's frame: labels with box2d; lanes and areas have poly2d instead."""
    del column
    image.image = _text(record.get("name"))
    size = dict_of(record.get("size"))
    image.set_size(size.get("width"), size.get("height"))
    for name, value in dict_of(record.get("attributes")).items():
        image.attributes[name] = [encodable(str(value))]
    for place, label in enumerate(map(dict_of, list_of(record.get("labels"))), 1):
        box = dict_of(label.get("box2d"))
        if not box:
            image.leave_out("labels without box2d (lanes, areas)")
            continue
        sides = (box.get("x1"), box.get("y1"), box.get("x2"), box.get("y2"))
        image.add(f"label {place}", label.get("category"), sides)


def _parse_via(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """VIA's regions, of version 1 (an object by number) and 2 (an array)."""
    image.image = _text(record.get("filename"))
    for name, value in dict_of(record.get("file_attributes")).items():
        if given := _chosen(value):
            image.attributes[name] = given
    for place, region in enumerate(map(dict_of, list_of(record.get("regions"))), 1):
        shape = dict_of(region.get("shape_attributes"))
        kind = shape.get("name")
        if kind in {"point", "polyline"}:
            image.leave_out(f"regions without box ({kind}s)")
            continue
        attributes = dict_of(region.get("region_attributes"))
        named = {name: values for name, value in attributes.items() if (values := _chosen(value))}
        image.columns.update(dict.fromkeys(named))
        chosen = named.get(column, []) if column is not None else next(iter(named.values()), [ONE_CLASS])
        label = chosen[0] if len(chosen) == 1 else None
        image.add(f"region {place}", label, _via_box(kind, shape))


def _chosen(value: Any) -> list[str]:
    """Return what an attribute of VIA says: a text, or the options of a checkbox."""
    if isinstance(value, dict):
        return [encodable(name) for name, is_on in value.items() if is_on]
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return [encodable(text)] if text else []


def _via_box(kind: Any, shape: dict[str, Any]) -> tuple[Any, ...] | None:
    if kind == "rect":
        return corner_and_size(*(shape.get(name) for name in ("x", "y", "width", "height")))
    if kind == "polygon":
        return around(shape.get("all_points_x"), shape.get("all_points_y"))
    radii = {"circle": ("r", "r"), "ellipse": ("rx", "ry")}.get(kind)
    if radii is None:
        return None
    try:
        x, y, across, down = shape["cx"], shape["cy"], shape[radii[0]], shape[radii[1]]
        if shape.get("theta"):  # a turned ellipse: its larger radius on each side encloses it
            across = down = max(across, down)
        return x - across, y - down, x + across, y + down
    except (KeyError, TypeError):
        return None


def _parse_crowd_human(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """CrowdHuman's full boxes; regions of tag mask or with the flag ignore are no people to learn."""
    del column
    image.image = _text(record.get("ID"))
    for place, given in enumerate(map(dict_of, list_of(record.get("gtboxes"))), 1):
        if given.get("tag") == "mask" or dict_of(given.get("extra")).get("ignore") == 1:
            image.leave_out("regions to ignore")
            continue
        box = list_of(given.get("fbox"))
        image.add(f"box {place}", given.get("tag"), corner_and_size(*box) if len(box) == len("xywh") else None)


def _parse_manifest(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """SageMaker Ground Truth's and Rekognition's lines: each job has a value and NAME-metadata."""
    image.image = _text(record.get("source-ref"))
    for name in (one.removesuffix("-metadata") for one in record if one.endswith("-metadata")):
        about, value = dict_of(record[f"{name}-metadata"]), record.get(name)
        classes = dict_of(about.get("class-map"))
        if isinstance(value, dict) and isinstance(value.get("annotations"), list):
            image.columns[name] = None
            if column in {None, name} and not image.objects:
                _add_job(image, value, classes)
        elif isinstance(about.get("class-name"), str):
            image.attributes[name] = [encodable(about["class-name"])]
        elif classes and isinstance(value, list):
            image.attributes[name] = [encodable(str(classes.get(str(one), one))) for one in value]


def _add_job(image: JsonImage, value: dict[str, Any], classes: dict[str, Any]) -> None:
    size = dict_of(next(iter(list_of(value.get("image_size"))), None))
    image.set_size(size.get("width"), size.get("height"))
    for place, given in enumerate(map(dict_of, value["annotations"]), 1):
        box = corner_and_size(*(given.get(name) for name in ("left", "top", "width", "height")))
        image.add(f"box {place}", classes.get(str(given.get("class_id"))), box)


def _parse_vott(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """VoTT's assets; the box of a polygon encloses it."""
    del column
    asset = dict_of(record.get("asset"))
    image.image = _text(asset.get("name"))
    size = dict_of(asset.get("size"))
    image.set_size(size.get("width"), size.get("height"))
    for place, region in enumerate(map(dict_of, list_of(record.get("regions"))), 1):
        box = dict_of(region.get("boundingBox"))
        tags = list_of(region.get("tags"))
        sides = corner_and_size(*(box.get(name) for name in ("left", "top", "width", "height")))
        image.add(f"region {place}", tags[0] if len(tags) == 1 else None, sides)


def _parse_createml(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """CreateML's boxes, given by their centres."""
    del column
    image.image = _text(record.get("image"))
    for place, given in enumerate(map(dict_of, list_of(record.get("annotations"))), 1):
        box = dict_of(given.get("coordinates"))
        sides = corner_and_size(*(box.get(name) for name in ("x", "y", "width", "height")))
        if sides is not None:
            left, top = box["width"] / 2, box["height"] / 2
            sides = sides[0] - left, sides[1] - top, sides[2] - left, sides[3] - top
        image.add(f"box {place}", given.get("label"), sides)


def _parse_tt100k(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """TT100K's traffic signs."""
    del column
    image.image = _text(record.get("path"))
    for place, given in enumerate(map(dict_of, list_of(record.get("objects"))), 1):
        box = dict_of(given.get("bbox"))
        sides = (box.get("xmin"), box.get("ymin"), box.get("xmax"), box.get("ymax"))
        image.add(f"object {place}", given.get("category"), sides)


def _parse_dataturks(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """Dataturks' shapes, as points in fractions of the image's sides."""
    del column
    image.image, image.size = _text(record.get("content")), _UNIT
    for place, given in enumerate(map(dict_of, list_of(record.get("annotation"))), 1):
        points = [dict_of(one) for one in list_of(given.get("points"))]
        labels = list_of(given.get("label"))
        sides = around([one.get("x") for one in points], [one.get("y") for one in points])
        image.add(f"shape {place}", labels[0] if len(labels) == 1 else None, sides)


def _parse_vertex(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """Vertex AI's lines: boxes in fractions of the image's sides, or classes of the image."""
    del column
    image.image, image.size = _text(record.get("imageGcsUri")), _UNIT
    image.split = _text(dict_of(record.get("dataItemResourceLabels")).get("aiplatform.googleapis.com/ml_use"))
    for name in ("classificationAnnotation", "classificationAnnotations"):  # one class, several
        given = record.get(name)
        found = [given] if isinstance(given, dict) else list_of(given)
        if labels := [_text(dict_of(one).get("displayName")) for one in found]:
            image.attributes[name] = list(map(encodable, labels))
    for place, given in enumerate(map(dict_of, list_of(record.get("boundingBoxAnnotations"))), 1):
        sides = (given.get("xMin"), given.get("yMin"), given.get("xMax"), given.get("yMax"))
        image.add(f"box {place}", given.get("displayName"), sides)


def _parse_custom_vision(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """Azure Custom Vision's tagged images: regions in fractions of the image's sides, or tags of the image."""
    del column
    image.image, image.size = _text(record.get("id")), _UNIT
    regions = list(map(dict_of, list_of(record.get("regions"))))
    if not regions:
        tags = [_text(dict_of(one).get("tagName")) for one in list_of(record.get("tags"))]
        image.attributes["tags"] = list(map(encodable, tags))
    for place, given in enumerate(regions, 1):
        sides = corner_and_size(*(given.get(name) for name in ("left", "top", "width", "height")))
        image.add(f"region {place}", given.get("tagName"), sides)


def _parse_hugging_face(image: JsonImage, record: dict[str, Any], column: str | None) -> None:
    """Fill in a line of Hugging Face's metadata.jsonl: objects as an object of arrays or an array of objects."""
    del column
    image.image = _text(record.get("file_name"))
    objects = record.get("objects")
    if isinstance(objects, dict):
        lists = {name: list_of(values) for name, values in objects.items()}
        longest = max(map(len, lists.values()), default=0)
        objects = [{name: values[i] for name, values in lists.items() if i < len(values)} for i in range(longest)]
    for place, given in enumerate(map(dict_of, list_of(objects)), 1):
        box = list_of(given.get("bbox"))
        label = next((given[name] for name in _OF_OBJECTS if name in given), ONE_CLASS)
        image.add(f"object {place}", label, corner_and_size(*box) if len(box) == len("xywh") else None)


_OF_OBJECTS = ("categories", "category", "category_name", "label", "labels", "class", "name", "category_id")
_VIA = rb'"shape_attributes"'
_AROUND = "boxes enclose polygons, circles and ellipses"
# Sharp signs before common ones.
FORMATS = (
    Format("CrowdHuman's boxes", (".odgt",), b"{", (rb'"gtboxes"', rb'"ID"'), lines, _parse_crowd_human, "full boxes"),
    Format(
        "a manifest of SageMaker or Rekognition",
        (".manifest", *_LINES),
        b"{",
        (rb'"source-ref"',),
        lines,
        _parse_manifest,
    ),
    Format("Vertex AI's JSON Lines", _LINES, b"{", (rb'"imageGcsUri"',), lines, _parse_vertex),
    Format(
        "Dataturks' JSON Lines",
        _LINES,
        b"{",
        (rb'"content"\s*:', rb'"annotation"\s*:\s*\[', rb'"points"'),
        lines,
        _parse_dataturks,
    ),
    Format(
        "Hugging Face's metadata with objects",
        (".jsonl",),
        b"{",
        (rb'"file_name"\s*:', rb'"objects"\s*:\s*[\[{]', rb'"bbox"\s*:\s*\['),
        lines,
        _parse_hugging_face,
        "as x, y, width, height",
    ),
    Format(
        "a project of VIA",
        _JSON,
        b"{",
        (rb'"_via_img_metadata"',),
        partial(items, inside="_via_img_metadata"),
        _parse_via,
        _AROUND,
    ),
    Format("VIA's JSON", _JSON, b"{", (_VIA, rb'"regions"'), items, _parse_via, _AROUND),
    Format(
        "VIA's CSV",
        (".csv",),
        b"",
        (rb"region_shape_attributes", rb"region_attributes"),
        rows_by_image,
        _parse_via,
        _AROUND,
    ),
    Format(
        "VoTT's JSON",
        _JSON,
        b"{",
        (rb'"assets"\s*:\s*\{', rb'"boundingBox"'),
        partial(items, inside="assets"),
        _parse_vott,
        "boxes enclose polygons",
    ),
    Format(
        "TT100K's JSON",
        _JSON,
        b"{",
        (rb'"imgs"\s*:\s*\{', rb'"objects"\s*:', rb'"bbox"\s*:\s*\{'),
        partial(items, inside="imgs"),
        _parse_tt100k,
    ),
    Format("CreateML's JSON", _JSON, b"[", (rb'"coordinates"', rb'"annotations"', rb'"image"'), items, _parse_createml),
    Format(
        "Azure Custom Vision's list",
        _JSON,
        b"[",
        (rb'"regions"\s*:', rb'"tagName"', rb'"originalImageUri"'),
        items,
        _parse_custom_vision,
    ),
    Format("BDD100K's JSON", _JSON, b"[", (rb'"name"\s*:', rb'"labels"\s*:', rb'"box2d"'), items, parse_bdd),
    Format(
        "Scalabel's JSON",
        _JSON,
        b"{",
        (rb'"frames"\s*:\s*\[', rb'"labels"\s*:', rb'"box2d"'),
        partial(items, inside="frames"),
        parse_bdd,
    ),
)
