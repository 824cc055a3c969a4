"""Scaled decoding against exact decoding: the ratio, the window, the pixels, and nothing at all where it is off."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from shardkit.reader import Images, make_dataset_fn
from shardkit.reader.images import decoding
from shardkit.reader.images.decoding import RATIOS
from shardkit.testing import convert_without_beam, write_tree

from ..conftest import encode, global_batches, smooth
from .test_decoding import image_options

SHRUNK = RATIOS[1:]
WIDTH, HEIGHT = 1003, 757  # no ratio divides either


@tf.function(reduce_retracing=True)
def decode_window(encoded, window, is_png, channels, target):
    return decoding.decode_window(encoded, window, is_png, channels, target)


def resized(pixels, size, method="antialias"):
    return decoding.finish(
        tf.convert_to_tensor(pixels),
        None,
        image_options(size=size, resize_method=method, grayscale=pixels.shape[-1] == 1),
        None,
    ).numpy()


def psnr(found, expected):
    return 10 * np.log10(255**2 / np.mean((found - expected) ** 2))


def chosen_ratio(window, target):
    return RATIOS[int(decoding.ratio_index(tf.constant([0, 0, *window]), target))]


@pytest.mark.parametrize(
    ("window", "target", "ratio"),
    [
        ((224, 224), (224, 224), 1),
        ((447, 447), (224, 224), 1),
        ((448, 448), (224, 224), 2),
        ((447, 448), (224, 224), 1),
        ((448, 447), (224, 224), 1),
        ((895, 896), (224, 224), 2),
        ((896, 896), (224, 224), 4),
        ((1791, 1792), (224, 224), 4),
        ((1792, 1792), (224, 224), 8),
        ((65535, 65535), (224, 224), 8),  # the largest JPEG: libjpeg knows no smaller scale
        ((449, 60000), (224, 224), 2),  # the nearer side decides
        ((400, 100), (100, 50), 2),  # height and width each to its own
        ((100, 400), (50, 100), 2),
        ((1, 1), (1, 1), 1),
        ((8, 8), (1, 1), 8),
        ((7, 8), (1, 1), 4),
        ((3, 3), (224, 224), 1),  # enlarged
    ],
)
def test_the_ratio_is_the_greatest_that_leaves_as_much_as_the_target(window, target, ratio):
    assert chosen_ratio(window, target) == ratio


@pytest.mark.parametrize(
    ("changed", "window", "target"),
    [
        ({"eval_fit": "crop"}, (100, 300), (32, 48)),
        ({"eval_fit": "stretch"}, (100, 300), (32, 48)),
        ({"eval_fit": "pad"}, (100, 300), (16, 48)),  # what is not black
        ({"eval_fit": "pad"}, (300, 1), (32, 1)),
        ({"eval_fit": "pad", "flip": True}, (100, 300), (16, 48)),
        ({"eval_fit": "pad", "crop_scale": (0.5, 1.0)}, (100, 300), (32, 48)),  # crops are not padded
    ],
)
def test_the_target_is_what_the_image_fills(changed, window, target):
    found = decoding.target_size(tf.constant([0, 0, *window]), image_options(**changed))
    assert tuple(np.asarray(found)) == target


SIDES = st.integers(1, 40) | st.integers(1, 65535)


@st.composite
def spans(draw):
    """(side of an image, start, length): anywhere in it, and at each of its ends."""
    side = draw(SIDES)
    length = draw(st.integers(1, side) | st.just(1) | st.just(side))
    last = side - length
    return side, draw(st.integers(0, last) | st.just(0) | st.just(last)), length


@given(down=spans(), across=spans(), ratio=st.sampled_from(RATIOS))
@settings(max_examples=150, deadline=None)
def test_a_scaled_window_is_in_the_scaled_image_and_within_half_a_pixel(down, across, ratio):
    window = tf.constant([down[1], across[1], down[2], across[2]])
    found = decoding.scaled_window(window, ratio).numpy()
    for (side, start, length), (scaled_start, scaled_length) in zip((down, across), found.reshape(2, 2).T, strict=True):
        assert scaled_length >= 1
        assert 0 <= scaled_start <= -(-side // ratio) - scaled_length
        # Doubled, so that halves are whole numbers: both sides times 2 * ratio.
        assert abs((2 * scaled_start + scaled_length) * ratio - (2 * start + length)) <= ratio
        assert scaled_length == 1 or abs(2 * scaled_length * ratio - 2 * length) <= ratio


def test_a_window_of_at_least_the_target_stays_so():
    for ratio in SHRUNK:
        for length in range(50 * ratio, 50 * ratio + 2 * ratio):
            window = tf.constant([3, 3, length, length])
            assert (decoding.scaled_window(window, ratio).numpy()[2:] >= 50).all()


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("ratio", SHRUNK)
@pytest.mark.parametrize("size", [(1, 1), (1, 70), (70, 1), (64, 48), (71, 53), (17, 9)])
def test_every_image_has_the_scaled_size_that_windows_count_on(size, ratio, subsampling):
    encoded = encode(smooth(*size), "JPEG", subsampling=subsampling)
    whole = tf.io.decode_jpeg(encoded, channels=3, ratio=ratio).numpy().astype(int)
    width, height = size
    assert whole.shape == (-(-height // ratio), -(-width // ratio), 3)
    # To every edge, by operations that refuse a window outside of the image.
    for top, left in [(0, 0), (height // 2, width // 2), (height - 1, width - 1), (0, width - 1)]:
        window = tf.constant([top, left, height - top, width - left])
        first, before, tall, wide = found = decoding.scaled_window(window, ratio).numpy()
        pixels = tf.raw_ops.DecodeAndCropJpeg(contents=encoded, crop_window=found, channels=3, ratio=ratio).numpy()
        expected = whole[first : first + tall, before : before + wide]
        assert pixels.shape == expected.shape
        # Subsampled chroma is smoothed with what the window leaves out: see test_decoding.
        assert np.abs(pixels - expected)[:, 1:-1].max(initial=0) <= (0 if subsampling == 0 else 20)


PICTURE = smooth(WIDTH, HEIGHT)
LARGE = {
    "4:4:4": encode(PICTURE, "JPEG", subsampling=0),
    "4:2:0": encode(PICTURE, "JPEG", subsampling=2),
    "progressive": encode(PICTURE, "JPEG", subsampling=2, progressive=True),
    "grey": encode(PICTURE.convert("L"), "JPEG"),
}
WINDOWS = [(0, 0, HEIGHT, WIDTH), (13, 101, 703, 801), (20, 7, 737, 737), (1, 2, 755, 1001)]


# Of smooth pictures 45.7 and 42.9 dB were the least seen.
@pytest.mark.parametrize(("channels", "method", "floor"), [(3, "antialias", 44), (1, "bilinear", 41)])
@pytest.mark.parametrize(("ratio", "size"), [(2, (260, 240)), (4, (170, 180)), (8, (85, 90))])
@pytest.mark.parametrize(
    "name", ["4:2:0", "grey", *(pytest.param(one, marks=pytest.mark.slow) for one in ("4:4:4", "progressive"))]
)
def test_pixels_at_the_target_are_those_of_exact_decoding(name, ratio, size, channels, method, floor):
    for window in WINDOWS:
        assert chosen_ratio(window[2:], size) == ratio
        scaled = decode_window(LARGE[name], tf.constant(window), None, channels, size)
        assert scaled.shape == [*decoding.scaled_window(tf.constant(window), ratio).numpy()[2:], channels]
        exact = decode_window(LARGE[name], tf.constant(window), None, channels, None)
        assert psnr(resized(scaled, size, method), resized(exact, size, method)) > floor


MARKER = 48  # pixels a side
CORNERS = [(0, 0), (HEIGHT - 517, 0), (0, WIDTH - 629), (HEIGHT - 517, WIDTH - 629), (120, 187)]


# Corners of windows of 517 x 629: at every edge, and amid the image.
@pytest.mark.parametrize(
    ("ratio", "corner"),
    [
        pytest.param(ratio, corner, marks=[pytest.mark.slow] * ((i + j) % 4 != 0))
        for i, ratio in enumerate(RATIOS)
        for j, corner in enumerate(CORNERS)
    ],
)
def test_a_marker_lands_in_the_same_place_within_a_pixel(ratio, corner):
    size, sides = (500 // ratio, 600 // ratio), (517, 629)
    assert chosen_ratio(sides, size) == ratio
    for place in [(0, 0), (201, 333), (517 - MARKER, 629 - MARKER), (3, 629 - MARKER)]:
        pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        top, left = np.add(corner, place)
        pixels[top : top + MARKER, left : left + MARKER] = 255
        encoded = encode(Image.fromarray(pixels), "JPEG", quality=95)
        found = resized(decode_window(encoded, tf.constant([*corner, *sides]), None, 3, size), size).mean(-1)
        rows, columns = np.mgrid[: size[0], : size[1]] + 0.5
        centre = (found * rows).sum() / found.sum(), (found * columns).sum() / found.sum()
        np.testing.assert_allclose(centre, np.add(place, MARKER / 2) * size / sides, atol=1)


@pytest.mark.parametrize("name", ["png", "png grey", "png palette"])
def test_pngs_are_untouched(name):
    image = {"png": PICTURE, "png grey": PICTURE.convert("L"), "png palette": PICTURE.convert("P")}[name]
    encoded, is_png, window = encode(image, "PNG"), tf.constant(True), tf.constant(WINDOWS[1])
    expected = decode_window(encoded, window, is_png, 3, None)
    np.testing.assert_array_equal(decode_window(encoded, window, is_png, 3, (80, 80)), expected)


def test_windows_of_less_than_twice_the_target_are_untouched():
    window = tf.constant(WINDOWS[1])
    expected = decode_window(LARGE["4:2:0"], window, None, 3, None)
    np.testing.assert_array_equal(decode_window(LARGE["4:2:0"], window, None, 3, (352, 300)), expected)


def _pictures():
    for i, (width, height) in enumerate([(400, 300), (133, 401), (500, 97), (61, 67), (803, 601), (40, 500)]):
        image = smooth(width, height, i)
        yield f"colour/{i}.jpg", encode(image, "JPEG")
        yield f"colour/{i}.png", encode(image, "PNG")
        yield f"grey/{i}.jpg", encode(image.convert("L"), "JPEG")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The folder of a dataset of 18 pictures, JPEGs and PNGs, up to 25 times as large as the sizes asked for."""
    root = tmp_path_factory.mktemp("pictures")
    source = write_tree(root / "source", dict(_pictures()))
    convert_without_beam(str(source), str(root / "dataset"), shards=2)
    return str(root / "dataset")


