"""A JSON file of boxes for each image: Supervisely's ``ann/1.jpg.json``, BDD100K's ``labels/1.json``, FUNSD's forms.

Supervisely's tags and V7 Darwin's are classes of whole images.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from shardkit.sources.formats.format import JSON_BYTES, ImageFormat, ImageRecord, Options, around, encodable
from shardkit.sources.formats.vendors.fields import (
    Box,
    Fields,
    at,
    corner_and_size,
    dict_of,
    dicts_at,
    json_of,
    list_of,
    signs,
    text_at,
)
from shardkit.sources.formats.vendors.parsers import parse_bdd
from shardkit.sources.walking import looks_like


def _parse_supervisely(image: ImageRecord, record: dict[str, Any]) -> None:
    """Supervisely's objects; rectangles and polygons have their points."""
    for tag in dicts_at(record, "tags"):
        # A tag with a value, such as weather: sunny, is an attribute; those without are names of classes.
        name, value = text_at(tag, "name"), tag.get("value")
        if name and value in (None, ""):
            image.attributes.setdefault("tags", []).append(encodable(name))
        elif name:
            image.attributes.setdefault(encodable(name), []).append(encodable(str(value)))
    image.set_size(at(record, ("size", "width")), at(record, ("size", "height")))
    for place, given in enumerate(dicts_at(record, "objects"), 1):
        kind = given.get("geometryType")
        if kind not in {"rectangle", "polygon"}:
            image.leave_out(f"objects without box ({kind})")
            continue
        points = [list_of(one) for one in list_of(at(given, ("points", "exterior")))]
        sides = around([one[0] for one in points if one], [one[-1] for one in points if one])
        image.add(f"object {place}", given.get("classTitle"), sides)


def _parse_frame(image: ImageRecord, record: dict[str, Any]) -> None:
    """BDD100K's first frame: a file of an image has no other."""
    parse_bdd(image, {"name": record.get("name"), "labels": at(record, ("frames", 0, "objects"))}, None)


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


def _parse_darwin(image: ImageRecord, record: dict[str, Any]) -> None:
    """V7 Darwin's annotations; those with a `tag` are classes of the whole image."""
    _DARWIN.parse(image, record)
    tags = [one for one in dicts_at(record, "annotations") if isinstance(one.get("tag"), dict)]
    if tags and not image.objects:
        image.attributes["tag"] = [encodable(text_at(one, "name")) for one in tags]
        image.left_out.clear()


def _are_words(words: tuple[bytes, ...], head: bytes) -> bool:
    return looks_like(head, *words, start=b"{")


def _parse(
    fill: Callable[[ImageRecord, dict[str, Any]], None], title: str, word: bytes, data: bytes, options: Options
) -> ImageRecord:
    content = json_of(data)
    if isinstance(content, str):
        return ImageRecord(bad=content)
    if not looks_like(data, word, start=b"{"):  # without objects it has no other word
        return ImageRecord(bad=f"it is not {title}")
    image = ImageRecord(number=1)
    fill(image, dict_of(content))
    return image


def _format(
    name: str, title: str, words: tuple[bytes, ...], fill: Callable[[ImageRecord, dict[str, Any]], None], note: str = ""
) -> ImageFormat:
    parse, is_head = partial(_parse, fill, title, words[0]), partial(_are_words, words)
    return ImageFormat(name, title, ".json", parse, is_head, note=note, max_bytes=JSON_BYTES)


SUPERVISELY = _format(
    "supervisely",
    "Supervisely's JSON of an image",
    # Files of bitmaps only have no boxes: the masks next to them are read.
    (*signs("objects[ size{ tags["), rb'"objects"\s*:\s*\[\s*\]|"geometryType"\s*:\s*"(?:rectangle|polygon)"'),
    _parse_supervisely,
    "boxes enclose polygons",
)
BDD_IMAGE = _format("bdd-image", "BDD100K's JSON of an image", signs("frames[ objects[ box2d"), _parse_frame)
FUNSD = _format("funsd", "FUNSD's JSON of a form", signs("form[ box[ label"), _FORM.parse)
DEEP_FASHION = _format(
    "deepfashion2",
    "DeepFashion2's JSON of an image",
    signs("item[0-9]+{ category_name bounding_box["),
    _ITEMS.parse,
)
DARWIN = _format(
    "darwin",
    "V7 Darwin's JSON of an image",
    signs("slots[ item{ annotations["),
    _parse_darwin,
    "boxes enclose polygons",
)
