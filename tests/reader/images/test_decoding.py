import io
import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from shardkit.reader.arguments.images import Images
from shardkit.reader.images import decoding

from ..conftest import encode, smooth

COLOUR = smooth(91, 67)
GREY = COLOUR.convert("L")
FILES = {
    "jpeg 4:4:4": encode(COLOUR, "JPEG", subsampling=0),
    "jpeg 4:2:2": encode(COLOUR, "JPEG", subsampling=1),
    "jpeg 4:2:0": encode(COLOUR, "JPEG", subsampling=2),
    "jpeg progressive": encode(COLOUR, "JPEG", subsampling=2, progressive=True),
    "jpeg grey": encode(GREY, "JPEG"),
    "png": encode(COLOUR, "PNG"),
    "png grey": encode(GREY, "PNG"),
    "png palette": encode(COLOUR.convert("P"), "PNG"),
    "png alpha": encode(COLOUR.convert("RGBA"), "PNG"),
}
SUBSAMPLED = {"jpeg 4:2:2", "jpeg 4:2:0", "jpeg progressive"}


def image_options(**changed):
    defaults = {"size": (32, 48), "eval_fit": "stretch", "eval_crop_fraction": 1.0}
    return Images(**(defaults | changed))


@tf.function(reduce_retracing=True)
def decode_window(encoded, window, is_png, channels):
    return decoding.decode_window(encoded, window, is_png, channels)


def finish(pixels, flip=None, **changed):
    """What the graph makes of pixels whose size it does not know."""
    options = image_options(**changed)

    @tf.function(input_signature=[tf.TensorSpec([None, None, pixels.shape[-1]], tf.uint8), tf.TensorSpec([], tf.bool)])
    def compiled(image, mirrored):
        window = tf.concat([[0, 0], tf.shape(image)[:2]], axis=0)
        return decoding.finish(image, None if flip is None else mirrored, options, window)

    assert compiled.get_concrete_function().output_shapes == (*options.size, pixels.shape[-1])
    return np.asarray(compiled(pixels, bool(flip)))


def windows(height, width, count=25):
    rng = np.random.default_rng(0)
    yield 0, 0, height, width
    for _ in range(count):
        top, left = rng.integers(height), rng.integers(width)
        yield int(top), int(left), int(rng.integers(1, height - top + 1)), int(rng.integers(1, width - left + 1))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", FILES)
def test_a_window_is_the_slice_of_the_whole_image(name, channels):
    encoded = FILES[name]
    if name.startswith("png") and channels == 1:
        whole = decoding.luma(tf.io.decode_png(encoded, channels=3)).numpy().astype(int)
    else:
        whole = tf.io.decode_image(encoded, channels=channels).numpy().astype(int)
    for top, left, height, width in windows(*whole.shape[:2]):
        is_png = tf.constant(name.startswith("png"))
        found = decode_window(encoded, tf.constant([top, left, height, width]), is_png, channels).numpy()
        difference = np.abs(found - whole[top : top + height, left : left + width]).max(axis=(0, 2))
        if name in SUBSAMPLED and channels == 3:
            # The decoder has no chroma of the neighbours outside a window to smooth its first and last column with.
            assert difference.max() <= 20  # of smooth pictures 9 was the most seen
            difference = difference[1:-1]
        assert not difference.any()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", ["jpeg 4:4:4", "jpeg grey", "png", "png grey", "png palette"])
def test_a_whole_image_is_what_pillow_shows(name, channels):
    mode = {1: "L", 3: "RGB"}[channels]
    with Image.open(io.BytesIO(FILES[name])) as image:
        expected = np.asarray(image.convert(mode)).astype(int).reshape(image.height, image.width, channels)
    window = tf.constant([0, 0, *expected.shape[:2]])
    found = decode_window(FILES[name], window, tf.constant(name.startswith("png")), channels).numpy()
    # The fast transform of JPEG differs from Pillow's by a rounding or two.
    assert np.abs(found - expected).max() <= (0 if name.startswith("png") else 3)


# From https://www.w3.org/TR/png-3/#11Chunks; the profile need not be one, as decoders that ignore it do not look.
CHUNKS = {
    "gAMA": struct.pack(">I", 45455),
    "sRGB": b"\0",
    "cHRM": struct.pack(">8I", 31270, 32900, 73500, 26500, 11500, 82600, 15700, 1800),
    "iCCP": b"profile\0\0" + zlib.compress(bytes(200)),
    "sBIT": b"\5\5\5",
    "bKGD": struct.pack(">3H", 9, 9, 9),
    "tRNS": struct.pack(">3H", *COLOUR.getpixel((0, 0))),
}


@pytest.mark.parametrize("channels", [1, 3])
def test_no_chunk_of_a_png_changes_its_pixels(channels):
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [200, 100, 50]]], np.uint8)
    plain = encode(Image.fromarray(pixels), "PNG")
    expected = pixels if channels == 3 else np.asarray(Image.fromarray(pixels).convert("L"))[..., None]
    for name, payload in CHUNKS.items():
        kind = name.encode()
        chunk = struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))
        file = plain[:33] + chunk + plain[33:]  # behind IHDR
        found = decode_window(file, tf.constant([0, 0, 1, 4]), tf.constant(True), channels).numpy()
        assert found.tolist() == expected.tolist(), name
        assert np.asarray(Image.open(io.BytesIO(file)).convert("RGB")).tolist() == pixels.tolist(), name


