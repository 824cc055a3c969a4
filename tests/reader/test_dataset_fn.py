import gc
import io
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from shardkit import read_manifest
from shardkit.errors import CallError, DataError
from shardkit.reader import Images, make_dataset, make_dataset_fn
from shardkit.testing import convert_without_beam, write_class_folders

from ..cli.calling import CHECKOUT, environment
from ..fetch.conftest import fetched_batches
from .conftest import COUNTS, global_batches, texts

NUM_EXAMPLES = sum(COUNTS.values())
CLASSES = ["ant", "bee", "cat"]


def test_without_an_image_size_elements_are_the_stored_features(mixed, mixed_source):
    dataset_fn = make_dataset_fn(mixed, "train", global_batch_size=16)
    seen = set()
    for batch in global_batches(dataset_fn, 3):
        assert set(batch) == {"image", "label", "key", "height", "width"}
        for i, key in enumerate(texts(batch["key"])):
            raw = (mixed_source / key).read_bytes()
            assert batch["image"][i] == raw
            with Image.open(io.BytesIO(raw)) as image:
                assert (batch["width"][i], batch["height"][i]) == image.size
            assert ["colour", "grey"][batch["label"][i]] == key.partition("/")[0]
            seen.add(key)
    assert len(seen) == 48


def test_without_an_image_size_images_decode_to_what_pillow_shows(mixed, mixed_source):
    (batch,) = global_batches(make_dataset_fn(mixed, "train", global_batch_size=48, training=False), 1)
    compared = 0
    for raw, key in zip(batch["image"], texts(batch["key"]), strict=True):
        if key.endswith(".png"):
            with Image.open(mixed_source / key) as image:
                expected = np.asarray(image.convert("RGB"))
            np.testing.assert_array_equal(tf.io.decode_image(raw, channels=3), expected)
            compared += 1
    assert compared == 24


def test_labels_are_those_of_the_images(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=100, image_size=(4, 4))
    for step, batch in enumerate(fetched_batches(dataset_fn, 4)):
        classes = [key.partition("/")[0] for key in dataset_fn.batch_keys(step)]
        assert [CLASSES[label] for label in batch["label"]] == classes


@pytest.mark.parametrize(
    ("dtype", "grey", "channels"),
    [
        ("uint8", True, 1),
        *(pytest.param(dtype, False, 3, marks=pytest.mark.slow) for dtype in ("float32", "bfloat16")),
    ],
)
def test_the_spec_of_images_is_static_and_without_strings(noise, dtype, grey, channels):
    options = {"global_batch_size": 6, "images": Images((5, 7), dtype=dtype, grayscale=grey)}
    images, labels = make_dataset_fn(noise, "train", **options).element_spec
    assert images == tf.TensorSpec([6, 5, 7, channels], tf.as_dtype(dtype))
    assert labels == tf.TensorSpec([6], tf.int32)
    evaluation = make_dataset_fn(noise, "train", training=False, **options)
    specs = evaluation.element_spec
    assert specs == (images, labels, tf.TensorSpec([6], tf.float32))
    element = next(iter(evaluation()))
    assert all(spec.is_compatible_with(part) for spec, part in zip(specs, element, strict=True))


@pytest.mark.parametrize("training", [True, False])
def test_the_spec_of_features_is_static(noise, training):
    spec = make_dataset_fn(noise, "train", global_batch_size=6, training=training).element_spec
    strings, numbers = tf.TensorSpec([6], tf.string), tf.TensorSpec([6], tf.int32)
    expected = {"image": strings, "key": strings, "label": numbers, "height": numbers, "width": numbers}
    assert spec == expected | ({} if training else {"weight": tf.TensorSpec([6], tf.float32)})


def test_grey_mean_and_std_reach_the_pixels(noise):
    plain = make_dataset_fn(noise, "train", global_batch_size=8, images=Images((4, 4), grayscale=True))
    scaled = make_dataset_fn(
        noise, "train", global_batch_size=8, images=Images((4, 4), grayscale=True, mean=(100.0,), std=(50.0,))
    )
    ((images, _),), ((normalised, _),) = (list(global_batches(each, 1)) for each in (plain, scaled))
    np.testing.assert_allclose(normalised, (images - 100) / 50, atol=1e-5)


def test_it_says_how_many_examples_and_steps_there_are(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16)
    assert (dataset_fn.num_examples, dataset_fn.steps_per_epoch) == (NUM_EXAMPLES, 20)


