"""Arguments of the reader: NumPy's numbers and paths are accepted; mistakes are refused before anything is read."""

import functools
import math
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError, ManifestError
from shardkit.reader import (
    BlockOrder,
    Cache,
    Images,
    Service,
    Skip,
    make_dataset,
    make_dataset_fn,
)
from shardkit.reader.arguments.reading import ReadArguments

from ..conftest import global_batches, texts

NO_NUMBERS = [None, "8", 8.5, 8.0, True, tf.constant(8)]
NO_FLAGS = ["no", 1, None]


def of_each(names, values):
    return [{name: value} for name in names for value in values]


REFUSED = [
    *of_each(["global_batch_size", "seed", "start_step"], NO_NUMBERS),
    *of_each(["global_batch_size"], [0, (1 << 22) + 1]),
    *of_each(["seed"], [-1, 2**63]),
    *of_each(["take"], ["5", 5.0, True]),
    *of_each(["features"], ["image", (), 5, ("image", 5)]),
    *of_each(["fold"], [1, (0,), "05", (0.0, 5.0), (0, 5, 5)]),
    *of_each(["image_size"], [16, "16", (16.0, 16.0), (0, 16), (16,), (1 << 40, 16)]),
    *of_each(["images"], [(16, 16), "16", {"size": (16, 16)}, Images]),
    *of_each(["sampling"], [None, 1, ["ant"], {"ant": "1"}, {"ant": None}, {"ant": math.nan}, {"ant": True}]),
    *of_each(["sample_weight"], [["ant"], 2, {"ant": "2"}]),
    *of_each(["order", "on_corrupt"], [["block"], 5, None, "nonsense"]),
    *of_each(["order"], [BlockOrder]),
    *of_each(["on_corrupt"], [Skip]),
    *of_each(["service"], [5, ["grpc://host:1"], "localhost:5000", Service]),
    *of_each(["training", "independent_workers"], NO_FLAGS),
    *of_each(["last_batch"], [None, "drop", True]),
    *of_each(["map_fn", "batch_map_fn"], [5, "map"]),
    *of_each(["cache"], ["", 5, b"cache", Cache]),
    *of_each(["split"], [None, 5, ["train"]]),
    *of_each(["dataset"], [None, 5, b"folder", "", [], {"OUT": 3}, Path("gs://bucket/folder")]),
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_an_argument_that_is_something_else_is_refused_by_its_name(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(iter(options))
    with pytest.raises(CallError, match=rf"^{name}(:| must be | gives )") as caught:
        # The folder does not exist: nothing is read before arguments are right.
        make_dataset_fn(**({"dataset": "nowhere", "split": "train", "global_batch_size": 8} | options))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [{"num_workers": "2"}, {"worker_index": 0.0}, {"seed": -1}, {"order": "blok"}])
def test_make_dataset_refuses_the_same(options):
    (name,) = options
    with pytest.raises(CallError, match=rf"^{name} must be "):
        make_dataset("nowhere", "train", global_batch_size=8, **options)


class Wrong:
    def __call__(self, features):
        return features


def no_arguments():
    return None


@pytest.mark.parametrize("name", ["map_fn", "batch_map_fn"])
@pytest.mark.parametrize("found", [no_arguments, lambda features: features, lambda features, seed, more: more, Wrong()])
def test_a_function_of_other_arguments_is_refused_when_the_input_is_made(name, found):
    with pytest.raises(CallError, match=rf"^{name} must be a function of \((features|element), seed\); found "):
        make_dataset_fn("nowhere", "train", global_batch_size=8, **{name: found})


@pytest.mark.parametrize("found", [lambda *both: both, lambda features, seed, more=1: more, functools.partial(max, 1)])
def test_a_function_that_can_be_called_with_both_will_do(found):
    with pytest.raises(ManifestError):  # of "nowhere": arguments were right
        make_dataset_fn("nowhere", "train", global_batch_size=8, map_fn=found)


def arguments(**given):
    return ReadArguments("OUT", "train", **{"global_batch_size": 8} | given)


def test_words_and_paths_are_short_for_values():
    short = arguments(image_size=[8, 9], order="block", on_corrupt="skip", cache=Path("cache"))
    assert short.images == Images((8, 9))
    assert (short.order, short.on_corrupt, short.cache) == (BlockOrder(), Skip(), Cache("cache"))
    assert arguments(service="grpc://host:1").service == Service("grpc://host:1")


def test_an_evaluation_without_padding_does_not_use_a_service():
    options = {"last_batch": "short", "service": "grpc://host:1"}
    with pytest.raises(CallError):
        arguments(training=False, **options)
    assert not arguments(**options).has_short_batch  # training has no last batch


def test_what_is_shown_of_a_long_value_is_short():
    with pytest.raises(CallError) as caught:
        make_dataset_fn("nowhere", "train", global_batch_size="8" * 10_000)
    assert len(str(caught.value)) < 200


def keys(dataset, **options):
    dataset_fn = make_dataset_fn(dataset, "train", **options)
    return [texts(batch["key"]) for batch in global_batches(dataset_fn, 3)], dataset_fn.batch_keys(np.int64(2))


@pytest.mark.parametrize(
    ("numpy_s", "plain"),
    [
        (
            {"seed": np.int64(3), "start_step": np.int32(2), "take": np.int64(50)},
            {"seed": 3, "start_step": 2, "take": 50},
        ),
        ({"fold": np.array([0, 5])}, {"fold": (0, 5)}),
        ({"sampling": {"ant": np.float32(1), "cat": np.int64(3)}}, {"sampling": {"ant": 1, "cat": 3}}),
    ],
    ids=["numbers", "fold", "sampling"],
)
def test_numbers_of_numpy_s_are_as_good_as_python_s(noise, numpy_s, plain):
    expected = make_dataset_fn(noise, "train", global_batch_size=16, **plain)
    steps = range(plain.get("start_step", 0), plain.get("start_step", 0) + 3)
    read, listed = keys(noise, global_batch_size=np.uint8(16), **numpy_s)
    assert read == [expected.batch_keys(step) for step in steps]
    assert listed == expected.batch_keys(2)


def test_paths_serve_for_dataset_and_cache(noise, tmp_path):
    cached = keys(Path(noise), global_batch_size=16, cache=tmp_path / "cache")
    assert cached == keys(noise, global_batch_size=16)
    assert list((tmp_path / "cache").rglob("*.tfrecord*"))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("elsewhere", [{"service": "grpc://localhost:5000"}, {"independent_workers": True}], ids=str)
def test_block_order_is_refused_where_others_read(elsewhere, training):
    with pytest.raises(CallError, match="others read each record by itself; leave order out"):
        make_dataset_fn("nowhere", "train", global_batch_size=8, order="block", training=training, **elsewhere)