def test_luma_is_that_of_jpeg_for_every_gray_and_to_the_nearest_integer():
    values = np.arange(256, dtype=np.uint8)
    gray = decoding.luma(tf.constant(np.stack([values] * 3, -1)[None])).numpy()
    assert gray.ravel().tolist() == values.tolist()
    colors = np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype(np.uint8)
    expected = np.floor(colors @ np.array([0.299, 0.587, 0.114]) + 0.5)
    found = decoding.luma(tf.constant(colors)).numpy()[..., 0]
    assert found.dtype == np.uint8
    assert (found == expected).mean() > 0.999
    assert np.abs(found - expected).max() <= 1


def test_no_branch_is_made_where_all_are_jpeg():
    window = tf.constant([5, 6, 7, 8])
    with_branch = decoding.decode_window(FILES["jpeg grey"], window, tf.constant(False), 3)
    np.testing.assert_array_equal(decoding.decode_window(FILES["jpeg grey"], window, None, 3), with_branch)


PIXELS = np.asarray(COLOUR)


@pytest.mark.parametrize("method", ["bilinear", "antialias"])
def test_resizing_is_tensorflows_own(method):
    expected = tf.image.resize(PIXELS, [32, 48], antialias=method == "antialias").numpy()
    np.testing.assert_allclose(finish(PIXELS, resize_method=method), expected, atol=1e-3)


@pytest.mark.parametrize("size", [(67, 91), (100, 200)])
def test_bilinear_enlarges_as_pillow_does(size):
    expected = np.asarray(COLOUR.resize(size[::-1], Image.Resampling.BILINEAR)).astype(float)
    assert np.abs(finish(PIXELS, size=size) - expected).max() <= 1  # Pillow rounds, after each direction


@pytest.mark.parametrize("size", [(20, 30), (40, 15), (66, 200)])
def test_antialias_resizes_as_pillow_does(size):
    expected = np.asarray(COLOUR.resize(size[::-1], Image.Resampling.BILINEAR)).astype(float)
    assert np.abs(finish(PIXELS, size=size, resize_method="antialias") - expected).max() <= 1.5


def test_each_dtype_is_the_float_rounded():
    exact = finish(PIXELS)
    assert exact.dtype == np.float32
    small = finish(PIXELS, dtype="uint8")
    assert small.dtype == np.uint8
    np.testing.assert_array_equal(small, np.rint(exact))
    half = finish(PIXELS, dtype="bfloat16")
    assert half.dtype == tf.bfloat16.as_numpy_dtype
    np.testing.assert_array_equal(half, exact.astype(half.dtype))


@pytest.mark.parametrize("method", ["bilinear", "antialias"])
@pytest.mark.parametrize("value", [0, 255])
def test_black_and_white_do_not_wrap_round(value, method):
    flat = np.full((77, 53, 3), value, np.uint8)
    assert (finish(flat, dtype="uint8", resize_method=method) == value).all()


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mean_and_std_are_those_of_the_channels(dtype, grey):
    pixels = np.asarray(GREY)[..., None] if grey else PIXELS
    mean, std = ((120.5,), (60.0,)) if grey else ((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))
    expected = (finish(pixels, grayscale=grey) - np.float32(mean)) / np.float32(std)
    found = finish(pixels, grayscale=grey, dtype=dtype, mean=mean, std=std)
    # The graph's optimiser divides by a constant as it likes, hence a rounding of the dtype asked for.
    rounding = {"float32": 2**-22, "bfloat16": 2**-7}[dtype]
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=rounding, atol=2**-20)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bfloat16"])
@pytest.mark.parametrize("method", ["bilinear", "antialias"])
def test_flip_mirrors_left_to_right(method, dtype):
    plain = finish(PIXELS, dtype=dtype, resize_method=method)
    np.testing.assert_array_equal(finish(PIXELS, flip=False, dtype=dtype, resize_method=method), plain)
    np.testing.assert_array_equal(finish(PIXELS, flip=True, dtype=dtype, resize_method=method), plain[:, ::-1])


@pytest.mark.parametrize("method", ["bilinear", "antialias"])
@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((20, 30), (0, 32), (0, 48)),  # the very aspect
        ((30, 20), (0, 32), (13, 34)),  # 21 columns, one spare pixel less before than behind
        ((10, 60), (12, 20), (0, 48)),
        ((1, 1), (0, 32), (8, 40)),
        ((1, 300), (15, 16), (0, 48)),  # would be a sixth of a pixel high: one is kept
        ((300, 1), (0, 32), (23, 24)),
    ],
)
def test_pad_fits_the_whole_image_into_black(shape, rows, columns, method):
    picture = np.random.default_rng(0).integers(100, 256, (*shape, 3), np.uint8)
    padded = finish(picture, eval_fit="pad", resize_method=method).copy()
    inside = padded[slice(*rows), slice(*columns)]
    expected = finish(picture, size=inside.shape[:2], resize_method=method)
    np.testing.assert_allclose(inside, expected, atol=1e-3)
    padded[slice(*rows), slice(*columns)] = 0
    assert not padded.any()


def test_random_crops_fill_the_target_whatever_fit_says():
    flat = np.full((10, 60, 3), 200, np.uint8)
    assert (finish(flat, crop_scale=(0.5, 1.0), eval_fit="pad") == 200).all()
