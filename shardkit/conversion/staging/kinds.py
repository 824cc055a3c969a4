"""The kind of a row's annotation, with the types of its further columns: what all rows of a dataset have in common.

It is one text, which travels with the name of a part of the inventory: the annotation, and the further columns as JSON.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from shardkit.conversion.inventory.columns import MASK_PATH
from shardkit.errors import CallError, DataError
from shardkit.hashing import canonical_json
from shardkit.naming import printable
from shardkit.sources.columns import (
    ANNOTATED_HEIGHT,
    ANNOTATED_WIDTH,
    CHECKED_FIELDS,
    FEATURE_PREFIX,
    LABEL_NAMES,
    LAST_CLASS,
    MASK_SHA256,
    UNLABELLED,
    objects_field,
    target_field,
)

Kind = str  # a field with an annotation, with the number of several targets before it, or "unlabelled"; then extras
SEVERAL_TARGETS = " targets"
ON_PURPOSE = "no label"  # of single rows among those with `label` or `labels`
_OBJECT_PREFIX = "object:"  # of the further fields of objects, among the extras
_OF_OBJECTS = {"bbox", "label_name", "name"}
_PLAIN: dict[type, str] = {bool: "bool", int: "int64", float: "float32", str: "string", type(None): "null"}
_TYPES = {
    "bool": pa.bool_(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "string": pa.string(),
    "null": pa.null(),
}
_LIST = "list of "
_COLUMNS_OF: dict[str, list[pa.Field]] = {
    "label": [],
    "labels": [LABEL_NAMES],
    "target": [target_field(1)],
    "mask": [pa.field(MASK_PATH, pa.string())],
    "unlabelled": [UNLABELLED],
    ON_PURPOSE: [],
}
_FIELDS = {field.name: field for field in (*CHECKED_FIELDS, MASK_SHA256, LAST_CLASS)}


def kind_of_targets(num_targets: int) -> Kind:
    """Return the kind of rows with a number of values for regression."""
    return "target" if num_targets == 1 else f"{num_targets}{SEVERAL_TARGETS}"


def with_extras(base: str, types: Mapping[str, str]) -> Kind:
    """Return a kind with the types of further columns."""
    return f"{base}\n{canonical_json(dict(types)).decode()}" if types else base


def _parts_of(kind: Kind) -> tuple[str, dict[str, str]]:
    base, _, extras = kind.partition("\n")
    return base, json.loads(extras) if extras else {}


def columns_of(kind: Kind) -> list[pa.Field]:
    """Return the columns of a listing that hold annotations of a kind, besides label_name."""
    base, extras = _parts_of(kind)
    if base == "boxes":
        fields = [
            pa.field(name.removeprefix(_OBJECT_PREFIX), _arrow(type_))
            for name, type_ in sorted(extras.items())
            if name.startswith(_OBJECT_PREFIX)
        ]
        columns = [objects_field(fields), ANNOTATED_WIDTH, ANNOTATED_HEIGHT]
    elif base in _COLUMNS_OF:
        columns = list(_COLUMNS_OF[base])
    else:
        columns = [target_field(int(base.removesuffix(SEVERAL_TARGETS)))]
    others = [(name, type_) for name, type_ in sorted(extras.items()) if not name.startswith(_OBJECT_PREFIX)]
    return columns + [pa.field(name, _arrow(type_)) for name, type_ in others]


def feature_types(key: str, columns: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the types of a row's further columns, and of the further fields of its objects."""
    found = {name: _type_of(key, name.removeprefix(FEATURE_PREFIX), value) for name, value in columns.items()}
    for one in objects:
        for name in one.keys() - _OF_OBJECTS:
            type_ = _type_of(key, name, one[name])
            known = found.setdefault(_OBJECT_PREFIX + name, type_)
            found[_OBJECT_PREFIX + name] = _common(known, type_) or _refuse_types(name, (known, key), (type_, key))
    return found


def merged_kind(kinds: Mapping[Kind, str]) -> Kind | None:
    """Return what all rows have in common; None without any kind."""
    bases: dict[str, str] = {}
    types: dict[str, tuple[str, str]] = {}
    for kind, key in sorted(kinds.items()):
        base, extras = _parts_of(kind)
        bases.setdefault(base, key)
        for name, type_ in extras.items():
            known = types.setdefault(name, (type_, key))
            types[name] = (_common(known[0], type_) or _refuse_types(name, known, (type_, key)), known[1])
    if not bases.keys().isdisjoint({"label", "labels"}):
        bases.pop(ON_PURPOSE, None)
    if len(bases) > 1:
        (one, key), (other, other_key) = sorted(bases.items())[:2]
        said = f"the row {printable(key)!r} has {one}, and {printable(other_key)!r} has {other}"
        raise DataError(f"{said}; all rows of a dataset have the same kind of annotation: write a dataset for each")
    return with_extras(next(iter(bases)), {name: type_ for name, (type_, _) in types.items()}) if bases else None


def _type_of(key: str, name: str, value: Any) -> str:
    if isinstance(value, list):
        inner = "null"
        for one in value:
            type_ = _type_of(key, name, one)
            inner = _common(inner, type_) or _refuse_types(name, (inner, key), (type_, key))
        if not inner.startswith(_LIST):
            return _LIST + inner
    elif type(value) in _PLAIN:
        return _PLAIN[type(value)]
    raise CallError(f"{printable(key)}: the feature {name!r} is {value!r}; give a number, a text, or a list of these")


def _common(one: str, other: str) -> str | None:
    """Return the type that holds values of two; None if there is none."""
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    if one.startswith(_LIST) and other.startswith(_LIST):
        inner = _common(one.removeprefix(_LIST), other.removeprefix(_LIST))
        return None if inner is None else _LIST + inner
    return "float32" if {one, other} == {"int64", "float32"} else None


def _refuse_types(name: str, one: tuple[str, str], other: tuple[str, str]) -> str:
    shown = name.removeprefix(FEATURE_PREFIX).removeprefix(_OBJECT_PREFIX)
    raise DataError(
        f"the feature {shown!r} is {one[0]} in the row {printable(one[1])!r} and {other[0]} in "
        f"{printable(other[1])!r}; give all rows values of one type"
    )


def _arrow(type_: str) -> pa.DataType:
    return pa.list_(_arrow(type_.removeprefix(_LIST))) if type_.startswith(_LIST) else _TYPES[type_]


def text_of_checked(row: Mapping[str, Any]) -> str:
    """Return what a checked row says of its image and mask."""
    found = {name: row[name] for name in _FIELDS if row.get(name) is not None}
    return canonical_json({name: one.hex() if isinstance(one, bytes) else one for name, one in found.items()}).decode()


def checked_of_text(text: str) -> dict[str, Any] | None:
    """Return what `text_of_checked` said; None for another text."""
    try:
        found = json.loads(text)
        is_bytes = {name: pa.types.is_fixed_size_binary(_FIELDS[name].type) for name in found}
        values = {name: bytes.fromhex(one) if is_bytes[name] else one for name, one in found.items()}
        pa.Table.from_pylist([values], pa.schema([_FIELDS[name] for name in values]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, pa.ArrowException):
        return None
    return dict.fromkeys(_FIELDS) | values
