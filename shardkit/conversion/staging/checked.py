"""What checking found out about an image, as a text that travels with its row, so that it is decoded once."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from shardkit.conversion.inventory.schema import LAST_CLASS, MASK_SHA256
from shardkit.hashing import canonical_json
from shardkit.sources.columns import CHECKED_FIELDS

_FIELDS = {field.name: field for field in (*CHECKED_FIELDS, MASK_SHA256, LAST_CLASS)}


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
