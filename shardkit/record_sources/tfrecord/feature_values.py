"""Read single values of a record: texts, names of classes, numbers, and the features that come along."""

import math
from typing import Any

from shardkit.dataset.foreign.label_names import NO_LABEL_NUMBER
from shardkit.dataset.foreign.record_layout import Column, LabelFeature
from shardkit.dataset.foreign.values import Features
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_LABEL, BAD_VALUE, NO_LABEL
from shardkit.sources.listing import BadRecord

Value = bytes | int | float


def only_value(name: str, features: Features, reason: str) -> Value:
    """Return the only value of a feature."""
    values = features.get(name, [])
    if len(values) != 1:
        msg = f"the feature {printable(name)!r} has {len(values)} values where the first records have one"
        raise BadRecord(reason, msg)
    return values[0]


def text_of(name: str, value: Value, reason: str) -> str:
    """Return a value as text."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        msg = f"the feature {printable(name)!r} holds {value!r:.60}, which is not UTF-8"
        raise BadRecord(reason, msg) from None


def class_name(name: str, value: Value) -> str:
    """Return a text as the name of a class."""
    if not isinstance(value, bytes):
        msg = f"the feature {printable(name)!r} holds the number {value} where the first records have text"
        raise BadRecord(BAD_LABEL, msg)
    text = text_of(name, value, BAD_LABEL)
    if not text or text.isspace():
        msg = f"the feature {printable(name)!r} is blank; give the image a label, or remove the record"
        raise BadRecord(NO_LABEL, msg)
    return text


def whole_number(name: str, value: Value) -> int:
    """Return a number as the label of a class."""
    if isinstance(value, bytes) or value != value or value in {math.inf, -math.inf} or int(value) != value:
        msg = f"the feature {printable(name)!r} holds {value!r:.60} where the first records have whole numbers"
        raise BadRecord(BAD_LABEL, msg)
    if value == NO_LABEL_NUMBER:
        msg = f"the feature {printable(name)!r} holds -1, which TFDS writes for no label; remove the record"
        raise BadRecord(NO_LABEL, msg)
    return int(value)


def targets(label: LabelFeature, features: Features) -> list[float]:
    """Return the numbers for regression."""
    values = features.get(label.name, [])
    bad = [one for one in values if isinstance(one, bytes) or not math.isfinite(one)]
    if len(values) != label.num_targets or bad:
        found = f"{bad[0]!r:.60}" if bad else f"{len(values)} numbers where the first records have {label.num_targets}"
        msg = f"the feature {printable(label.name)!r} holds {found}"
        raise BadRecord(BAD_LABEL if values else NO_LABEL, msg)
    return [float(one) for one in values]


def column_value(column: Column, features: Features) -> Any:
    """Return the value of a feature that comes along; a missing text is '', a missing float32 NaN, as in tables."""
    name = column.name
    values = [text_of(name, one, BAD_VALUE) if isinstance(one, bytes) else one for one in features.get(name, [])]
    wanted = {"int64": int, "float": float, "bytes": str}[column.kind]
    if odd := [one for one in values if not isinstance(one, wanted)]:
        msg = f"the feature {printable(column.name)!r} holds {odd[0]!r:.60} where the first records have {column.kind}"
        raise BadRecord(BAD_VALUE, msg)
    if column.is_list:
        return values
    if not values and column.kind != "int64":
        return "" if column.kind == "bytes" else math.nan
    if len(values) != 1:
        msg = f"the feature {printable(column.name)!r} has {len(values)} values where the first records have one"
        raise BadRecord(BAD_VALUE, msg)
    return values[0]
