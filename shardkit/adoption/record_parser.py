"""Parse records quickly: entries that occurred before are looked up, and the image is located, not copied twice.

Of a record with twelve features, all but the image and its name usually occurred before, byte for byte: sizes, formats,
labels. Records that are serialized in another way than protobuf's own are parsed by the general functions.
"""

from functools import cache
from typing import Any, NamedTuple

from shardkit.dataset.example import decode_features, encode_varint, read_varint
from shardkit.dataset.foreign.found_features import Kind
from shardkit.dataset.foreign.values import locate_bytes, read_features

_FEATURES = _ENTRY = _NAME = _BYTES_LIST = _VALUE = 0x0A
_FEATURE = 0x12
_KINDS: dict[int, Kind] = {0x0A: "bytes", 0x12: "float", 0x1A: "int64"}  # by the tag of the list
_MAX_REMEMBERED = 128  # bytes of an entry
_MAX_ENTRIES = 1 << 15


class Parsed(NamedTuple):
    """One record.

    Attributes:
        features: Values by name; not to be changed. That of the image is in it, too.
        empty: Kind of the lists without values, by name: TensorFlow refuses an empty list of a wrong kind.
        image_start: Start of the image in the record's data; 0 if it has none.
        image_bytes: Length of the image in bytes.
    """

    features: dict[str, list[Any]]
    empty: dict[str, Kind]
    image_start: int
    image_bytes: int


@cache
def parser_of(image: str) -> "RecordParser":
    """Return the parser of this process: what it remembers of a file helps with the next one.

    Args:
        image: Feature of the image.
    """
    return RecordParser(image)


class RecordParser:
    """Parses the records of one layout; threads may share it."""

    def __init__(self, image: str) -> None:
        """Make a parser.

        Args:
            image: Feature of the image.
        """
        name = image.encode()
        self._image = image
        self._image_head = bytes((_NAME,)) + encode_varint(len(name)) + name + bytes((_FEATURE,))
        self._known: dict[bytes, _Entry] = {}

    def parse(self, data: bytes) -> Parsed:
        """Parse a record.

        Raises:
            RecordError: It is not an Example, or it has no features.
        """
        try:
            return self._parse(data)
        except (IndexError, ValueError, _OtherFormError):
            features = read_features(data)
            location = locate_bytes(data, self._image) if features.get(self._image) else (0, 0)
            return Parsed(features, {}, *location)

    def _parse(self, data: bytes) -> Parsed:
        stop, at = _read_head(data, 0, _FEATURES)
        if stop != len(data) or at == stop:
            raise _OtherFormError
        features: dict[str, list[Any]] = {}
        empty: dict[str, Kind] = {}
        image = (0, 0)
        while at < stop:
            start = at
            end, at = _read_head(data, at, _ENTRY)
            if end > stop:
                raise _OtherFormError
            if data.startswith(self._image_head, at):
                if image != (0, 0):
                    raise _OtherFormError
                image = self._locate(data, at + len(self._image_head), end)
                features[self._image] = [data[image[0] : image[1]]]
            else:
                entry = self._entry(data[start:end])
                if self._image in entry.features:  # with the value before the name
                    raise _OtherFormError
                features.update(entry.features)
                empty.update(entry.empty)
            at = end
        return Parsed(features, empty, image[0], image[1] - image[0])

    def _locate(self, data: bytes, at: int, end: int) -> tuple[int, int]:
        """Return (start, stop) of the image in an entry, given the position behind its name."""
        length, at = read_varint(data, at)
        if at + length != end:
            raise _OtherFormError
        for tag in (_BYTES_LIST, _VALUE):
            stop, at = _read_head(data, at, tag)
            if stop != end:  # several values, or none
                raise _OtherFormError
        return at, end

    def _entry(self, entry: bytes) -> "_Entry":
        if len(entry) > _MAX_REMEMBERED:
            return _Entry(decode_features(entry), {})
        found = self._known.get(entry)
        if found is None:
            found = _one_value(entry) or _decoded(entry)
            if len(self._known) >= _MAX_ENTRIES:
                self._known.clear()
            self._known[entry] = found
        return found


class _Entry(NamedTuple):
    features: dict[str, list[Any]]
    empty: dict[str, Kind]


def _decoded(entry: bytes) -> _Entry:
    features = decode_features(entry)
    return _Entry(features, {name: kind for name, values in features.items() if (kind := _empty(values, entry))})


def _one_value(entry: bytes) -> _Entry | None:
    """Return a short entry with one value of bytes; None if it is another one, or is written in another way."""
    if len(entry) < 10 or entry[0] != _ENTRY or entry[2] != _NAME:
        return None
    at = 4 + entry[3]  # behind the name; lengths below 128 are one byte each
    value = len(entry) - at - 6
    if value < 0 or len(entry) > 127:
        return None
    tags = bytes((_FEATURE, value + 4, _BYTES_LIST, value + 2, _VALUE, value))
    if entry[1] != len(entry) - 2 or entry[at : at + 6] != tags:
        return None
    return _Entry({entry[4:at].decode(): [entry[at + 6 :]]}, {})


def _empty(values: list[Any], entry: bytes) -> Kind | None:
    """Return the kind of a list without values; None if it has values or no kind."""
    ending = entry[-4:]  # field 2 of two bytes: the list's tag, and its length of 0
    return _KINDS.get(ending[2]) if not values and ending[:2] == b"\x12\x02" and ending[3] == 0 else None


class _OtherFormError(Exception):
    """The record is not serialized as expected here."""


def _read_head(data: bytes, at: int, tag: int) -> tuple[int, int]:
    """Return the end and the start of a field's body."""
    if data[at] != tag:
        raise _OtherFormError
    length, at = read_varint(data, at + 1)
    return at + length, at
