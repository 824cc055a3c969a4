"""``tf.train.Example`` in bytes, without TensorFlow: the deterministic serialisation, and the way back.

    Example   { Features features = 1 }                  Feature { oneof: BytesList 1, FloatList 2, Int64List 3 }
    Features  { map<string, Feature> feature = 1 }       …List   { repeated value = 1 }  (numbers are packed)

Source: tensorflow/core/example/{example,feature}.proto. The bytes equal TensorFlow's
``SerializeToString(deterministic=True)`` for the same features, which a property test holds.
"""

import functools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shardkit.errors import CallError, RecordError

_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 0x0A, 0x12, 0x1A
_LENGTH_DELIMITED = 0x0A  # field 1, wire type 2: the only one in use below Feature
_UINT64 = 1 << 64


_ONE_BYTE = [bytes((value,)) for value in range(0x80)]


def _varint(value: int) -> bytes:
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
    return bytes((tag,)) + _varint(len(body)) + body


def bytes_feature(values: Sequence[bytes]) -> bytes:
    """A Feature that holds a BytesList."""
    parts = [part for value in values for part in (b"\x0a" + _varint(len(value)), value)]
    return b"".join([bytes((_BYTES_LIST,)) + _varint(sum(map(len, parts))), *parts])


def int64_feature(values: tuple[int, ...]) -> bytes:
    """A Feature that holds an Int64List; values in [-2**63, 2**63)."""
    return _remembered_int64(values) if len(values) == 1 else _int64_feature(values)


def _int64_feature(values: tuple[int, ...]) -> bytes:
    if values and not -(1 << 63) <= min(values) <= max(values) < 1 << 63:
        msg = f"an int64 feature holds values from -2**63 to 2**63 - 1; found {values}"
        raise CallError(msg)
    packed = b"".join(_varint(value % _UINT64) for value in values)
    return _delimited(_INT64_LIST, _delimited(_LENGTH_DELIMITED, packed) if packed else b"")


# Labels and sizes repeat, and on small images encoding them was a third of the writer's time. Single values only: a
# list of thousands hardly ever repeats, and the cache would hold as many bytes as its lists have.
_remembered_int64 = functools.lru_cache(maxsize=1 << 13)(_int64_feature)


def float_feature(values: Sequence[float]) -> bytes:
    """A Feature that holds a FloatList, 32 bits each."""
    packed = struct.pack(f"<{len(values)}f", *values)
    return _delimited(_FLOAT_LIST, _delimited(_LENGTH_DELIMITED, packed) if packed else b"")


def encode(features: Mapping[str, bytes]) -> bytes:
    """Serialise an Example from at least one feature made by ``*_feature``.

    Names are in byte order, a name before its own prefix (``labels`` before ``label``): so sorts upb, the protobuf
    runtime under TensorFlow's Python. UTF-8 has no byte 0xFF, hence the sort key.
    """
    return encode_located(features, next(iter(features)))[0]


def encode_located(features: Mapping[str, bytes], name: str) -> tuple[bytes, int]:
    """As ``encode``, and where the feature of that name ends in it: a single value lies just before."""
    parts, at, end = [b""], 0, 0
    for other, head in _ordered_heads(tuple(features)):
        feature = features[other]
        length = _varint(len(feature))
        entry = b"\x0a" + _varint(len(head) + len(length) + len(feature)) + head + length
        parts += [entry, feature]
        at += len(entry) + len(feature)
        if other == name:
            end = at
    parts[0] = b"\x0a" + _varint(at)
    # One join: an image is copied once into its feature and once into the example, not once a level.
    return b"".join(parts), end + len(parts[0])


@functools.lru_cache(maxsize=64)
def _ordered_heads(names: tuple[str, ...]) -> list[tuple[str, bytes]]:
    heads = [(name, _delimited(_LENGTH_DELIMITED, name.encode()) + b"\x12") for name in names]
    return sorted(heads, key=lambda named: named[0].encode() + b"\xff")


def decode(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """Parse a serialised Example into its features' values; a feature that holds no list gives an empty one.

    Takes what protobuf takes: numbers packed or not, fields in any order, in parts or twice, fields that the schema
    does not name.

    Raises:
        RecordError: the bytes are no Example.
    """
    try:
        return _decode(memoryview(data))
    except (IndexError, ValueError, struct.error) as error:
        msg = f"the record's {len(data)} bytes are no tf.train.Example: {error}"
        raise RecordError(msg) from None


def _decode(data: memoryview) -> dict[str, list[bytes] | list[int] | list[float]]:
    features: dict[str, list[bytes] | list[int] | list[float]] = {}
    for body in _fields(data, 1):
        for entry in _fields(body, 1):
            name = b""
            for part in _fields(entry, 1):
                name = bytes(part)  # given twice, the last holds
            features[name.decode()] = _values(_fields(entry, 2))
    return features


def _values(parts: Iterator[memoryview]) -> list[Any]:
    kind, values = 0, list[Any]()
    for feature in parts:
        for tag, body in _walk(feature):
            if tag not in _READERS:
                continue
            if tag != kind:  # a oneof: another kind replaces, the same one goes on
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
    """(tag, body) of every field; the body of a number is its bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire_type = tag & 7
        start = at
        if wire_type == 2:
            length, start = _read_varint(data, at)
            at = start + length
        elif wire_type == 0:
            _, at = _read_varint(data, at)
        elif wire_type in {1, 5}:
            at += 8 if wire_type == 1 else 4
        if wire_type in {3, 4, 6, 7} or tag < 8:  # groups, unused types, field number 0
            msg = f"there is no field with the tag {tag}, found before byte {at}"
            raise ValueError(msg)
        if at > len(data):
            msg = f"a field of {at - start} bytes at byte {start} runs past the end"
            raise ValueError(msg)
        yield tag, data[start:at]


def _varints(packed: memoryview) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _read_varint(packed, at)
        yield value - _UINT64 if value >> 63 else value


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _UINT64, at
    msg = f"a number of more than ten bytes before byte {at}"
    raise ValueError(msg)
