"""Read an element of a PCollection as the row of a listing.

A wrong field or a wrong type is a mistake of the program that made the rows, and is refused. A value that a row of the
data may lack or have wrong, such as a label or a split, rejects this row alone.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from shardkit.archives.uris import place_of
from shardkit.conversion.inventory.columns import MASK_PATH, TARGET, Reject
from shardkit.conversion.inventory.source_files import read_place
from shardkit.conversion.staging.kinds import (
    ON_PURPOSE,
    Kind,
    checked_of_text,
    feature_types,
    kind_of_targets,
    with_extras,
)
from shardkit.dataset.features import NO_LABEL as NO_LABEL_NUMBER
from shardkit.dataset.foreign.box_features import refuse_pixels
from shardkit.errors import CallError, RecordError
from shardkit.images.info import too_many_bytes
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_ANNOTATION, BAD_LABEL, BAD_NAME, BAD_PATH, MISSING, NO_LABEL
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    FEATURE_PREFIX,
    GROUP,
    IS_UNLABELLED,
    LABEL_NAMES,
    MASK_COLOURS,
    MAX_OBJECTS,
    OBJECTS,
)
from shardkit.sources.formats.column_names import split_of_text
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import encodable_path
from shardkit.spelling import closest
from shardkit.storage.retry import retried

FIELDS = (
    *("key", "image", "uri", "label", "labels", "target", "targets", "boxes", "mask", "split", "group"),
    *("boxes_width", "boxes_height", "mask_uri", "mask_colours", "number", "features"),
    *("format", "width", "height", "num_bytes", "sha256", "perceptual_hash", "checked"),  # of checked images
)
_ANNOTATIONS = ("label", "labels", "target", "targets", "boxes", "mask", "mask_uri")
_SIDES = ("ymin", "xmin", "ymax", "xmax")
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_BYTES = (bytes, bytearray, memoryview)
NO_KEY = "(a row without a key)"


class GivenRow(NamedTuple):
    """A row of a PCollection, with the columns of a listing that its annotation gives."""

    key: str
    image: bytes
    mask: bytes | None
    kind: Kind
    columns: dict[str, Any]
    checked: dict[str, Any] | None = None  # what an earlier step has found out about the image
    uri: str | None = None  # where the image, and its mask, can be read again
    mask_uri: str | None = None
    reading: str = ""  # which features of a record were read


def values_of(element: Any) -> dict[str, Any]:
    """Return the given fields, by name, of a NamedTuple, a row of Beam, a dataclass or a mapping."""
    if isinstance(element, Mapping):
        values = dict(element)
    elif isinstance(element, tuple) and hasattr(element, "_fields"):
        values = dict(zip(element._fields, element, strict=True))
    elif dataclasses.is_dataclass(element):
        values = {one.name: getattr(element, one.name) for one in dataclasses.fields(element)}
    elif hasattr(element, "as_dict"):  # beam.Row
        values = dict(element.as_dict())
    else:
        what = type(element).__name__
        msg = f"an element is {what}; rows are Example, NamedTuples, beam.Row or dicts with the fields"
        raise CallError(f"{msg} {', '.join(FIELDS)}, or serialized tf.train.Examples")
    refuse_unknown_fields(values)
    return {name: value for name, value in values.items() if value is not None}


def given_reject(element: Any) -> Reject | None:
    """Return what reading has rejected, which stands among the rows; None for a row."""
    # Not by its class: after a shuffle into another process, a NamedTuple is one of another class.
    return Reject(*element) if getattr(element, "_fields", None) == Reject._fields else None


def refuse_unknown_fields(names: Iterable[str]) -> None:
    """Refuse fields that no row has."""
    names = [*names]
    unknown = [name for name in names if name not in FIELDS]
    if unknown or "key" not in names:
        close = closest(str(unknown[0]), FIELDS) if unknown else None
        found = f"have a field {unknown[0]!r}" if unknown else "have no field 'key'"
        hint = f"; did you mean {close!r}?" if close else f"; the fields are {', '.join(FIELDS)}"
        raise CallError(f"the rows {found}{hint}")


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of a PCollection."""

    max_file_bytes: int  # size above which an image or a mask is rejected
    is_unlabelled: bool = False  # whether rows have no annotation; one that they have is left out

    def key(self, values: Mapping[str, Any]) -> str:
        """Return the key of a row, or of what is rejected in its place."""
        key = values.get("key", "")
        if not isinstance(key, str):
            raise _wrong_type(NO_KEY, "key", "text", key)
        return encodable_path(key) or NO_KEY

    def read(self, values: Mapping[str, Any]) -> GivenRow:
        """Read a row; BadRecord or BadImage says why it is rejected."""
        key = self.key(values)
        if key != values.get("key"):
            what = "the row has no key" if key == NO_KEY else "the key is not valid UTF-8"
            raise BadRecord(BAD_NAME, f"{what}; give each image a key of its own")
        kind = self._kind(key, values)
        columns: dict[str, Any] = {"split": None, "label_name": None, GROUP.name: None}
        if "split" in values:
            columns["split"] = split_of_text(_text(key, "split", values["split"]))
        if "group" in values:
            columns[GROUP.name] = _text(key, "group", values["group"]) or None
        columns |= self._annotation(key, kind, values)
        extras = dict[str, Any]()
        for name, value in _json_object(key, values.get("features")).items():
            columns[FEATURE_PREFIX + name] = extras[FEATURE_PREFIX + name] = value
        mask = None
        if kind == ON_PURPOSE:
            columns[IS_UNLABELLED.name] = extras[IS_UNLABELLED.name] = True
        if kind == "mask":
            if "mask_colours" in values:
                columns[MASK_COLOURS.name] = extras[MASK_COLOURS.name] = values["mask_colours"]
            is_given = "mask" in values
            mask = self._file(key, "mask", values["mask"]) if is_given else self._read_uri(values["mask_uri"], "mask")
        types = feature_types(key, extras, columns.get(OBJECTS, ()))
        checked = checked_of_text(values["checked"]) if "checked" in values else None
        uris = ("uri", "mask_uri") if kind == "mask" else ("uri",)
        can_read_again = all(name in values for name in uris) and "mask" not in values
        given = [values[name] for name in uris] if can_read_again else []
        places = [one if "://" in one else os.path.abspath(one) for one in given]  # workers may have other folders
        return GivenRow(key, self._image(key, values), mask, with_extras(kind, types), columns, checked, *places)

    def _kind(self, key: str, values: Mapping[str, Any]) -> Kind:
        if self.is_unlabelled:
            return "unlabelled"
        given = [name for name in _ANNOTATIONS if name in values]
        if not given and values.get("number") == NO_LABEL_NUMBER:
            return ON_PURPOSE
        if len(given) > 1:
            raise CallError(
                f"{printable(key)}: the row has {' and '.join(given)}; an example has one of {', '.join(_ANNOTATIONS)}"
            )
        if not given or (given[0] == "label" and values["label"] == ""):
            remedy = f"give it one of {', '.join(_ANNOTATIONS)}, or pass `unlabelled`"
            raise BadRecord(NO_LABEL, f"the row has no annotation; {remedy}")
        if given[0] == "mask_uri":
            return "mask"
        if given[0] == "targets":
            return kind_of_targets(len(_each(key, "targets", values["targets"])))
        return given[0]

    @staticmethod
    def _annotation(key: str, kind: Kind, values: Mapping[str, Any]) -> dict[str, Any]:
        if kind == "label":
            return {"label_name": _text(key, "label", values["label"])}
        if kind == "labels":
            texts = [_text(key, "labels", one) for one in _each(key, "labels", values["labels"])]
            return {LABEL_NAMES.name: list(dict.fromkeys(texts))}
        if kind == "boxes":
            in_pixels = "boxes_width" in values
            objects = [_object(key, i, one, in_pixels) for i, one in enumerate(_each(key, "boxes", values["boxes"]))]
            if len(objects) > MAX_OBJECTS:
                msg = f"it has {len(objects):,} objects, more than {MAX_OBJECTS:,}; split the image into tiles"
                raise BadRecord(BAD_ANNOTATION, msg)
            # A listing's 0 is for fractions, its None for pixels of the image itself.
            sides = [values.get(name) for name in ("boxes_width", "boxes_height")]
            width, height = (0 if side is None else side or None for side in sides)
            return {OBJECTS: objects, ANNOTATED_WIDTH.name: width, ANNOTATED_HEIGHT.name: height}
        if kind == "mask":
            return {MASK_PATH: key}
        return {} if kind in {"unlabelled", ON_PURPOSE} else {TARGET: _targets(key, values)}

    def _image(self, key: str, values: Mapping[str, Any]) -> bytes:
        if "image" in values and "uri" in values:
            raise CallError(f"{printable(key)}: the row has image and uri; give the bytes of the image or where it is")
        if "image" in values:
            return self._file(key, "image", values["image"])
        if "uri" not in values:
            raise BadRecord(MISSING, "the row has neither image nor uri; give the bytes of the image or where it is")
        return self._read_uri(_text(key, "uri", values["uri"]))

    def _file(self, key: str, name: str, value: Any) -> bytes:
        if not isinstance(value, _BYTES):
            hint = "; where a file is goes to `uri`" if name == "image" and isinstance(value, str) else ""
            raise _wrong_type(key, name, "the bytes of a file", value, hint)
        data = bytes(value)
        if len(data) > self.max_file_bytes:
            raise too_many_bytes(f"The {name}", len(data), self.max_file_bytes)
        return data

    def _read_uri(self, uri: str, what: str = "file") -> bytes:
        place = place_of(uri)
        if not place.path:
            raise BadRecord(BAD_PATH, f"the uri {uri!r} names no file")
        found = retried(lambda: place.folder.stat(place.path))
        if found is None or found.is_folder:
            raise BadRecord(MISSING, f"there is no file {uri}; restore it, or remove its row")
        num_bytes = found.num_bytes if place.start is None else place.num_bytes
        if num_bytes > self.max_file_bytes:
            raise too_many_bytes(f"The {what}", num_bytes, self.max_file_bytes)
        return read_place(place, self.max_file_bytes)