def test_a_manifest_serves_as_well_as_a_folder(noise):
    by_manifest = make_dataset_fn(read_manifest(noise), "train", global_batch_size=16)
    assert by_manifest.batch_keys(3) == make_dataset_fn(noise, "train", global_batch_size=16).batch_keys(3)


def test_the_last_keys_of_an_evaluation_are_without_padding(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, training=False)
    assert len(dataset_fn.batch_keys(19)) == NUM_EXAMPLES - 19 * 16


def test_an_evaluation_that_begins_later_says_what_it_leaves_out(noise, caplog):
    options = {"global_batch_size": 16, "training": False}
    dataset_fn = make_dataset_fn(noise, "train", start_step=18, **options)
    assert "start_step=18" in caplog.text
    assert "first 18 of its 20 steps" in caplog.text
    assert [texts(batch["key"][batch["weight"] > 0]) for batch in fetched_batches(dataset_fn)] == [
        dataset_fn.batch_keys(18),
        dataset_fn.batch_keys(19),
    ]
    caplog.clear()
    make_dataset_fn(noise, "train", **options)
    make_dataset_fn(noise, "train", global_batch_size=16, start_step=18)
    assert not caplog.text


@pytest.mark.parametrize("start_step", [-1, 1 << 40])
def test_a_step_that_there_is_not_is_refused_whenever_it_is_assigned(noise, start_step):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16)
    dataset = dataset_fn()
    dataset_fn.start_step.assign(start_step)
    with pytest.raises(CallError, match=f"start_step must be from 0 to .*; found {start_step}"):
        dataset_fn()
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"start_step .* found {start_step}"):
        next(iter(dataset))


def test_words_for_validation_find_the_split(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 8, "train/b": 8, "val/a": 4, "val/b": 4})
    convert_without_beam(str(source), str(tmp_path / "out"))
    wanted = make_dataset_fn(str(tmp_path / "out"), "validation", global_batch_size=4)
    found = make_dataset_fn(str(tmp_path / "out"), "val", global_batch_size=4)
    assert found.batch_keys(0) == wanted.batch_keys(0)
    assert repr(found) == repr(wanted)


def test_training_on_as_many_examples_as_a_batch_is_allowed(noise):
    (batch,) = fetched_batches(make_dataset_fn(noise, "train", global_batch_size=NUM_EXAMPLES), 1)
    assert len(set(batch["key"])) == NUM_EXAMPLES


def test_a_split_without_examples_is_refused(noise):
    manifest = read_manifest(noise)
    split = manifest.split("train")
    empty = split.model_copy(update={"shards": [s.model_copy(update={"num_examples": 0}) for s in split.shards]})
    hollow = manifest.model_copy(update={"splits": {"train": empty}})
    with pytest.raises(DataError, match="split 'train' has no examples"):
        make_dataset_fn(hollow, "train", global_batch_size=1)


OUTLIVING = """
import gc, sys, time, weakref
from shardkit.reader import BlockOrder, make_dataset_fn

for options in ({}, {"on_corrupt": "skip"}, {"order": BlockOrder(lanes=4, block_records=16)}):
    dataset_fn = make_dataset_fn(sys.argv[1], "train", global_batch_size=16, image_size=(8, 8), **options)
    iterator = iter(dataset_fn())
    columns = [weakref.ref(dataset_fn._table.offset), weakref.ref(dataset_fn._table.key_hash)]
    del dataset_fn
    gc.collect()
    next(iterator)
    assert all(column() is not None for column in columns), "read from copies"
    del iterator
    deadline = time.monotonic() + 20  # TensorFlow's threads end some time after their iterator
    while any(column() is not None for column in columns) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert all(column() is None for column in columns), options
"""


@pytest.mark.slow
def test_nothing_of_an_input_function_outlives_it_and_its_iterators(noise):
    """Where functions are made by the dozen, fold by fold, one table for each of them would fill the memory."""
    command = [sys.executable, "-c", OUTLIVING, noise]  # a process without what other tests keep alive
    subprocess.run(command, check=True, cwd=CHECKOUT, env=environment())


