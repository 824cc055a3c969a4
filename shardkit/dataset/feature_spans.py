"""Find the features of a serialized Example, and decode single ones.

Decoding a whole Example in Python takes five times as long as reading its record, and most users ask for two features.
`find_features` accepts only the form that TensorFlow's and shardkit's encoders write: one Features message, and in each
of its entries a name and then a value. It returns None for every other form that protobuf permits; use
`example.decode` for those. A property test compares the two.
"""

import functools
from collections.abc import Sequence
from typing import Any

from shardkit.dataset.example import decode_feature, encode_varint, read_varint

_FIELD_1, _FIELD_2 = 0x0A, 0x12  # tags of fields 1 and 2 with a length
_ONE_BYTE = 0x7F  # largest number that is stored in one byte
_MIN_HEAD_BYTES, _MAX_HEAD_BYTES = 4, 22  # two tags, and two lengths of up to ten bytes
_MAX_CACHED_BYTES = 16  # a single number; keys and images are longer and do not repeat

Span = tuple[int, int]
"""Half-open range of bytes."""


def find_features(data: bytes) -> dict[bytes, Span] | None:
    """Return the bytes of each serialized Feature by its encoded name.

    Returns:
        None if the Example has an unusual form or is damaged.
    """
    try:
        return _find_features(data)
    except (IndexError, ValueError):
        return None


def _find_features(data: bytes) -> dict[bytes, Span] | None:
    # This is most of the time of reading a small record: lengths of one and two bytes are read in place, and names are
    # not decoded.
    if data[0] != _FIELD_1:
        return None
    length, at = read_varint(data, 1)
    size = len(data)
    if at + length != size:
        return None
    spans: dict[bytes, Span] = {}
    while at < size:
        length, start = data[at + 1], at + 2
        if length > _ONE_BYTE:
            second = data[start]
            if second > _ONE_BYTE:
                length, start = read_varint(data, at + 1)
            else:
                length, start = length & _ONE_BYTE | second << 7, start + 1
        name_length, name_start = data[start + 1], start + 2
        name_end = name_start + name_length
        if data[at] != _FIELD_1 or data[start] != _FIELD_1 or name_length > _ONE_BYTE or data[name_end] != _FIELD_2:
            return None
        value_length, value_start = data[name_end + 1], name_end + 2
        if value_length > _ONE_BYTE:
            second = data[value_start]
            if second > _ONE_BYTE:
                value_length, value_start = read_varint(data, name_end + 1)
            else:
                value_length, value_start = value_length & _ONE_BYTE | second << 7, value_start + 1
        at = start + length
        if value_start + value_length != at:
            return None
        name = data[name_start:name_end]
        if name in spans:  # protobuf permits it, and the last one counts
            return None
        spans[name] = value_start, at
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
    value_start = single_bytes_start(data, start, end)
    return decode_feature(data[start:end]) if value_start is None else (data[value_start:end],)  # copied once


@functools.lru_cache(maxsize=1 << 13)
def _cached_values(feature: bytes) -> tuple[Any, ...]:
    return tuple(decode_feature(feature))


def single_bytes_start(data: bytes, start: int, end: int) -> int | None:
    """Return where the only value of a BytesList starts; it ends at `end`. None if the feature is anything else."""
    head = _head_of_single_bytes(end - start)
    return start + len(head) if head and data.startswith(head, start) else None


@functools.lru_cache(maxsize=1 << 12)
def _head_of_single_bytes(num_bytes: int) -> bytes:
    """Return the bytes before the only value of a BytesList in a Feature of a size; b"" if there is no such Feature."""
    for length in range(num_bytes - _MIN_HEAD_BYTES, max(-1, num_bytes - _MAX_HEAD_BYTES - 1), -1):
        body = b"\x0a" + encode_varint(length)
        head = b"\x0a" + encode_varint(len(body) + length) + body
        if len(head) + length == num_bytes:
            return head
    return b""
