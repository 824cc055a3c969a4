"""Any JSON, YAML, XML or text with boxes as a format: which fields are what stands in its options."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

from shardkit.errors import CallError
from shardkit.options.words import named
from shardkit.sources.formats.format import Format, Options
from shardkit.sources.formats.inferred.reading import BoxField, Form, Reading
from shardkit.sources.formats.inferred.roles import Way
from shardkit.sources.formats.inferred.trees import records, tree_of
from shardkit.sources.formats.one_image import JSON_BYTES, ImageFormat
from shardkit.sources.formats.record import ImageRecord

_FIELDS = frozenset({"image", "objects", "box", "form", "fractions", "classes", "size", "names", "flags", "members"})
SETTINGS = _FIELDS | {"kind", "inside", "class"}


class _Boxes(Format):
    """A file whose fields the options name: `kind` is its ending, `inside` the member with its records."""

    name = "boxes"
    title = "boxes"
    settings = SETTINGS

    def sniff(self, head: bytes) -> bool:
        """See Format; no file says that it is of this format."""
        del head
        return False

    def records(self, file: BinaryIO, name: str, options: Options) -> Iterator[ImageRecord]:
        """See Format; the option `class` names the field of the class."""
        fields = fields_of(options)
        for number, record in records(file, name, options["kind"], options.get("inside")):
            image = ImageRecord(number=number)
            if isinstance(record, dict):
                fields.parse(image, record, options.get("class"))
            else:
                image.bad = record if isinstance(record, str) and record.startswith("it is") else "it is no object"
            yield image


BOXES = _Boxes()


def _parse(data: bytes, options: Options) -> ImageRecord:
    """Parse a file of one image, see ImageFormat; the option `class` names the field of the class."""
    fields = _fields_of(tuple(sorted(options.items())))
    tree = tree_of(data, options["kind"])
    if isinstance(tree, str):
        return ImageRecord(bad=tree)
    if not fields.is_of(tree):
        return ImageRecord(bad="it has other fields than the first files")
    image = ImageRecord(number=1)
    fields.parse(image, tree, options.get("class"))
    return image


@lru_cache(maxsize=4)
def _fields_of(options: tuple[tuple[str, str], ...]) -> Reading:
    return fields_of(dict(options))


IMAGE_BOXES = ImageFormat("boxes-of-image", "boxes", "", _parse, bool, settings=SETTINGS, max_bytes=JSON_BYTES)


def options_of(fields: Reading, kind: str, inside: str | None) -> dict[str, str]:
    """Return what is read of a file as the format's options."""
    values = {
        "image": fields.image,
        "objects": fields.objects,
        "box": fields.box.ways,
        "form": fields.box.form.name,
        "fractions": fields.is_fraction,
        "classes": fields.classes,
        "size": fields.size,
        "names": dict(fields.class_names),
        "flags": fields.flags,
        "members": sorted(fields.members),
    }
    texts = {name: json.dumps(value) for name, value in values.items() if value not in ((), {}, [], None, False)}
    return {"kind": kind, **({} if inside is None else {"inside": inside}), **texts}


def fields_of(options: Mapping[str, str]) -> Reading:
    """Return what is read of a file from the format's options."""

    def value(name: str, usual: Any = ()) -> Any:
        return json.loads(options[name]) if name in options else usual

    try:
        options["kind"]  # which the parsers need
        return Reading(
            image=_way(value("image")) if "image" in options else None,
            objects=_way(value("objects")),
            box=BoxField(_ways(json.loads(options["box"])), Form[json.loads(options["form"])]),
            is_fraction=value("fractions", usual=False),
            classes=_ways(value("classes")),
            size=_ways(value("size")),
            class_names=value("names", {}),
            flags=_ways(value("flags")),
            members=frozenset(value("members")),
        )
    except (KeyError, TypeError, ValueError):
        finds = f"{named('layout', 'boxes')} finds and stores them"
        msg = f"the options kind, box and form of the reading do not say which fields are boxes; {finds}"
        raise CallError(msg) from None


def _way(names: list[str]) -> Way:
    return tuple(names)


def _ways(ways: list[list[str]]) -> tuple[Way, ...]:
    return tuple(map(_way, ways))