def test_a_damaged_record_is_named_when_only_the_iterator_is_left(copied):
    dataset_fn = make_dataset_fn(str(copied), "train", global_batch_size=16, training=False)
    _, shard, _ = dataset_fn._table.location(0)
    iterator = iter(dataset_fn())
    with open(copied / shard.path, "r+b") as file:
        file.seek(int(dataset_fn._table.offset[40]))
        file.write(b"damage")
    del dataset_fn
    gc.collect()
    with pytest.raises(tf.errors.OpError, match=f"{shard.path}: record 40, key "):
        list(iterator)


def test_make_dataset_gives_a_workers_part(noise):
    whole = make_dataset_fn(noise, "train", global_batch_size=12, seed=4)
    parts = [
        make_dataset(noise, "train", global_batch_size=12, num_workers=2, worker_index=w, seed=4) for w in range(2)
    ]
    gc.collect()  # nothing but the datasets themselves keeps alive what they read
    for step, elements in enumerate(zip(*(part.take(3) for part in parts), strict=True)):
        keys = [key for element in elements for key in texts(element["key"].numpy())]
        assert keys == whole.batch_keys(step)
        assert {len(element["key"]) for element in elements} == {6}


def test_it_knows_its_classes_and_how_many_examples_each_has(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16)
    assert dataset_fn.class_names == CLASSES
    assert dataset_fn.num_classes == 3
    assert dataset_fn.class_counts == COUNTS
    taken = make_dataset_fn(noise, "train", global_batch_size=16, where="label_name = 'bee'")
    assert taken.class_counts == {"ant": 0, "bee": 97, "cat": 0}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "train: 307 examples, 20 steps of 16, 3 classes, full order"),
        ({"order": "block", "global_batch_size": 8}, "train: 307 examples, 39 steps of 8, 3 classes, block order"),
        (
            {"training": False, "global_batch_size": 400},
            "train: 307 examples, 1 step of 400, 3 classes, one pass, 93 rows of padding",
        ),
        (
            {"training": False, "last_batch": "short"},
            "train: 307 examples, 20 steps of 16, 3 classes, one pass, a shorter last batch",
        ),
        ({"training": False, "take": 32}, "train: 32 examples, 2 steps of 16, 3 classes, one pass"),
        ({"sampling": "class_balanced"}, "train: 307 examples, 20 steps of 16, 3 classes, class-balanced sampling"),
        ({"sampling": {"ant": 1}}, "train: 149 examples, 10 steps of 16, 3 classes, sampling by class weights"),
    ],
)
def test_its_repr_says_what_it_reads(options, expected, noise):
    assert repr(make_dataset_fn(noise, "train", **({"global_batch_size": 16} | options))) == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda model, given: model.fit(given, steps_per_epoch=1, verbose=0),
        lambda model, given: model.fit(given(), steps_per_epoch=1, validation_data=given, verbose=0),
        lambda model, given: model.evaluate(given, verbose=0),
        lambda model, given: model.predict(given, verbose=0),
        lambda model, given: iter(given),
        lambda model, given: list(given),
        lambda model, given: np.asarray(given),
    ],
    ids=["fit", "validation", "evaluate", "predict", "iter", "list", "array"],
)
def test_where_data_is_wanted_the_function_itself_is_refused(use, noise):
    import keras

    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    given = make_dataset_fn(noise, "train", global_batch_size=16, image_size=(8, 8))
    with pytest.raises(TypeError, match=r"distribute_datasets_from_function.*call it"):
        use(model, given)


@pytest.mark.parametrize("name", ["take", "map", "batch", "prefetch", "cardinality", "as_numpy_iterator"])
def test_methods_of_datasets_are_answered_with_the_call_that_is_missing(name, noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16)
    with pytest.raises(AttributeError, match=rf"not its data: call it first, as in train_fn\(\)\.{name}\("):
        getattr(dataset_fn, name)
    with pytest.raises(AttributeError, match=r"'DatasetFn' object has no attribute 'num_clases'$"):
        dataset_fn.num_clases  # noqa: B018 - it raises
    assert not hasattr(dataset_fn, f"_{name}")


def test_what_sampling_never_draws_is_not_counted(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=16, sampling={"ant": 1, "bee": 0, "cat": 3})
    assert (dataset_fn.num_examples, dataset_fn.steps_per_epoch) == (COUNTS["ant"] + COUNTS["cat"], 14)
    balanced = make_dataset_fn(noise, "train", global_batch_size=16, sampling="class_balanced")
    assert balanced.num_examples == NUM_EXAMPLES
