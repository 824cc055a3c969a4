"""Find the features of a serialized Example, and decode single ones.

Decoding a whole Example in Python takes five times as long as reading its record, and most users ask for two features.
`find_features` accepts only the form that TensorFlow's and shardkit's encoders write: one Features message, and in each
of its entries a name and then a value. It returns None for every other form that protobuf permits; use
`example.decode` for those. A property test compares the two.
"""

import functools
from collections.abc import Sequence
from typing import Any

from shardkit.dataset.example import decode_feature, read_varint

_FIELD_1, _FIELD_2 = 0x0A, 0x12  # tags of fields 1 and 2 with a length
_MAX_CACHED_BYTES = 16  # a single number; keys and images are longer and do not repeat

Span = tuple[int, int]
"""Half-open range of bytes."""


def find_features(data: bytes) -> dict[str, Span] | None:
    """Return the bytes of each serialized Feature by name; None if the Example has an unusual form or is damaged."""
    try:
        return _find_features(data)
    except (IndexError, ValueError):
        return None


def _find_features(data: bytes) -> dict[str, Span] | None:
    if data[0] != _FIELD_1:
        return None
    length, at = read_varint(data, 1)
    size = len(data)
    if at + length != size:
        return None
    spans = {}
    while at < size:
        tag, length = data[at], data[at + 1]
        at += 2
        if length > 0x7F:
            length, at = read_varint(data, at - 1)
        end = at + length
        name_length = data[at + 1]
        name_end = at + 2 + name_length
        if tag != _FIELD_1 or data[at] != _FIELD_1 or name_length > 0x7F or data[name_end] != _FIELD_2:
            return None
        name = data[at + 2 : name_end].decode()
        length = data[name_end + 1]
        at = name_end + 2
        if length > 0x7F:
            length, at = read_varint(data, name_end + 1)
        if at + length != end:
            return None
        spans[name] = at, end
        at = end
    return spans if at == size else None


def feature_values(data: bytes, start: int, end: int) -> Sequence[Any]:
    """Decode one feature.

    Args:
        data: A serialized Example.
        start: First byte of the serialized Feature.
        end: The byte after its last.

    Raises:
        RecordError: The bytes are not a Feature.
    """
    if end - start <= _MAX_CACHED_BYTES:
        return _cached_values(data[start:end])
    single = _single_bytes(data, start, end)
    return decode_feature(data[start:end]) if single is None else (single,)


@functools.lru_cache(maxsize=1 << 13)
def _cached_values(feature: bytes) -> tuple[Any, ...]:
    return tuple(decode_feature(feature))


def _single_bytes(data: bytes, start: int, end: int) -> bytes | None:
    """Return the only value of a BytesList, copied once; None if the feature is anything else."""
    if data[start] != _FIELD_1:  # Feature's BytesList
        return None
    try:
        length, at = read_varint(data, start + 1)
        if at + length != end or data[at] != _FIELD_1:
            return None
        length, at = read_varint(data, at + 1)
    except (IndexError, ValueError):
        return None
    return data[at:end] if at + length == end else None
