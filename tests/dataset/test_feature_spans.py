"""`find_features` and `feature_values` against `example.decode`, the plain path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset import example
from shardkit.dataset.feature_spans import feature_values, find_features
from shardkit.errors import RecordError
from shardkit.testing.strategies import features

from .test_example import GOLDEN, base64, encode


def by_spans(data):
    """All features, each found and decoded for itself; None if the form is left to `decode`."""
    spans = find_features(data)
    return None if spans is None else {name.decode(): [*feature_values(data, *span)] for name, span in spans.items()}


def outcome(read, data):
    try:
        return repr(read(data))  # NaN is not equal to itself
    except (RecordError, UnicodeDecodeError):  # a name
        return "damaged"


@given(features())
def test_what_shardkit_encodes_is_found_and_decodes_to_the_same_values(given_features):
    data = encode(given_features)
    found = by_spans(data)
    assert repr(found) == repr(example.decode(data))


def test_what_tensorflow_encodes_is_found():
    data = base64.b64decode(GOLDEN)
    assert by_spans(data) == example.decode(data)
    assert set(find_features(data)) == {b"image", b"labels", b"label", b"none", b"score"}


@given(features(), st.data())
def test_changed_bytes_are_decoded_alike_or_left_to_decode(given_features, data):
    raw = bytearray(encode(given_features))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(len(raw) - 2, len(raw)))])
    found = outcome(by_spans, raw)
    assert found in {"None", outcome(example.decode, raw)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x0a\x00\x0a\x00",  # two Features messages, which protobuf merges
        b"\x0a\x02\x0a\x00",  # an entry without a name
        b"\x0a\x09\x0a\x07\x12\x02\x1a\x00\x0a\x01a",  # the value before the name
        b"\x0a\x0b\x0a\x09\x0a\x01a\x12\x02\x1a\x00\x18\x01",  # an unknown field behind the value
    ],
)
def test_unusual_forms_are_left_to_decode(data):
    assert find_features(data) is None
    assert set(example.decode(data)) <= {"", "a"}


def test_a_whole_number_of_a_record_may_be_unpacked():
    unpacked = b"\x0a\x0c\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x08\xac\x02"
    assert by_spans(unpacked) == example.decode(unpacked) == {"a": [300]}


@pytest.mark.parametrize("size", [0, 1, 11, 12, 13, 120, *range(122, 132), 300, *range(16374, 16390), 1 << 21])
def test_single_and_several_values_of_any_size_are_decoded(size):
    for values in ([b"x" * size], [b"x" * size, b""], [b"", b"x" * size], [b"\x0a" * size]):
        data = example.encode({"a": example.bytes_feature(values)})
        assert by_spans(data) == {"a": values}
