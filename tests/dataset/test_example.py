import base64
import contextlib
import math
import struct

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset import example
from shardkit.errors import CallError, RecordError
from shardkit.testing.strategies import features

ENCODERS = {
    "bytes": example.bytes_feature,
    "int64": lambda values: example.int64_feature(tuple(values)),
    "float": example.float_feature,
}

# Made with TensorFlow 2.21 and, f being example.features.feature of an empty tf.train.Example, these calls:
# `f["image"].bytes_list.value.append(b"\xff\xd8")`, `f["label"].int64_list.value.append(300)`,
# `f["labels"].int64_list.value.extend([-1, 0])`, `f["score"].float_list.value.append(0.5)`,
# `f["none"].int64_list.SetInParent()`; then base64.b64encode of `example.SerializeToString(deterministic=True)`.
GOLDEN = (
    "ClwKDwoFaW1hZ2USBgoECgL/2AoZCgZsYWJlbHMSDxoNCgv///////////8BAAoPCgVsYWJlbBIGGgQKAqwCCgoKBG5vbmUSAhoAChEKBXNj"
    "b3JlEggSBgoEAAAAPw=="
)


def encode(given_features):
    return example.encode({name: ENCODERS[kind](values) for name, (kind, values) in given_features.items()})


def tensorflow_example(given_features):
    import tensorflow as tf

    made = tf.train.Example()
    for name, (kind, values) in given_features.items():
        values_list = getattr(made.features.feature[name], f"{kind}_list")
        values_list.SetInParent()  # an empty list is not the same as none
        values_list.value.extend(values)
    return made


