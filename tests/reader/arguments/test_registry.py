"""What trainers give for arguments: NumPy's numbers and paths serve, mistakes get one sentence before anything runs."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import ResumeCallback, make_dataset, make_dataset_fn, mix, monitor

from ..conftest import global_batches, texts

BLOCK = {"order": "block"}
NO_NUMBERS = [None, "8", 8.5, 8.0, True, tf.constant(8)]
NO_FLAGS = ["no", 1, None]


def of_each(names, values):
    return [{name: value} for name in names for value in values]


REFUSED = [
    *of_each(["global_batch_size", "seed", "start_step", "max_boxes", "mask_padding"], NO_NUMBERS),
    *of_each(["block_records", "window_blocks", "lanes"], [*NO_NUMBERS, 0]),
    *of_each(["max_corrupt", "cache_bytes"], [*NO_NUMBERS, -5]),
    *({"lanes": value} | BLOCK for value in (None, "8", 2.5)),
    *of_each(["take"], ["5", 5.0, True]),
    *of_each(["fold"], [1, (0,), "05", (0.0, 5.0), (0, 5, 5)]),
    *of_each(["image_size"], [16, "16", (16.0, 16.0), (0, 16), (16,), (1 << 40, 16)]),
    *of_each(["crop_scale"], [0.5, (0.1,), (0.1, 0.5, 0.9), (math.nan, 1), ("0.1", 1), None]),
    *of_each(["crop_ratio"], [1.0, (1, math.inf), (1, 10**400), None]),
    *of_each(["crop_fraction", "min_visible"], [None, "1", True, math.nan]),
    *of_each(["sampling"], [None, 1, ["ant"], {"ant": "1"}, {"ant": None}, {"ant": math.nan}, {"ant": True}]),
    *of_each(["sample_weight"], [["ant"], 2, {"ant": "2"}]),
    *of_each(["order", "fit", "on_corrupt", "dtype", "method"], [["crop"], 5, None, "nonsense"]),
    *of_each(["service", "service_job"], [5, ["grpc://host:1"]]),
    *of_each(["training", "flip", "grey", "scaled_decoding", "independent_workers"], NO_FLAGS),
    *of_each(["map_fn", "batch_map_fn"], [5, "map"]),
    *({"mean": value, "std": (1, 1, 1)} for value in (5, "abc", (1, 2, math.nan), ())),
    *({"std": value, "mean": (1, 1, 1)} for value in (5, (1, 2, math.nan), (1, 2, math.inf))),
    *of_each(["cache_dir"], ["", 5, b"cache"]),
    *of_each(["split"], [None, 5, ["train"]]),
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
@pytest.mark.parametrize("make", [make_dataset_fn, make_dataset])
def test_an_argument_that_is_something_else_is_refused_by_its_name(make, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(iter(options))
    with pytest.raises(CallError, match=rf"^{name}(:| must be | gives )") as caught:
        # The folder is not there: nothing is read before arguments are right.
        make("nowhere", **({"split": "train", "global_batch_size": 8} | options))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("found", [None, 5, b"folder", "", ["folder"], Path("gs://bucket/folder")])
def test_what_is_no_dataset_is_refused(found):
    with pytest.raises(CallError, match="dataset must be "):
        make_dataset_fn(found, "train", global_batch_size=8)


def test_a_tensor_is_not_shown_but_named():
    said = "start_step must be a whole number, such as int() makes of a tensor; found a tensor"
    with pytest.raises(CallError, match=re.escape(said)):
        make_dataset_fn("nowhere", "train", global_batch_size=8, start_step=tf.constant(2))


def test_what_is_shown_of_a_long_value_is_short():
    with pytest.raises(CallError) as caught:
        make_dataset_fn("nowhere", "train", global_batch_size="8" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("options", [{"image_sizes": 5}, {}])
def test_an_argument_that_there_is_not_and_one_left_out_are_python_s_own_errors(options):
    with pytest.raises(TypeError, match=r"make_dataset_fn\(\)"):
        make_dataset_fn("nowhere", "train", **options)


def keys(dataset, **options):
    dataset_fn = make_dataset_fn(dataset, "train", **options)
    return [texts(batch["key"]) for batch in global_batches(dataset_fn, 3)], dataset_fn.batch_keys(np.int64(2))


@pytest.mark.parametrize(
    ("numpy_s", "plain"),
    [
        (
            {"seed": np.int64(3), "start_step": np.int32(2), "take": np.int64(50), "max_corrupt": np.int8(1)},
            {"seed": 3, "start_step": 2, "take": 50, "max_corrupt": 1},
        ),
        (
            BLOCK | {"lanes": np.int64(4), "block_records": np.uint8(8), "window_blocks": np.int16(2)},
            BLOCK | {"lanes": 4, "block_records": 8, "window_blocks": 2},
        ),
        ({"fold": np.array([0, 5])}, {"fold": (0, 5)}),
        ({"sampling": {"ant": np.float32(1), "cat": np.int64(3)}}, {"sampling": {"ant": 1, "cat": 3}}),
    ],
    ids=["numbers", "blocks", "fold", "sampling"],
)
def test_numbers_of_numpy_s_are_as_good_as_python_s(noise, numpy_s, plain):
    assert keys(noise, global_batch_size=np.uint8(16), **numpy_s) == keys(noise, global_batch_size=16, **plain)


def test_arrays_and_lists_are_as_good_as_tuples(noise):
    found, wanted = (
        next(iter(make_dataset_fn(noise, "train", global_batch_size=4, **options)()))[0].numpy()
        for options in (
            {
                "image_size": np.array([6, 7]),
                "crop_scale": [0.5, np.float32(1)],
                "mean": np.array([1.0, 2.0, 3.0]),
                "std": [1, 2, 3],
                "flip": np.bool_(False),
            },
            {"image_size": (6, 7), "crop_scale": (0.5, 1), "mean": (1, 2, 3), "std": (1, 2, 3), "flip": False},
        )
    )
    np.testing.assert_array_equal(found, wanted)


def test_paths_serve_for_dataset_and_cache(noise, tmp_path):
    cached = keys(Path(noise), global_batch_size=16, cache_dir=tmp_path / "cache")
    assert cached == keys(noise, global_batch_size=16)
    assert list((tmp_path / "cache").rglob("*.tfrecord*"))


@pytest.mark.parametrize("found", [5, None, "OUT", {"OUT": 3}, ("OUT", 3), [5], [("OUT",)], []])
def test_what_is_no_list_of_datasets_is_refused(found):
    with pytest.raises(CallError, match=r"datasets must be a list|mix takes pairs|mix needs at least one"):
        mix(found, "train", global_batch_size=8)


@pytest.mark.parametrize("found", [5, None, "train_fn", make_dataset_fn])
def test_what_is_no_input_function_or_dataset_is_refused(found):
    with pytest.raises(CallError, match=r"^dataset_fn must be an input function, as make_dataset_fn returns; found"):
        ResumeCallback(found)
    if not isinstance(found, str):
        with pytest.raises(CallError, match=r"^dataset must be something to iterate over; found"):
            monitor(found)


@pytest.mark.parametrize("found", [5, "context"])
def test_what_is_no_context_is_refused(noise, found):
    with pytest.raises(CallError, match=r"^context must be a tf.distribute.InputContext; found"):
        make_dataset_fn(noise, "train", global_batch_size=8)(found)


@pytest.mark.parametrize("step", ["0", 1.5, None, True])
def test_keys_of_what_is_no_step_are_refused(noise, step):
    with pytest.raises(CallError, match=f"step must be a whole number; found {step!r}"):
        make_dataset_fn(noise, "train", global_batch_size=16).batch_keys(step)
