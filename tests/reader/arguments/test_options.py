import re

import pytest

from shardkit.errors import CallError
from shardkit.reader.arguments.options import ImageOptions, ReadOptions

IMAGE = {
    "size": (8, 8),
    "training": True,
    "scale": (0.08, 1.0),
    "ratio": (0.75, 1.33),
    "flip": True,
    "fit": "crop",
    "crop_fraction": 0.875,
    "dtype": "float32",
    "mean": None,
    "std": None,
    "grey": False,
    "method": "bilinear",
    "max_boxes": 100,
    "min_visible": 0.25,
    "mask_padding": 255,
}
READ = {
    "split": "train",
    "global_batch_size": 8,
    "training": True,
    "seed": 0,
    "image": None,
    "map_fn": None,
}
THREE = (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"size": (0, 8)}, "image_size must be (height, width) in pixels, whole numbers from 1 to 65536; found (0, 8)"),
        ({"size": (8, -1)}, "image_size"),
        ({"size": (8, 8, 3)}, "image_size"),  # with channels
        ({"scale": (0, 1)}, "crop_scale must be (least, greatest) with 0 < least <= greatest <= 1; found (0, 1)"),
        ({"scale": (0.5, 0.1)}, "crop_scale"),
        ({"scale": (0.5, 1.1)}, "crop_scale"),
        ({"ratio": (0, 1)}, "crop_ratio"),
        ({"ratio": (2, 1)}, "crop_ratio"),
        ({"fit": "cover"}, "fit must be 'crop', 'stretch' or 'pad'; found 'cover'"),
        ({"crop_fraction": 0}, "crop_fraction"),
        ({"crop_fraction": 1.01}, "crop_fraction"),
        ({"dtype": "float16"}, "dtype must be 'uint8', 'float32' or 'bfloat16'; found 'float16'"),
        ({"method": "lanczos"}, "method must be 'bilinear' or 'antialias'; found 'lanczos'"),
        ({"mean": THREE}, "mean and std must be given together"),
        ({"std": THREE}, "mean and std must be given together"),
        ({"mean": (1.0,), "std": (1.0,)}, "mean and std must be 3 numbers each"),
        ({"mean": THREE, "std": (1.0, 0.0, 1.0)}, "std above 0"),
        ({"mean": THREE, "std": THREE, "grey": True}, "mean and std must be 1 number each, for the one channel"),
        ({"mean": THREE, "std": THREE, "dtype": "uint8"}, "dtype must be 'float32' or 'bfloat16' with mean and std"),
    ],
)
def test_image_options_out_of_range_are_refused(changed, named):
    with pytest.raises(CallError, match=re.escape(named)):
        ImageOptions(**(IMAGE | changed))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"global_batch_size": 0}, "global_batch_size must be from 1 to 4194304; found 0"),
        ({"seed": -1}, "seed must be from 0 to 9223372036854775807; found -1"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_read_options_out_of_range_are_refused(changed, named):
    with pytest.raises(CallError, match=re.escape(named)):
        ReadOptions(**(READ | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"scale": (1e-9, 1)},
        {"scale": (1, 1)},
        {"ratio": (1, 1)},
        {"crop_fraction": 1},
        {"mean": THREE, "std": THREE, "dtype": "bfloat16"},
        {"mean": (1.0,), "std": (1.0,), "grey": True},
        {"size": (1, 1)},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(changed):
    assert ImageOptions(**(IMAGE | changed)).channels == (1 if "grey" in changed else 3)
    assert ReadOptions(**(READ | {"seed": 2**63 - 1})).seed == 2**63 - 1
