import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.fetch import windows as crops
from shardkit.reader.operations.arrays import GraphArray

SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
NEXT_BELOW_1 = np.float32(1 - 2**-24)  # the greatest uniform there is


def draws(num_windows, seed=0):
    bits = np.random.default_rng(seed).integers(0, 1 << 24, (crops.UNIFORMS, num_windows))
    return (bits * 2.0**-24).astype(np.float32)


def random_windows(uniforms, height, width, scale=SCALE, ratio=RATIO):
    num_windows = uniforms.shape[1]
    sides = [np.broadcast_to(np.int32(side), [num_windows]).copy() for side in (height, width)]
    found = crops.random_windows(uniforms, *sides, scale=scale, ratio=ratio)
    given = [GraphArray(tf.constant(one)) for one in (uniforms, *sides)]
    in_graph = crops.random_windows(*given, scale=scale, ratio=ratio)
    np.testing.assert_array_equal(found, in_graph.tensor)  # what other processes compute
    return found


def torchvision_window(draw, height, width, scale, ratio):
    """RandomResizedCrop.get_params of torchvision 0.20, line by line, in float64; draw() is in [0, 1)."""
    area = height * width
    for _ in range(10):
        target_area = area * (scale[0] + (scale[1] - scale[0]) * draw())
        log_ratio = [math.log(value) for value in ratio]
        aspect_ratio = math.exp(log_ratio[0] + (log_ratio[1] - log_ratio[0]) * draw())
        w = round(math.sqrt(target_area * aspect_ratio))
        h = round(math.sqrt(target_area / aspect_ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(draw() * (height - h + 1)), int(draw() * (width - w + 1)), h, w
    in_ratio = width / height
    if in_ratio < min(ratio):
        w = width
        h = round(w / min(ratio))
    elif in_ratio > max(ratio):
        h = height
        w = round(h * max(ratio))
    else:
        w, h = width, height
    return (height - h) // 2, (width - w) // 2, h, w


def torchvision_windows(num_windows, *given):
    draw = np.random.default_rng(1).random
    return np.array([torchvision_window(draw, *given) for _ in range(num_windows)])


def distance(first, second):
    """Kolmogorov and Smirnov's: the greatest difference of the two samples' distribution functions."""
    both = np.sort(np.concatenate([first, second]))
    ranks = [np.searchsorted(np.sort(sample), both, side="right") / len(sample) for sample in (first, second)]
    return np.abs(ranks[0] - ranks[1]).max()


@pytest.mark.parametrize(
    ("height", "width", "scale", "ratio"),
    [
        (400, 400, SCALE, RATIO),
        (3000, 4000, SCALE, RATIO),
        (1000, 310, SCALE, RATIO),  # most large areas fit only tall windows
        (500, 100, (0.5, 1.0), RATIO),  # one attempt in many fits: often none of the ten
        (333, 500, (0.25, 0.5), (1.0, 1.0)),
        (333, 500, (0.3, 0.3), (0.5, 2.0)),
        (400, 400, SCALE, (1.5, 3.0)),  # none but wide ones: width / height, not the other way round
    ],
)
def test_windows_are_distributed_by_torchvisions_law(height, width, scale, ratio):
    num_windows = 10_000
    ours = random_windows(draws(num_windows), height, width, scale, ratio)
    theirs = torchvision_windows(num_windows, height, width, scale, ratio)
    # Massart's bound: of 10**9 pairs of equally distributed samples one lies further apart.
    bound = math.sqrt(math.log(2 * 10**9) / num_windows)
    for what, sample in {
        "area": lambda windows: windows[:, 2] * windows[:, 3],
        "aspect": lambda windows: windows[:, 3] / windows[:, 2],
        "top": lambda windows: windows[:, 0] / height,
        "left": lambda windows: windows[:, 1] / width,
    }.items():
        assert distance(sample(ours), sample(theirs)) < bound, what


def test_the_area_is_uniform_and_the_position_too():
    """What the law says in numbers, where every first attempt fits: no sampler to compare with."""
    num_windows, side = 20_000, 4000
    windows = random_windows(draws(num_windows), side, side, scale=(0.1, 0.5), ratio=(1.0, 1.0))
    share = windows[:, 2] * windows[:, 3] / side**2
    sigma = 6 / math.sqrt(num_windows)
    assert abs(share.mean() - 0.3) < sigma * 0.4 / math.sqrt(12)
    place = windows[:, :2] / (side - windows[:, 2:] + 1)
    assert np.abs(place.mean(axis=0) - 0.5).max() < sigma / math.sqrt(12) + 1 / side
    assert np.abs(place.var(axis=0) - 1 / 12).max() < sigma * math.sqrt(1 / 180) + 1 / side
    assert abs(np.corrcoef(place.T)[0, 1]) < sigma


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (1, 1, (0, 0, 1, 1)),
        (1, 1000, (0, 499, 1, 1)),  # 4 / 3 of its height, in the middle
        (1000, 1, (499, 0, 1, 1)),
        (10, 3000, (0, 1493, 10, 13)),
        (3000, 10, (1493, 0, 13, 10)),
    ],
)
def test_where_no_attempt_fits_the_centre_is_taken(height, width, expected):
    windows = random_windows(draws(200), height, width, scale=(0.9, 1.0))
    assert {tuple(window) for window in windows.tolist()} == {expected}


