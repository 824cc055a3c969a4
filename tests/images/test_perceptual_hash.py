import io

import numpy as np
import pytest
from PIL import Image

from shardkit import images
from shardkit.images.similar.near_pairs import RADIUS

from ..copies import COPIES, as_png, cropped, encoded, photo


def hash_of(data):
    return images.check_fully(data)[2]


def bits_between(one, other):
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_has_nearly_the_same_hash_and_another_photograph_has_not(kind):
    for number in range(5):
        whole = hash_of(encoded(photo(number)))
        assert bits_between(whole, hash_of(COPIES[kind](photo(number)))) <= RADIUS
        assert bits_between(whole, hash_of(COPIES[kind](photo(number + 100)))) > RADIUS


def test_crops_of_5_percent_are_found():
    found = [
        bits_between(hash_of(encoded(photo(n))), hash_of(encoded(cropped(photo(n), 0.05)))) <= RADIUS for n in range(24)
    ]
    assert np.mean(found) >= 0.95


def test_the_hash_never_changes():
    # Rows: 8 bits of "darker than the right cell", all of a ramp; columns: none, for the ramp has equal rows.
    ramp = Image.fromarray(np.tile(np.arange(0, 225, 2, np.uint8)[:99], (99, 1)))
    assert hash_of(as_png(ramp)) == b"\xff" * 8 + bytes(8)
    assert hash_of(as_png(ramp.transpose(Image.Transpose.ROTATE_270))) == bytes(8) + b"\xff" * 8
    assert hash_of(as_png(photo(0))).hex() == "cccc4c1cc4e2c6e6a400093839eaf7ed"


def test_a_picture_on_its_side_is_hashed_upright():
    for orientation, method in ((6, Image.Transpose.ROTATE_90), (3, Image.Transpose.ROTATE_180)):
        exif = Image.Exif()
        exif[0x0112] = orientation
        out = io.BytesIO()
        photo(1).transpose(method).save(out, "JPEG", quality=95, exif=exif)
        assert bits_between(hash_of(out.getvalue()), hash_of(encoded(photo(1)))) <= 8


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "CMYK"])
def test_every_mode_of_8_bits_has_a_hash(mode):
    out = io.BytesIO()
    photo(2).convert(mode).save(out, "TIFF" if mode == "CMYK" else "PNG")
    assert bits_between(hash_of(out.getvalue()), hash_of(encoded(photo(2)))) <= RADIUS


@pytest.mark.parametrize(
    "image",
    [
        Image.new("RGB", (100, 100), "white"),
        Image.fromarray(np.random.default_rng(0).integers(126, 130, (200, 200), np.uint8)),  # noise
        photo(0, (160, 63)),  # an icon
        Image.new("I;16", (100, 100)),
        photo(0).convert("1"),
    ],
)
def test_images_that_are_flat_small_or_not_of_8_bits_have_none(image):
    info, _, found = images.check_fully(as_png(image))
    assert found is None
    assert (info.width, info.height) == image.size
