"""No bytes make ``shardkit.images`` raise anything but BadImage, and what ``check`` passes TensorFlow decodes."""

import contextlib
import random
import struct
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardkit import images
from shardkit.images import info as info_module
from shardkit.options.groups import Stored

from .image_making import MAKERS, PNG_SIGNATURE, chunk, made
from .tensorflow_decoding import tensorflow_decodes

# Bytes that mean something: JPEG's markers, extremes of numbers.
TELLING = bytes([0x00, 0x01, 0x7F, 0x80, 0xC0, 0xC4, 0xD0, 0xD8, 0xD9, 0xDA, 0xDB, 0xE1, 0xFE, 0xFF])


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to three small damages anywhere, more often in the header."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3])):
        if not changed:
            break
        position = rng.randrange(rng.choice([len(changed), min(len(changed), 64), min(len(changed), 300)]))
        damage = rng.randrange(8)
        if damage == 0:
            changed[position] ^= 1 << rng.randrange(8)
        elif damage == 1:
            changed[position] = rng.choice(TELLING)
        elif damage == 2:
            changed[position : position + 2] = bytes([0xFF, rng.choice(TELLING)])
        elif damage == 3:
            del changed[position : position + rng.choice([1, 2, 4, 30])]
        elif damage == 4:
            changed[position:position] = rng.randbytes(rng.choice([1, 2, 4, 30]))
        elif damage == 5:
            changed[position : position + 8] = bytes(8)
        elif damage == 6:
            del changed[position:]
        else:
            changed += rng.choice([b"\xff\xd9", bytes(20), bytes(changed[:50])])
    return bytes(changed)


def mend_crcs(data: bytes) -> bytes:
    """A PNG whose chunks' CRCs fit again: otherwise damage never gets further than the first CRC."""
    mended, position = data[:8], 8
    while position + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        if position + 12 + length > len(data):
            break
        payload = data[position + 8 : position + 8 + length]
        mended += chunk(kind, payload)
        position += 12 + length
    return mended + data[position:]


def rearrange_rows(data: bytes, rng: random.Random) -> bytes:
    """A PNG whose pixels are damaged before they were deflated."""
    start = data.find(b"IDAT") + 4
    (length,) = struct.unpack_from(">I", data, start - 8)
    try:
        rows = mutate(zlib.decompress(data[start : start + length]), rng)
    except zlib.error:
        return data
    return data[: start - 8] + chunk(b"IDAT", zlib.compress(rows)) + data[start + length + 4 :]


def damaged(name: str, seed: int) -> bytes:
    rng = random.Random(seed)  # noqa: S311 -- damage, not secrets
    data = made(name)
    if data.startswith(PNG_SIGNATURE):
        way = rng.randrange(4)
        return rearrange_rows(data, rng) if way == 0 else mend_crcs(mutate(data, rng)) if way < 3 else mutate(data, rng)
    return mutate(data, rng)


@pytest.fixture(autouse=True, scope="module")
def small_images_only():
    """Damaged headers claim huge sizes: with a lower limit the test spends its time on decoders, not on pixels."""
    patch = pytest.MonkeyPatch()
    patch.setattr(info_module, "MAX_PIXELS", 300_000)
    yield
    patch.undo()


def check_and_store(data: bytes) -> None:
    """The property: any exception but BadImage fails the test."""
    try:
        header = images.inspect(data)
    except images.BadImage:
        header = None
    try:
        info, _, _ = images.check_fully(data)
    except images.BadImage:
        if header is not None:  # A writer that reads headers only meets such an image here first.
            with contextlib.suppress(images.BadImage):
                images.normalise(data, header, Stored(resize=5, quality=90))
        return
    assert info == header
    for shorter_side in (None, 5):
        stored = images.normalise(data, info, Stored(resize=shorter_side, quality=90))
        assert tensorflow_decodes(stored.data).shape[:2] == (stored.height, stored.width)
    images.normalise(data, info, Stored(strip_metadata=True))
    images.normalise(data, info, Stored(bit_depth="scale=100:5000", background="#ffffff"))


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 48))
def test_damaged_images_are_refused_or_decoded_by_tensorflow(name: str, seed: int) -> None:
    check_and_store(damaged(name, seed))


# The last number: bytes at the end without which all pixels are there.
@pytest.mark.parametrize(
    ("name", "num_spare"),
    [
        ("jpeg", 0),
        ("jpeg progressive", 0),
        ("jpeg restart", 0),
        ("png rgb", 0),
        ("png interlaced", 0),
        ("webp lossy", 0),
        ("gif", 2),  # an empty block and the trailer
        ("bmp", 1),  # the last row is padded to whole words
    ],
)
def test_images_cut_at_any_byte_are_refused(name: str, num_spare: int) -> None:
    for length in range(len(made(name)) - num_spare):
        with pytest.raises(images.BadImage):
            images.check(made(name)[:length])


@given(st.binary(max_size=300), st.sampled_from([made(name)[:length] for name in MAKERS for length in (3, 12, 40)]))
def test_random_bytes_behind_any_signature_raise_nothing_else(tail: bytes, head: bytes) -> None:
    check_and_store(head + tail)
