"""``normalise``: what is stored is upright, 8 bits deep, no larger than asked, and TensorFlow's decoder agrees."""

import io
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from shardkit import images
from shardkit.errors import CallError
from shardkit.options.groups import Stored

from .image_making import MAKERS, chunk, encode, exif, insert_chunks, made, picture, segment, upright
from .tensorflow_decoding import tensorflow_decodes

# Names of MAKERS stored as JPEG: the JPEGs themselves, and WebP that was lossy and opaque. All else becomes PNG.
LOSSY = {name for name in MAKERS if name.startswith("jpeg") and not name.startswith("jpeg2000")}
LOSSY |= {"webp lossy", "webp exif"}


def normalise(data: bytes, shorter_side: int | None = None, quality: int = 95) -> images.NormalisedImage:
    return images.normalise(data, images.check(data), Stored(resize=shorter_side, quality=quality))


def pixels_of(image: Image.Image) -> np.ndarray:
    """Pixels as TensorFlow would give them: palettes resolved, 16 bits cut to 8, always 3 axes."""
    if image.mode == "P":
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif image.mode in {"CMYK", "1"}:
        image = image.convert("RGB" if image.mode == "CMYK" else "L")
    array = np.asarray(image)
    if image.mode in {"I;16", "I"}:
        array = array >> 8
    return (array if array.ndim == 3 else array[..., None]).astype(np.uint8)


@pytest.mark.parametrize("name", MAKERS)
def test_tensorflow_decodes_what_is_stored_to_the_size_that_is_reported(name: str) -> None:
    stored = normalise(made(name))
    decoded = tensorflow_decodes(stored.data)
    assert decoded.shape[:2] == (stored.height, stored.width)
    assert stored.data.startswith(b"\xff\xd8" if name in LOSSY else b"\x89PNG")
    assert stored.changes == images.check(made(name)).changes
    assert (stored.data == made(name)) == (not stored.changes)


def test_an_arithmetic_coded_jpeg_of_over_64_kib_is_stored_as_an_ordinary_one() -> None:
    # Any bytes are a valid stream of this coder. These need more than Pillow's first block of 64 KiB.
    scan = segment(0xDA, bytes((1, 1, 0, 0, 63, 0))) + b"\n" * 70_000
    frame = segment(0xC9, struct.pack(">BHHB", 8, 2048, 2048, 1) + bytes((1, 0x11, 0)))
    data = b"\xff\xd8" + segment(0xDB, b"\0" + bytes([16]) * 64) + frame + scan + b"\xff\xd9"
    with pytest.raises(OSError, match="broken data stream"):
        Image.open(io.BytesIO(data)).load()
    for shorter_side in (None, 100):
        stored = normalise(data, shorter_side)
        assert stored.width == stored.height == (shorter_side or 2048)
        assert "jpeg_process" in stored.changes
        assert images.check(stored.data).changes == ()


@pytest.mark.parametrize("name", sorted(set(MAKERS) - LOSSY))
def test_lossless_output_has_the_pixels_that_pillow_shows_upright(name: str) -> None:
    expected = pixels_of(upright(made(name)))
    decoded = tensorflow_decodes(normalise(made(name)).data)
    assert decoded.shape[2] in {expected.shape[2], 4}
    if decoded.shape[2] == expected.shape[2]:
        np.testing.assert_array_equal(decoded, expected)
    else:  # a GIF's or palette's transparency became a channel
        visible = decoded[..., 3] > 0
        np.testing.assert_array_equal(decoded[visible][:, :3], expected[visible][:, :3])


@pytest.mark.parametrize("name", sorted(LOSSY))
def test_lossy_output_is_close_to_what_pillow_shows_upright(name: str) -> None:
    expected = pixels_of(upright(made(name))).astype(int)
    decoded = tensorflow_decodes(normalise(made(name), quality=100).data).astype(int)
    assert decoded.shape == expected.shape
    assert np.abs(decoded - expected).mean() < (5 if name == "jpeg cmyk" else 3)  # CMYK is encoded twice


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_every_orientation_is_turned_as_exif_transpose_turns_it(kind: str, orientation: int) -> None:
    options = {"tiffinfo": {0x0112: orientation}} if kind == "TIFF" else {"exif": exif(orientation)}
    data = encode(picture(), kind, **options, **({"lossless": True} if kind == "WEBP" else {}))
    expected = pixels_of(upright(data)).astype(int)
    stored = normalise(data, quality=100)
    decoded = tensorflow_decodes(stored.data).astype(int)
    assert ("orientation" in stored.changes) == (orientation != 1)
    assert decoded.shape == expected.shape
    assert np.abs(decoded - expected).max() <= (12 if kind == "JPEG" else 0)
    shrunk = normalise(data, shorter_side=11)
    turned = orientation >= 5
    assert (shrunk.width, shrunk.height) == ((11, 18) if turned else (18, 11))
    small = Image.fromarray(expected.astype(np.uint8)).resize((shrunk.width, shrunk.height), Image.Resampling.BICUBIC)
    assert np.abs(tensorflow_decodes(shrunk.data).astype(int) - pixels_of(small)).mean() < 4