@pytest.mark.parametrize("attempt", range(10))
def test_the_first_attempt_that_fits_counts(attempt):
    """Twice the width cannot fit into a square of which all the area is asked for; a square of it can."""
    wide, square, small = np.float32(NEXT_BELOW_1), np.float32(0.5), np.float32(0)
    uniforms = np.full((crops.UNIFORMS, 1), square)
    uniforms[: 2 * crops.ATTEMPTS : 2] = small  # every other attempt: half of the area, which fits
    uniforms[: 2 * attempt : 2], uniforms[1 : 2 * attempt + 1 : 2] = NEXT_BELOW_1, wide
    uniforms[2 * attempt], uniforms[2 * attempt + 1] = NEXT_BELOW_1, square
    window = random_windows(uniforms, 100, 100, scale=(0.5, 1.0), ratio=(0.5, 2.0))
    assert window.tolist() == [[0, 0, 100, 100]]


@pytest.mark.parametrize("ratio", [RATIO, (1.0, 1.0), (0.1, 0.2)])
def test_the_whole_area_is_the_whole_image_whatever_its_ratio(ratio):
    sides = np.array([(500, 375), (1, 1000), (1000, 1), (7, 7)], np.int32)
    windows = random_windows(draws(len(sides)), *sides.T, (1.0, 1.0), ratio)
    assert windows.tolist() == [[0, 0, height, width] for height, width in sides.tolist()]


@settings(max_examples=60)
@given(
    sides=st.lists(st.tuples(*[st.integers(1, 4) | st.integers(1, 5000)] * 2), min_size=1, max_size=30),
    scale=st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)).map(sorted),
    ratio=st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)).map(sorted),
    seed=st.integers(0, 9),
    extreme=st.sampled_from([None, 0.0, NEXT_BELOW_1]),
)
def test_windows_lie_inside_the_image(sides, scale, ratio, seed, extreme):
    height, width = np.array(sides, np.int32).T
    uniforms = draws(len(sides), seed)
    if extreme is not None:
        uniforms[:] = extreme
    top, left, tall, wide = random_windows(uniforms, height, width, scale, ratio).T
    assert (tall >= 1).all()
    assert (wide >= 1).all()
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + tall <= height).all()
    assert (left + wide <= width).all()


@settings(max_examples=60)
@given(
    sides=st.lists(st.tuples(*[st.integers(1, 4) | st.integers(1, 5000)] * 2), min_size=1, max_size=30),
    size=st.tuples(st.integers(1, 600), st.integers(1, 600)),
    fraction=st.floats(0.01, 1),
)
def test_centre_windows_have_the_targets_aspect_and_lie_in_the_middle(sides, size, fraction):
    height, width = np.array(sides, np.int32).T
    windows = crops.centre_windows(height, width, size=size, fraction=fraction)
    given = GraphArray(tf.constant(height)), GraphArray(tf.constant(width))
    in_graph = crops.centre_windows(*given, size=size, fraction=fraction)
    np.testing.assert_array_equal(windows, in_graph.tensor)
    for (top, left, tall, wide), h, w in zip(windows, height, width, strict=True):
        unit = min(h / size[0], w / size[1]) * fraction
        assert 1 <= tall <= h
        assert 1 <= wide <= w
        assert abs(tall - max(1, unit * size[0])) <= 0.5 + 1e-3
        assert abs(wide - max(1, unit * size[1])) <= 0.5 + 1e-3
        # The same margin on both sides; a pixel that cannot be halved goes to the right and to the bottom.
        assert h - tall - 2 * top in {0, 1}
        assert w - wide - 2 * left in {0, 1}


def test_whole_windows_are_the_image():
    windows = crops.whole_windows(np.array([3, 1], np.int32), np.array([7, 2], np.int32))
    assert windows.tolist() == [[0, 0, 3, 7], [0, 0, 1, 2]]