def tensorflow_decoded(data):
    """What TensorFlow parses; None if it refuses."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    try:
        parsed = tf.train.Example.FromString(data)
    except DecodeError:
        return None
    found = {}
    for name, feature in parsed.features.feature.items():
        kind = feature.WhichOneof("kind")
        found[name] = list(getattr(feature, kind).value) if kind else []
    return found


def comparable(decoded):
    """NaN made equal to itself, floats to nothing but floats."""
    return {
        name: [struct.pack("<f", value) if isinstance(value, float) else value for value in values]
        for name, values in decoded.items()
    }


def test_the_bytes_are_the_golden_ones():
    data = example.encode(
        {
            "score": example.float_feature([0.5]),
            "none": example.int64_feature(()),
            "label": example.int64_feature((300,)),
            "labels": example.int64_feature((-1, 0)),
            "image": example.bytes_feature([b"\xff\xd8"]),
        }
    )
    assert data == base64.b64decode(GOLDEN)


@given(features())
@also({"label": ("int64", [1]), "labels": ("int64", [2]), "labe": ("bytes", []), "": ("float", [])})
@also({"\uffee": ("int64", [1]), "\U0001f600": ("int64", [2])})  # UTF-8 and UTF-16 order them differently
@also({"a": ("int64", [-(2**63), -1, 0, 127, 128, 16383, 16384, 2**63 - 1])})
@also({"a": ("float", [math.nan, math.inf, -math.inf, -0.0, 1e-45])})
@also({"a": ("bytes", [bytes(127)]), "b": ("bytes", [bytes(128)]), "c": ("bytes", [bytes(70_000)])})
def test_our_bytes_are_tensorflows_deterministic_ones(given_features):
    assert encode(given_features) == tensorflow_example(given_features).SerializeToString(deterministic=True)


@given(features(), st.randoms())
def test_the_order_in_which_features_are_given_does_not_matter(given_features, random):
    shuffled = random.sample(sorted(given_features), len(given_features))
    assert encode({name: given_features[name] for name in shuffled}) == encode(given_features)


@given(features())
def test_decoding_is_the_inverse_of_encoding(given_features):
    expected = {name: values for name, (_, values) in given_features.items()}
    assert comparable(example.decode(encode(given_features))) == comparable(expected)


@given(features())
def test_what_tensorflow_serialises_in_any_order_is_decoded(given_features):
    expected = {name: values for name, (_, values) in given_features.items()}
    assert comparable(example.decode(tensorflow_example(given_features).SerializeToString())) == comparable(expected)


def field(tag, body):
    return bytes([tag, len(body)]) + body


def of_feature(feature, before=b"", after=b""):
    """An Example of one feature named "a", with more bytes before and after its Features."""
    return before + field(0x0A, field(0x0A, field(0x0A, b"a") + field(0x12, feature))) + after


FIVE = field(0x1A, field(0x0A, b"\x05"))

# https://protobuf.dev/programming-guides/encoding/: what every parser must accept from any writer.
LEGAL = {
    "unpacked integers": of_feature(field(0x1A, b"\x08\x05\x08\x06")),
    "unpacked floats": of_feature(field(0x12, b"\x0d\x00\x00\x80\x3f")),
    "integers packed in two parts": of_feature(field(0x1A, field(0x0A, b"\x05") + field(0x0A, b"\x06"))),
    "integers in part packed": of_feature(field(0x1A, field(0x0A, b"\x05") + b"\x08\x06")),
    "an integer in more bytes than it needs": of_feature(field(0x1A, field(0x0A, b"\x85\x80\x00"))),
    "the same list in two parts": of_feature(FIVE + field(0x1A, field(0x0A, b"\x06"))),
    "two kinds, of which the last holds": of_feature(FIVE + field(0x0A, field(0x0A, b"x"))),
    "two kinds, and the first once more": of_feature(FIVE + field(0x0A, field(0x0A, b"x")) + FIVE),
    "no kind": of_feature(b""),
    "an unknown varint": of_feature(FIVE, before=b"\x10\x05"),
    "an unknown varint behind": of_feature(FIVE, after=b"\x10\x05"),
    "an unknown fixed64": of_feature(FIVE, before=b"\x11" + bytes(8)),
    "an unknown fixed32": of_feature(FIVE, before=b"\x15" + bytes(4)),
    "an unknown string": of_feature(FIVE, before=b"\x12\x01x"),
    "an unknown field with a long tag": of_feature(FIVE, before=b"\xfa\x7f\x01x"),
    "an unknown field in the feature": of_feature(FIVE + b"\x20\x05"),
    "a value of another type in the list": of_feature(field(0x1A, b"\x0d\x00\x00\x80\x3f" + field(0x0A, b"\x05"))),
    "features in two parts": of_feature(FIVE) + field(0x0A, field(0x0A, field(0x0A, b"b") + field(0x12, FIVE))),
    "a feature twice": of_feature(FIVE) + of_feature(field(0x1A, field(0x0A, b"\x06"))),
    "a name twice in one entry": field(0x0A, field(0x0A, field(0x0A, b"a") + field(0x0A, b"b") + field(0x12, FIVE))),
    "a value twice in one entry": field(0x0A, field(0x0A, field(0x0A, b"a") + field(0x12, FIVE) * 2)),
    "the value before the name": field(0x0A, field(0x0A, field(0x12, FIVE) + field(0x0A, b"a"))),
    "no name": field(0x0A, field(0x0A, field(0x12, FIVE))),
    "no value": field(0x0A, field(0x0A, field(0x0A, b"a"))),
    "no features": b"",
    "empty features": b"\x0a\x00",
}


@pytest.mark.parametrize("data", LEGAL.values(), ids=LEGAL.keys())
def test_every_legal_encoding_is_decoded_as_tensorflow_does(data):
    expected = tensorflow_decoded(data)
    assert expected is not None
    assert example.decode(data) == expected


ILLEGAL = {
    "cut inside a tag": b"\x8a",
    "cut inside a length": b"\x0a\x80",
    "cut inside a field": b"\x0a\x05abc",
    "cut inside a packed integer": of_feature(field(0x1A, field(0x0A, b"\x85"))),
    "packed floats of three bytes": of_feature(field(0x12, field(0x0A, b"abc"))),
    "an unknown fixed64 cut short": b"\x11abc",
    "an unknown fixed32 cut short": b"\x15abc",
    "an unknown varint cut short": b"\x10\x80",
    "a name that is not UTF-8": field(0x0A, field(0x0A, field(0x0A, b"\xff") + field(0x12, FIVE))),
    "an integer of more than ten bytes": of_feature(field(0x1A, field(0x0A, b"\x80" * 10 + b"\x05"))),
    "field number 0": of_feature(FIVE, before=b"\x02\x01x"),
    "wire type 6": b"\x0e\x01x",
    "wire type 7": b"\x0f\x01x",
    "an end without a group": b"\x0c",
    "text": b"this is no example",
}


@pytest.mark.parametrize("data", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_what_no_parser_takes_is_a_record_error(data):
    assert tensorflow_decoded(data) is None
    with pytest.raises(RecordError, match=rf"^the record's {len(data)} bytes are not a tf\.train\.Example: "):
        example.decode(data)


@given(st.binary(max_size=60))
def test_garbage_raises_nothing_but_a_record_error(data):
    with contextlib.suppress(RecordError):
        example.decode(data)


@given(features(), st.data())
def test_damaged_examples_raise_nothing_but_a_record_error(given_features, data):
    damaged = bytearray(encode(given_features))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged) - 1))
        damaged[position] = data.draw(st.sampled_from([0, 1, 2, 8, 0x0A, 0x0D, 0x12, 0x1A, 0x22, 0x7F, 0x80, 0xFF]))
    with contextlib.suppress(RecordError):
        example.decode(bytes(damaged))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_an_integer_beyond_64_bits_is_refused_rather_than_wrapped(value):
    with pytest.raises(CallError, match=str(value)):
        example.int64_feature((1, value))


@given(features(), st.binary(max_size=200), st.sampled_from(["image", "a", "zz"]))
def test_the_place_of_a_single_value_is_told(given_features, value, name):
    encoded = {other: ENCODERS[kind](values) for other, (kind, values) in given_features.items()}
    encoded[name] = example.bytes_feature([value])
    data, end = example.encode_located(encoded, name)
    assert data == example.encode(encoded)
    assert data[end - len(value) : end] == value
    marked, marked_end = example.encode_located({**encoded, name: example.bytes_feature([b"\xfe" * len(value)])}, name)
    assert marked_end == end
    assert marked[end - len(value) : end] == b"\xfe" * len(value)


def test_encoding_long_lists_keeps_no_memory():
    import tracemalloc

    example.int64_feature((5,))
    tracemalloc.start()
    try:
        for first in range(1000):
            example.int64_feature(tuple(range(first, first + 300)))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000, held  # all of them: about 4 MB