@given(
    mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA"]),
    width=st.integers(1, 90),
    height=st.integers(1, 90),
    shorter_side=st.integers(1, 100),
    kind=st.sampled_from(["PNG", "JPEG"]),
)
def test_the_shorter_side_shrinks_to_what_is_asked_and_never_grows(mode, width, height, shorter_side, kind) -> None:
    image = picture(mode, width, height)
    data = encode(image.convert("RGB") if kind == "JPEG" else image, kind)
    stored = normalise(data, shorter_side)
    assert tensorflow_decodes(stored.data).shape[:2] == (stored.height, stored.width)
    if shorter_side >= min(width, height):
        assert stored == images.NormalisedImage(data, width, height, ())
        return
    assert stored.changes == ("resized",)
    assert min(stored.width, stored.height) == shorter_side
    assert (stored.width <= stored.height) == (width <= height) or stored.width == stored.height
    scale = shorter_side / min(width, height)
    assert abs(max(stored.width, stored.height) - max(width, height) * scale) <= 0.5


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_bytes_come_out_every_time_and_in_every_thread(name: str) -> None:
    expected = [normalise(made(name)), normalise(made(name), 9, 80)]
    with ThreadPoolExecutor(4) as threads:
        results = [threads.submit(normalise, made(name), *options) for _ in range(8) for options in ((), (9, 80))]
    assert [result.result() for result in results] == expected * 8


@pytest.mark.parametrize("shorter_side", [None, 9])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_metadata_is_gone_once_an_image_is_encoded_anew(kind: str, shorter_side: int | None) -> None:
    secret = b"where it was taken"
    data = encode(picture(), kind, exif=exif(6).replace(b"Maker\0", b"Maker\0" + secret), icc_profile=secret * 9)
    stored = normalise(data, shorter_side)
    assert secret in data
    assert secret not in stored.data
    with Image.open(io.BytesIO(stored.data)) as image:
        assert not dict(image.getexif())
        assert "icc_profile" not in image.info
        assert not getattr(image, "text", {})


def test_transparency_survives_shrinking() -> None:
    for name in ("png palette transparent", "png palette translucent", "png grey transparent", "gif transparent"):
        decoded = tensorflow_decodes(normalise(made(name), 9).data)
        assert decoded.shape[2] in {2, 4}, name


def test_a_drafted_jpeg_keeps_its_frame_of_view() -> None:
    # 73 columns at an eighth make 10, of which the last is filled to an eighth: the picture must not be squeezed.
    ramp = Image.fromarray(np.tile(np.arange(73, dtype=np.uint8) * 3, (73, 1)))
    exact = np.asarray(ramp.resize((9, 9), Image.Resampling.BICUBIC)).astype(int)
    stored = normalise(encode(ramp, "JPEG", quality=100), 9, 100)
    assert np.abs(tensorflow_decodes(stored.data)[..., 0].astype(int) - exact).max() <= 4


@pytest.mark.parametrize(("shorter_side", "quality"), [(0, 95), (-1, 95), (None, 0), (None, 101)])
def test_options_out_of_range_are_the_callers_fault(shorter_side: int | None, quality: int) -> None:
    with pytest.raises(CallError):
        normalise(made("jpeg"), shorter_side, quality)


# Pillow warns of an animation of 0 frames, and of a tag with two values where one belongs.
WARNED_OF = {
    "animation": insert_chunks(made("png rgb"), chunk(b"acTL", bytes(8))),
    "tag": made("tiff oriented").replace(b"\x12\x01\x03\x00\x01", b"\x12\x01\x03\x00\x02"),
}


@pytest.mark.parametrize("what", WARNED_OF)
def test_pillows_warnings_do_not_reach_the_user(what: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Image.open(io.BytesIO(WARNED_OF[what])) as image:
            image.getexif()
        assert caught, "Pillow no longer warns: find another image"
        caught.clear()
        normalise(WARNED_OF[what], 9)
    assert not caught


def test_pillows_globals_stay_as_they_are() -> None:
    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, ImageFile.MAXBLOCK
    for name in MAKERS:
        normalise(made(name), 9)
    assert before == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, ImageFile.MAXBLOCK)
