"""Encode and decode ``tf.train.Example`` without TensorFlow, deterministically.

    Example   { Features features = 1 }                  Feature { oneof: BytesList 1, FloatList 2, Int64List 3 }
    Features  { map<string, Feature> feature = 1 }       …List   { repeated value = 1 }  (numbers are packed)

Source: tensorflow/core/example/{example,feature}.proto. The bytes are those of TensorFlow's
``SerializeToString(deterministic=True)`` for the same features; a property test compares them.
"""

import contextlib
import functools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shardkit.errors import CallError, RecordError

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 0x0A, 0x12, 0x1A
_LENGTH_DELIMITED = 0x0A  # field 1, wire type 2: the only tag below Feature
_UINT64 = 1 << 64


_ONE_BYTE = [bytes((value,)) for value in range(0x80)]


def encode_varint(value: int) -> bytes:
    """Return a number of at least 0 as protobuf writes it."""
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(tag: int, body: bytes) -> bytes:
    return bytes((tag,)) + encode_varint(len(body)) + body


def bytes_feature(values: Sequence[bytes]) -> bytes:
    """Encode a Feature with a BytesList."""
    parts = [part for value in values for part in (b"\x0a" + encode_varint(len(value)), value)]
    return b"".join([bytes((_BYTES_LIST,)) + encode_varint(sum(map(len, parts))), *parts])


def int64_feature(values: tuple[int, ...]) -> bytes:
    """Encode a Feature with an Int64List; values in [-2**63, 2**63)."""
    return _cached_int64_feature(values) if len(values) == 1 else _int64_feature(values)


def _int64_feature(values: tuple[int, ...]) -> bytes:
    if values and not -(1 << 63) <= min(values) <= max(values) < 1 << 63:
        raise CallError(f"an int64 feature holds values from -2**63 to 2**63 - 1; found {values}")
    packed = b"".join(encode_varint(value % _UINT64) for value in values)
    return _delimited(_INT64_LIST, _delimited(_LENGTH_DELIMITED, packed) if packed else b"")


# Labels and sizes repeat, and with small images encoding them took a third of the writer's time. Only single values are
# cached: lists of thousands hardly ever repeat, and the cache would hold all of their bytes.
_cached_int64_feature = functools.lru_cache(maxsize=1 << 13)(_int64_feature)


def float_feature(values: Sequence[float]) -> bytes:
    """Encode a Feature with a FloatList of 32-bit values."""
    packed = struct.pack(f"<{len(values)}f", *values)
    return _delimited(_FLOAT_LIST, _delimited(_LENGTH_DELIMITED, packed) if packed else b"")


def encode(features: Mapping[str, bytes]) -> bytes:
    """Serialize an Example.

    Names are in byte order, but a name precedes its own prefix (``labels`` before ``label``), as in upb, the protobuf
    runtime of TensorFlow's Python. UTF-8 has no byte 0xFF, hence the sort key.

    Args:
        features: At least one feature encoded by ``*_feature``, by name.
    """
    return encode_located(features, next(iter(features)))[0]


def encode_located(features: Mapping[str, bytes], name: str) -> tuple[bytes, int]:
    """Serialize an Example; also return the end of the named feature in it, just after its last value."""
    parts, at, end = [b""], 0, 0
    for other, head in _ordered_heads(tuple(features)):
        feature = features[other]
        length = encode_varint(len(feature))
        entry = b"\x0a" + encode_varint(len(head) + len(length) + len(feature)) + head + length
        parts += [entry, feature]
        at += len(entry) + len(feature)
        if other == name:
            end = at
    parts[0] = b"\x0a" + encode_varint(at)
    # One join, so that an image is copied once into its feature and once into the example, not at every level.
    return b"".join(parts), end + len(parts[0])


@functools.lru_cache(maxsize=64)
def _ordered_heads(names: tuple[str, ...]) -> list[tuple[str, bytes]]:
    heads = [(name, _delimited(_LENGTH_DELIMITED, name.encode()) + b"\x12") for name in names]
    return sorted(heads, key=lambda named: named[0].encode() + b"\xff")


def encode_entry(name: str, feature: bytes) -> bytes:
    """Return the part of an Example that `encode` writes for one feature."""
    head, length = _delimited(_LENGTH_DELIMITED, name.encode()) + b"\x12", encode_varint(len(feature))
    return b"\x0a" + encode_varint(len(head) + len(length) + len(feature)) + head + length + feature


