"""`Images`: what is out of range is refused with the argument's name, what was found and the rule."""

import dataclasses
import math
import re

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import Images

THREE = (1.0, 2.0, 3.0)


REFUSED = {
    "size": [(0, 8), (8, -1), (8, 8, 3), 16, "16", (16.0, 16.0), (16,), (1 << 40, 16), None],
    "crop_scale": [(0, 1), 0.5, (0.1,), (0.5, 0.1), (0.5, 1.1), (math.nan, 1)],
    "crop_ratio": [1.0, (0, 1), (2, 1), (1, math.inf), (1, 10**400), None],
    "eval_fit": ["cover"],
    "eval_crop_fraction": [0, 1.01, "1", True, math.nan],
    "min_visible": [-0.1, 1.1, None, "1", True],
    "max_boxes": [0, None, "8", 8.0, True],
    "mask_padding": [1 << 31, None, "8", 8.0, True],
    **{name: ["no", 1, None] for name in ("grayscale", "scaled_decoding")},
    "flip": ["no", 1],
    "augment": ["ImageNet", True, (0.08, 1)],
    "dtype": ["half", np.float64, tf.int32, int, "image", 5, None],
    "resize_method": ["lanczos"],
    "mean": [True, math.inf, "abc", (1, 2, math.nan), ()],
    "std": [(1.0, 0.0, 1.0), (1.0,), None],
}


@pytest.mark.parametrize(("name", "found"), [(name, found) for name, values in REFUSED.items() for found in values])
def test_values_out_of_range_are_refused_by_the_name_of_the_argument(name, found):
    both = {"mean": THREE, "std": THREE} if name in {"mean", "std"} else {}
    with pytest.raises(CallError, match=name) as caught:
        Images(**({"size": (8, 8)} | both | {name: found}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("more", [{"std": None}, {"grayscale": True}, {"dtype": "uint8"}], ids=str)
def test_a_mean_and_a_std_that_do_not_fit_the_images_are_refused(more):
    with pytest.raises(CallError):
        Images(**({"size": (8, 8), "mean": THREE, "std": THREE} | more))


@pytest.mark.parametrize(
    "changed",
    [
        {"crop_scale": (1e-9, 1)},
        {"crop_scale": (1, 1)},
        {"crop_ratio": (1, 1)},
        {"eval_crop_fraction": 1},
        {"mean": THREE, "std": THREE, "dtype": "bfloat16"},
        {"mean": (1.0,), "std": (1.0,), "grayscale": True},
        {"size": (1, 1)},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(changed):
    assert Images(**({"size": (8, 8)} | changed)).channels == (1 if "grayscale" in changed else 3)


def test_a_number_is_the_mean_or_std_of_all_channels():
    assert Images((8, 8), mean=127.5, std=np.float32(127.5)) == Images((8, 8), mean=(127.5,) * 3, std=(127.5,) * 3)
    assert Images((8, 8), mean=0, std=255, grayscale=True) == Images((8, 8), mean=[0], std=[255], grayscale=True)
    assert Images((8, 8), mean=(123.675, 116.28, 103.53), std=1).std == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("mean", "std", "right"),
    [
        # ImageNet's, as torchvision's pages state them.
        ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], "mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)"),
        (0.5, 0.5, "mean=127.5, std=127.5"),
        (
            [123.675, 116.28, 103.53],
            [0.229, 0.224, 0.225],
            "mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)",
        ),
        (0, 0.5, "mean=0, std=127.5"),
    ],
)
def test_statistics_of_values_from_0_to_1_are_refused_with_those_to_write(mean, std, right):
    with pytest.raises(CallError, match=re.escape(f"values from 0 to 255: write {right}; found mean=")):
        Images((8, 8), mean=mean, std=std)
    written = eval(f"dict({right})")  # noqa: S307 - what the message says can be pasted
    assert Images((8, 8), **written).std


def test_arrays_and_lists_become_the_same_value_as_tuples():
    given = {"crop_scale": [0.5, np.float32(1)], "mean": np.array(THREE), "std": [1, 2, 3], "flip": np.bool_(False)}
    plain = {"crop_scale": (0.5, 1.0), "mean": THREE, "std": THREE, "flip": False}
    images = Images(np.array([6, 7]), **given)
    assert images == Images((6, 7), **plain)
    assert hash(images) == hash(Images((6, 7), **plain))


def test_the_value_is_frozen_and_takes_the_size_alone_by_position():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Images((8, 8)).flip = False
    with pytest.raises(TypeError):
        Images((8, 8), "uint8")


@pytest.mark.parametrize("has_boxes", [False, True])
def test_what_is_chosen_stays_and_evaluation_has_neither_random_crops_nor_flips(has_boxes):
    images = Images((6, 7), dtype="uint8", eval_fit="pad", crop_scale=(0.5, 1), flip=True, eval_crop_fraction=0.5)
    assert images.resolved(training=True, has_boxes=has_boxes) == images
    unaugmented = dataclasses.replace(images, crop_scale=None, flip=False)
    assert images.resolved(training=False, has_boxes=has_boxes) == unaugmented


@pytest.mark.parametrize(
    ("augment", "has_boxes", "defaults"),
    [
        (None, False, (None, False, "crop", 1)),
        (None, True, (None, False, "stretch", 1)),
        ("imagenet", False, ((0.08, 1), True, "crop", 0.875)),
        ("imagenet", True, ((1, 1), True, "stretch", 0.875)),
    ],
)
def test_what_is_not_chosen_depends_on_the_recipe_and_on_whether_there_are_boxes(augment, has_boxes, defaults):
    options = Images((6, 7), augment=augment).resolved(training=True, has_boxes=has_boxes)
    assert (options.crop_scale, options.flip, options.eval_fit, options.eval_crop_fraction) == defaults
    assert Images((6, 7), augment=augment).resolved(training=False, has_boxes=has_boxes).crop_scale is None


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "uint8"])
def test_a_dtype_is_a_name_or_one_of_tensorflow_or_numpy(name):
    of_tensorflow = tf.as_dtype(name)
    for found in (name, of_tensorflow, of_tensorflow.as_numpy_dtype, np.dtype(of_tensorflow.as_numpy_dtype)):
        assert Images((8, 8), dtype=found) == Images((8, 8), dtype=name)
