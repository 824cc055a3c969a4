"""Reading a record quickly returns what the general functions return, however a record is serialized."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset.example import bytes_feature, decode, encode, float_feature, int64_feature
from shardkit.dataset.foreign.values import locate_bytes, read_record
from shardkit.errors import RecordError

VALUES = st.one_of(
    st.lists(st.binary(max_size=300), max_size=3).map(bytes_feature),
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=40).map(lambda numbers: int64_feature(tuple(numbers))),
    st.lists(st.floats(width=32, allow_nan=False), max_size=40).map(float_feature),
)
FEATURES = st.dictionaries(st.sampled_from(["a", "image", "image/encoded", "label", "ü" * 90]), VALUES, min_size=1)


def located(data):
    """What the general functions say of a record whose image is `image`."""
    features = decode(data)
    return features, locate_bytes(data, "image") if features.get("image") else None


def quick(data):
    """What `read_record` says of it."""
    record = read_record(data)
    return record.features, record.locate("image") if record.features.get("image") else None


@given(st.lists(st.tuples(FEATURES, st.binary(max_size=400)), min_size=1, max_size=4))
def test_records_are_parsed_as_by_the_general_functions(records):
    for features, image in [*records, *records]:  # the second time, entries are remembered
        data = encode({**features, "image": bytes_feature([image])})
        assert quick(data) == located(data)
        start, length = read_record(data).locate("image")
        assert data[start:][:length] == image


def delimited(tag, body):
    return bytes([tag, len(body)]) + body


IMAGE = delimited(10, delimited(10, b"image") + delimited(18, delimited(10, delimited(10, b"bytes"))))
LABEL = delimited(10, delimited(10, b"label") + delimited(18, delimited(26, b"\x08\x07")))  # not packed
ODD = {
    "two messages of features": delimited(10, LABEL) + delimited(10, IMAGE),
    "the value before the name": delimited(
        10, delimited(10, delimited(18, delimited(10, delimited(10, b"bytes"))) + delimited(10, b"image"))
    ),
    "an unknown field at the end": delimited(10, IMAGE + LABEL) + delimited(0x7A, b"?"),
    "an unknown field in the features": delimited(10, IMAGE + b"\x78\x05" + LABEL),
    "no image": delimited(10, LABEL),
}


@pytest.mark.parametrize("name", ODD)
def test_other_serializations_are_parsed_as_well(name):
    assert quick(ODD[name]) == located(ODD[name])


def test_an_empty_list_has_a_kind():
    lists = {
        "a": bytes_feature([]),
        "b": float_feature([]),
        "c": int64_feature(()),
        "d": b"",
        "e": float_feature([1.0]),
    }
    assert read_record(encode(lists)).empty == {"a": "bytes", "b": "float", "c": "int64"}


def test_an_image_that_is_there_twice_is_refused():
    with pytest.raises(RecordError, match="2 pieces"):
        read_record(delimited(10, IMAGE + IMAGE)).locate("image")


@pytest.mark.parametrize("data", [b"", b"\x00", b"not an example", b"\x0a\x05abc", delimited(10, LABEL)[:-1]])
def test_what_is_no_example_is_refused(data):
    with pytest.raises(RecordError):
        read_record(data)