def _json_object(key: str, text: Any) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _wrong_type(key, "features", "a JSON object as text", text)
    return found


def _each(key: str, name: str, value: Any) -> list[Any]:
    if isinstance(value, (str, *_BYTES, Mapping)) or not isinstance(value, Iterable):
        raise _wrong_type(key, name, "a list", value)
    return list(value)


def _targets(key: str, values: Mapping[str, Any]) -> list[float]:
    found = [values["target"]] if "target" in values else _each(key, "targets", values["targets"])
    if not found:
        raise BadRecord(NO_LABEL, "the row has no targets; give it at least one number")
    for one in found:
        if isinstance(one, bool) or not isinstance(one, Real):
            raise _wrong_type(key, "target", "a number", one)
        if not abs(float(one)) <= _FLOAT32_MAX:  # neither is NaN
            raise BadRecord(BAD_LABEL, f"the target {one} is no value for regression: it is no finite float32")
    return [float(one) for one in found]


def _text(key: str, name: str, value: Any) -> str:
    if isinstance(value, str):
        if encodable_path(value) != value:
            raise BadRecord(BAD_ANNOTATION, f"the {name} {value!r} is not valid UTF-8")
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):  # numbers of classes, also NumPy's
        raise _wrong_type(key, name, "text or a whole number", value)
    return str(value.__index__())