def read(pictures, training=True, **changed):
    options = {"global_batch_size": 6, "seed": 3, "training": training}
    return make_dataset_fn(pictures, "train", images=Images((24, 32), **changed), **options)


def images(dataset_fn):
    return np.concatenate([batch[0] for batch in global_batches(dataset_fn, 3)])


EVALUATIONS = [{"training": False, "eval_fit": fit} for fit in ("crop", "stretch", "pad")]


@pytest.mark.parametrize(
    ("changed", "method"),
    [
        ({"training": True}, "antialias"),
        pytest.param({"training": True}, "bilinear", marks=pytest.mark.slow),
        *(pytest.param(changed, "antialias", marks=pytest.mark.slow) for changed in EVALUATIONS[:-1]),
        pytest.param(EVALUATIONS[-1], "antialias", marks=pytest.mark.slow),
    ],
    ids=lambda given: given.get("eval_fit", "training") if isinstance(given, dict) else given,
)
def test_elements_are_those_of_exact_decoding_but_for_small_differences(pictures, changed, method):
    exact = images(read(pictures, resize_method=method, **changed))
    scaled = images(read(pictures, resize_method=method, scaled_decoding=True, **changed))
    assert 3 <= (exact != scaled).any(axis=(1, 2, 3)).sum() <= 12  # of 18, of which 6 are PNGs
    for one, other in zip(scaled, exact, strict=True):
        assert (one == other).all() or psnr(one, other) > 30
        if changed.get("eval_fit") == "pad":
            # Black is in the same rows and columns, to which boxes and masks go by the unscaled window.
            np.testing.assert_array_equal(one.max(axis=-1) > 8, other.max(axis=-1) > 8)


def operations(dataset_fn):
    """Types of all operations of a pipeline and of the functions inside of it, sorted: their order is any."""
    graph = tf.compat.v1.GraphDef.FromString(dataset_fn(None)._as_serialized_graph().numpy())
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return sorted(node.op for node in nodes)


def test_off_it_leaves_one_operation_that_decodes_jpegs_and_no_choice(pictures):
    found = operations(read(pictures))
    assert found.count("DecodeAndCropJpeg") == 1
    assert not {"Case", "StatelessCase"} & set(found)
    assert operations(read(pictures, scaled_decoding=False)) == found
    assert operations(read(pictures, scaled_decoding=True)).count("DecodeAndCropJpeg") == len(RATIOS)


def test_off_pixels_are_bit_for_bit_those_of_the_plain_operations():
    window, options = tf.constant(WINDOWS[1]), image_options(size=(80, 80))
    pixels = tf.io.decode_and_crop_jpeg(LARGE["4:2:0"], window, channels=3)
    expected = tf.image.resize(pixels, (80, 80))
    found = decoding.finish(decoding.decode_window(LARGE["4:2:0"], window, None, 3), None, options, window)
    np.testing.assert_array_equal(found, expected)