def decode(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """Parse a serialized Example into the values of its features; a feature without a list gives an empty list.

    Accepts what protobuf accepts: packed and unpacked numbers, fields in any order, split or repeated fields, and
    unknown fields.

    Raises:
        RecordError: The bytes are not an Example.
    """
    with _damage_as_record_error(data, "a tf.train.Example"):
        features: dict[str, list[bytes] | list[int] | list[float]] = {}
        for body in _fields(memoryview(data), 1):
            features.update(_features(body))
        return features


def decode_features(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """Parse some whole features of a serialized Example, such as all that follow its image.

    Raises:
        RecordError: The bytes are not features.
    """
    with _damage_as_record_error(data, "features of a tf.train.Example"):
        return _features(memoryview(data))


def decode_feature(feature: bytes) -> list[Any]:
    """Parse the values of one serialized Feature.

    Raises:
        RecordError: The bytes are not a Feature.
    """
    with _damage_as_record_error(feature, "a feature of a tf.train.Example"):
        return _values(iter([memoryview(feature)]))


@contextlib.contextmanager
def _damage_as_record_error(data: bytes, what: str) -> Iterator[None]:
    try:
        yield
    except (IndexError, ValueError, struct.error) as error:
        raise RecordError(f"the record's {len(data)} bytes are not {what}: {error}") from None


def _features(data: memoryview) -> dict[str, list[bytes] | list[int] | list[float]]:
    features: dict[str, list[bytes] | list[int] | list[float]] = {}
    for entry in _fields(data, 1):
        name = b""
        for part in _fields(entry, 1):
            name = bytes(part)  # the last one counts
        features[name.decode()] = _values(_fields(entry, 2))
    return features


def _values(parts: Iterator[memoryview]) -> list[Any]:
    kind, values = 0, list[Any]()
    for feature in parts:
        for tag, body in _walk(feature):
            if tag not in _READERS:
                continue
            if tag != kind:  # a oneof: another kind replaces the values, the same kind appends
                kind, values = tag, list[Any]()
            values += _READERS[tag](body)
    return values


def _bytes(values_list: memoryview) -> list[bytes]:
    return [bytes(value) for value in _fields(values_list, 1)]


def _floats(values_list: memoryview) -> list[float]:
    numbers = [part for tag, part in _walk(values_list) if tag in {_LENGTH_DELIMITED, 1 << 3 | 5}]  # packed or not
    return [value for part in numbers for value in struct.unpack(f"<{len(part) // 4}f", part)]


def _int64s(values_list: memoryview) -> list[int]:
    numbers = [part for tag, part in _walk(values_list) if tag in {_LENGTH_DELIMITED, 1 << 3 | 0}]
    return [value for part in numbers for value in _varints(part)]


_READERS: dict[int, Callable[[memoryview], list[Any]]] = {
    _BYTES_LIST: _bytes,
    _FLOAT_LIST: _floats,
    _INT64_LIST: _int64s,
}


def _fields(data: memoryview, number: int) -> Iterator[memoryview]:
    return (body for tag, body in _walk(data) if tag == number << 3 | 2)


def _walk(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield (tag, body) of every field; the body of a number is its bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        wire_type = tag & 7
        start = at
        if wire_type == 2:
            length, start = read_varint(data, at)
            at = start + length
        elif wire_type == 0:
            _, at = read_varint(data, at)
        elif wire_type in {1, 5}:
            at += 8 if wire_type == 1 else 4
        if wire_type in {3, 4, 6, 7} or tag < 8:  # groups, unused types, field number 0
            raise ValueError(f"there is no field with the tag {tag}, found before byte {at}")
        if at > len(data):
            raise ValueError(f"a field of {at - start} bytes at byte {start} runs past the end")
        yield tag, data[start:at]


def _varints(packed: memoryview) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = read_varint(packed, at)
        yield value - _UINT64 if value >> 63 else value


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at a byte, and the position after it.

    Raises:
        IndexError: The bytes end inside the number.
        ValueError: The number has more than ten bytes.
    """
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _UINT64, at
    raise ValueError(f"a number of more than ten bytes before byte {at}")
