"""Readings as YAML and JSON: what a user edits, what a manifest stores.

    images: {root: photos, unlabelled: [unsorted/]}
    label: {column: diagnosis, files: [labels.csv], match: stem}
    split: {path: 0}
    features:
      age: {column: age, files: [labels.csv], match: stem}

An origin is known by the name of its first field. Instead of a mapping it may be the text of a flag: ``label: path:1``.
What has its usual value is left out.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.readings.flags import parse_origin
from shardkit.sources.readings.values import ORIGINS, Annotation, Images, Labels, Paired, Reading, field_names
from shardkit.spelling import closest
from shardkit.storage import read_text_file

_OF_LABELS = ("kind", "separator", "minus_one", "names", "first", "unused")
_LISTS = frozenset(
    {"column", "files", "via", "key", "strip", "include", "exclude", "unlabelled", "classes", "ignore", "archives"}
)
_NULLS = frozenset({"", "null", "~"})
_MAX_BYTES = 1 << 20  # 1 MiB
_SHOWN = 80  # characters of a wrong value in a message


def to_data(reading: Reading) -> dict[str, Any]:
    """Return a reading as mappings, lists and scalars, which YAML and JSON write."""
    data = _data(reading)
    if reading.label is not None:
        labels = _data(reading.label)
        data["label"] = labels.pop("origin") | labels
    return {"version": reading.version, **data}


def _data(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: _data(found) for one, found in pairs if not _is_usual(one, found)}
    if isinstance(value, Mapping):
        return {key: _data(found) for key, found in value.items()}
    if isinstance(value, tuple):
        return [_data(found) for found in value]
    return value


def _is_usual(field: Any, value: Any) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return field.default is not MISSING and bool(value == field.default)


def digest(reading: Reading) -> str:
    """Return the sha256 of a reading."""
    text = json.dumps(to_data(reading), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def to_yaml(reading: Reading) -> str:
    """Return a reading as YAML, without the key ``reading``."""
    import yaml

    data = to_data(reading)
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None))


def as_config(reading: Reading) -> str:
    """Return a reading as the part of a configuration file."""
    lines = to_yaml(reading).splitlines(keepends=True)
    return "reading:\n" + "".join(f"  {line}" for line in lines)


def read_reading(path: str) -> Reading:
    """Return the reading in a YAML file: under the key ``reading``, or the whole file."""
    import yaml

    where = f"{named('reading')} {printable(path)}"
    text = read_text_file(where, path, _MAX_BYTES)
    try:
        data = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes texts only
    except RecursionError:
        raise CallError(f"{where}: values are nested too deeply") from None
    except yaml.YAMLError as error:
        msg = f"{where}: this is not YAML: {' '.join(str(error).split())}"
        raise CallError(msg) from None
    return from_data(data["reading"] if isinstance(data, Mapping) and "reading" in data else data, where)


def parse_reading(text: str) -> Reading:
    """Return the reading in a text of JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{named('reading')}: this is neither a file nor JSON: {error}"
        raise CallError(msg) from None
    return from_data(data, named("reading"))


def from_data(data: Any, where: str) -> Reading:
    """Return the reading of mappings, lists and scalars, which may all be text."""
    if not isinstance(data, Mapping):
        msg = f"{where}: a reading is a mapping of {', '.join(field_names(Reading))}; found {_shown(data)}"
        raise CallError(msg)
    given = dict(data)
    _refuse_unknown(given, Reading, where)
    if str(given.get("version", 1)) != "1":
        msg = f"{where}: version is {_shown(given['version'])}, and this shardkit reads version 1; upgrade shardkit"
        raise CallError(msg)
    given.pop("version", None)
    if "images" in given:
        given["images"] = _valid(Images, given["images"], f"{where}: images")
    if _is_null(given.get("label")):
        given.pop("label", None)
    else:
        given["label"] = read_labels(given["label"], f"{where}: label")
    for name in ("split", "group", "boxes", "mask"):
        if _is_null(given.get(name)):
            given.pop(name, None)
        else:
            given[name] = read_origin(given[name], f"{where}: {name}", name)
    if "features" in given:
        if not isinstance(given["features"], Mapping):
            msg = f"{where}: features: write a mapping of names to origins; found {_shown(given['features'])}"
            raise CallError(msg)
        features = given["features"].items()
        given["features"] = {name: read_origin(one, f"{where}: features.{name}", "feature") for name, one in features}
    return cast("Reading", _valid(Reading, given, where))


def read_labels(value: Any, where: str) -> Labels:
    """Return where labels come from, given as a flag or as a mapping; see `from_data`."""
    if isinstance(value, str):
        return Labels(parse_origin(value, where, "label"))
    if not isinstance(value, Mapping):
        msg = f"{where}: write where labels come from, such as path:0 or {{path: 0}}; found {_shown(value)}"
        raise CallError(msg)
    own = {name: value[name] for name in _OF_LABELS if name in value}
    origin = read_origin({name: one for name, one in value.items() if name not in _OF_LABELS}, where, "label")
    return cast("Labels", _valid(Labels, {"origin": origin, **own}, where))


def read_origin(value: Any, where: str, fact: str) -> Any:
    """Return the origin of a fact, given as a flag or as a mapping; see `from_data`."""
    if isinstance(value, str):
        origin = parse_origin(value, where, fact)
    else:
        firsts = {field_names(kind)[0]: kind for kind in ORIGINS}
        kinds = [kind for name, kind in firsts.items() if isinstance(value, Mapping) and name in value]
        if len(kinds) != 1:
            msg = f"{where}: an origin has exactly one of {', '.join(firsts)}; found {_shown(value)}"
            raise CallError(msg)
        origin = _valid(kinds[0], value, where)
    if fact == "boxes" and not isinstance(origin, Annotation):
        msg = f"{where}: boxes come from files of a format, such as coco:annotations/*.json; found {_shown(value)}"
        raise CallError(msg)
    if fact == "mask" and not isinstance(origin, Annotation | Paired):
        msg = f"{where}: masks are paired with images, such as masks/{{stem}}.png, or come from a format"
        raise CallError(msg)
    return origin


def _valid(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        msg = f"{where}: write a mapping of {', '.join(field_names(kind))}; found {_shown(value)}"
        raise CallError(msg)
    _refuse_unknown(value, kind, where)
    try:
        return _adapter(kind).validate_python({name: _listed(name, one) for name, one in value.items()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        msg = f"{where}: {place}: {first['msg'][0].lower()}{first['msg'][1:]}; found {_shown(first['input'])}"
        raise CallError(msg) from None


def _listed(name: str, value: Any) -> Any:
    """Return a value that one text may stand for as a list, and maps with ``null`` as None."""
    if name in _LISTS and isinstance(value, str):
        return (value,)
    if name == "map" and isinstance(value, Mapping):
        return {str(key): None if _is_null(one) else one for key, one in value.items()}
    return tuple(value) if isinstance(value, list) else value


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # Values of YAML arrive as text: its reader takes `no` and `on` for truth values, which are classes, too.
    return TypeAdapter(kind)


def _refuse_unknown(value: Mapping[Any, Any], kind: type[Any], where: str) -> None:
    names = field_names(kind)
    for name in map(str, value):
        if name not in names:
            close = closest(name, names)
            msg = f"{where}: {printable(name)!r} is not one of {', '.join(names)}"
            msg += f"; did you mean {close}?" if close else ""
            raise CallError(msg)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.lower() in _NULLS)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str) if not isinstance(value, str) else value
    return repr(printable(text[:_SHOWN] + "…" if len(text) > _SHOWN else text))