def _object(key: str, number: int, box: Any, in_pixels: bool) -> dict[str, Any]:  # noqa: FBT001 - private
    values: dict[str, Any] = {}
    for name in ("label", *_SIDES, "name", "features"):
        value = box.get(name) if isinstance(box, Mapping) else getattr(box, name, None)
        if value is None and name not in {"name", "features"}:
            raise _wrong_type(key, "boxes", f"boxes with label, {', '.join(_SIDES)}", box)
        values[name] = value
    try:
        sides = [float(values[name]) for name in _SIDES]
    except (TypeError, ValueError):
        raise _wrong_type(key, "boxes", f"boxes whose {', '.join(_SIDES)} are numbers", box) from None
    try:
        if not in_pixels:
            refuse_pixels([sides])
    except RecordError as error:
        raise BadRecord(BAD_ANNOTATION, str(error)) from None
    own = {"bbox": sides, "label_name": _text(key, "label", values["label"])}
    own["name"] = f"object {number}" if values["name"] is None else _text(key, "name", values["name"])
    return {**_json_object(key, values["features"]), **own}


def _wrong_type(key: str, name: str, wanted: str, found: Any, hint: str = "") -> CallError:
    shown = repr(found) if len(repr(found)) <= 60 else f"{type(found).__name__} {repr(found)[:40]}…"
    return CallError(f"{printable(key)}: {name} must be {wanted}; found {shown}{hint}")
