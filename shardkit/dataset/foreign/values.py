"""Read a serialized tf.train.Example, and find the image in it.

Records in the form that TensorFlow's encoders write are read in a third of the time, see `feature_spans`; others by the
general functions. The offset of the image in its record lets later steps read it in place.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Literal, NamedTuple

from shardkit.dataset.example import decode, read_varint
from shardkit.dataset.feature_spans import Span, feature_values, find_features, single_bytes_start
from shardkit.errors import RecordError

Features = dict[str, list[bytes] | list[int] | list[float]]
Kind = Literal["bytes", "int64", "float", "empty"]
_EMPTY_LISTS: dict[bytes, Kind] = {b"\x0a\x00": "bytes", b"\x12\x00": "float", b"\x1a\x00": "int64"}
_FEATURES = _FEATURE = _NAME = _BYTES_LIST = _VALUE = 0x0A  # field 1, length-delimited, at every level
_FEATURE_OF_ENTRY = _FEATURE_LISTS = 0x12  # field 2, length-delimited
# The first bytes of formats that Pillow opens, besides those with a name at byte 4 or 8.
_MAGIC = (
    *(b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"II*\x00", b"MM\x00*"),
    *(b"\x00\x00\x00\x0cjP  ", b"\xff\x4f\xff\x51", b"P4", b"P5", b"P6"),
)
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)  # sizes of BITMAPINFOHEADER and its relatives


class Record(NamedTuple):
    """What a record holds."""

    data: bytes  # the serialized Example
    features: Features  # values by name; not to be changed
    # Kinds of the lists without values, by name: TensorFlow refuses an empty list of a wrong kind. Those that another
    # encoder than protobuf's own wrote are not known.
    empty: Mapping[str, Kind]
    spans: Mapping[str, Span]  # place of each serialized feature by name; none if another encoder wrote the record

    def locate(self, name: str) -> tuple[int, int]:
        """Return the start and the length of the only value of a bytes feature; see `locate_bytes`."""
        if span := self.spans.get(name):
            start = single_bytes_start(self.data, *span)
            if start is not None:
                return start, span[1] - start
        return locate_bytes(self.data, name)


def read_features(data: bytes) -> Features:
    """Return the features of a record; see `read_record`."""
    return read_record(data).features


def read_record(data: bytes) -> Record:
    """Return what a record holds; RecordError: it is a SequenceExample, no Example, or one without features."""
    try:
        spans = {name.decode(): span for name, span in (find_features(data) or {}).items()}
        if spans:
            features = {name: list(feature_values(data, *span)) for name, span in spans.items()}
            lists = ((name, data[slice(*spans[name])]) for name, values in features.items() if not values)
            empty = {name: _EMPTY_LISTS[one] for name, one in lists if one in _EMPTY_LISTS}
            return Record(data, features, empty, spans)
    except (UnicodeDecodeError, RecordError):
        pass  # the general function says what is wrong
    if _has_feature_lists(data):
        msg = "it is a tf.train.SequenceExample, which shardkit does not read; write a tf.train.Example for each image"
        raise RecordError(msg)
    decoded = decode(data)
    if not decoded:
        msg = f"its {len(data)} bytes hold no features of a tf.train.Example"
        raise RecordError(msg)
    return Record(data, decoded, {}, {})


def kind_of(value: bytes | int | float) -> Kind:  # noqa: PYI041 -- three kinds of lists
    """Return the kind of a value."""
    if isinstance(value, bytes):
        return "bytes"
    return "int64" if isinstance(value, int) else "float"


def locate_bytes(data: bytes, name: str) -> tuple[int, int]:
    """Return the start and the length of the first value of a bytes feature in a serialized Example.

    RecordError: the feature has no such value, or it is stored in several pieces.
    """
    found = [
        (start, stop)
        for fields in _find(data, 0, len(data), _FEATURES)
        for entry in _find(data, *fields, _FEATURE)
        if any(data[slice(*one)] == name.encode() for one in _find(data, *entry, _NAME))
        for feature in _find(data, *entry, _FEATURE_OF_ENTRY)
        for values in _find(data, *feature, _BYTES_LIST)
        for start, stop in _find(data, *values, _VALUE)[:1]
    ]
    if len(found) != 1:
        msg = f"the feature {name!r} is stored in {len(found)} pieces, and one is expected"
        raise RecordError(msg)
    start, stop = found[0]
    return start, stop - start


def _find(data: bytes, start: int, stop: int, tag: int) -> list[tuple[int, int]]:
    """Return (start, stop) of the bodies of fields with a one-byte tag; the message was decoded before."""
    found = []
    at = start
    while at < stop:
        key, at = read_varint(data, at)
        wire_type = key & 7
        if wire_type == 2:
            length, at = read_varint(data, at)
            if key == tag:
                found.append((at, at + length))
            at += length
        elif wire_type == 0:
            _, at = read_varint(data, at)
        else:
            at += 8 if wire_type == 1 else 4
    return found


def _has_feature_lists(data: bytes) -> bool:
    """Return whether a message has a field 2, as SequenceExample has and Example has not."""
    try:
        return bool(_find(data, 0, len(data), _FEATURE_LISTS))
    except (IndexError, ValueError):
        return False  # not a message at all, which decoding reports


def is_image(data: bytes) -> bool:
    """Return whether bytes start like an encoded image."""
    if data.startswith(_MAGIC) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return True
    if data[4:8] == b"ftyp":
        return data[8:12] in {b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1"}
    return data[:2] == b"BM" and len(data) > 18 and int.from_bytes(data[14:18], "little") in _BMP_HEADERS


def from_base64(data: bytes) -> bytes | None:
    """Return the bytes that URL-safe base64 stands for; None if the data is something else."""
    try:
        return base64.b64decode(data, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
