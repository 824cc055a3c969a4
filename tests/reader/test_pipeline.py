"""The graph around a fetch: pixels, elements, layouts; `tests/fetch/test_inputs.py` has what is fetched, in NumPy."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from shardkit.dataset.index.file import key_hashes
from shardkit.errors import CallError
from shardkit.fetch import places as draws
from shardkit.fetch.windows import UNIFORMS, random_windows
from shardkit.reader import Images, make_dataset_fn
from shardkit.reader.pipeline import check_element

from .conftest import COUNTS, assert_same, datasets_of_workers, global_batches, joined_batches, texts

NUM_EXAMPLES = sum(COUNTS.values())
BATCH = 16
# Workers, and replicas of each.
LAYOUTS = [(1, 16), (2, 2), (1, 2), (2, 1), (4, 2), (8, 1)]


def train(dataset, **changed):
    return make_dataset_fn(dataset, "train", **({"global_batch_size": BATCH} | changed))


@pytest.fixture(scope="module")
def on_one_worker(noise):
    """An input function, and its dataset for one worker; `start_step` is to be left as it was."""
    dataset_fn = train(noise, images=Images((6, 6), augment="imagenet"), seed=3)
    return dataset_fn, dataset_fn()


@pytest.fixture(scope="module")
def undisturbed(on_one_worker):
    """The first 140 steps on one worker: over two blocks, seven epochs."""
    return list(joined_batches([on_one_worker[1]], 140))


@pytest.fixture
def started(on_one_worker):
    """The same; `start_step` may be assigned."""
    yield on_one_worker
    on_one_worker[0].start_step.assign(0)


@pytest.mark.slow  # the golden workers are (2, 2); tests/fetch/test_inputs.py has any number, in NumPy
@pytest.mark.parametrize(("num_workers", "replicas"), LAYOUTS)
def test_any_number_of_workers_and_replicas_gives_the_same_batches_and_pixels(
    noise, undisturbed, num_workers, replicas
):
    dataset_fn = train(noise, images=Images((6, 6), augment="imagenet"), seed=3)
    found = list(global_batches(dataset_fn, 25, num_workers, replicas))  # 25 * 16 > 307: over the border of an epoch
    for one, other in zip(found, undisturbed, strict=False):
        assert_same(one, other)


def test_start_step_gives_what_skipping_gives(started, undisturbed):
    dataset_fn, dataset = started
    for start_step in (
        1,
        19,  # the batch that holds the last examples of one epoch and the first of the next
        64,  # where a block of the undisturbed run begins
        70,  # inside one
        135,
    ):
        dataset_fn.start_step.assign(start_step)
        for one, other in zip(joined_batches([dataset], 5), undisturbed[start_step : start_step + 5], strict=True):
            assert_same(one, other)


def test_start_step_assigned_is_where_the_next_iterator_starts(started, undisturbed):
    dataset_fn, dataset = started
    first = iter(dataset)
    next(first)
    dataset_fn.start_step.assign(77)
    assert_same(tf.nest.map_structure(np.asarray, next(iter(dataset))), undisturbed[77])
    assert_same(tf.nest.map_structure(np.asarray, next(first)), undisturbed[1])


def test_other_seeds_give_other_orders(noise):
    orders = [train(noise, seed=seed).batch_keys(0) for seed in range(5)]
    assert len({tuple(order) for order in orders}) == 5


EVALUATIONS = [
    (2, 2),
    *(pytest.param(*layout, marks=pytest.mark.slow) for layout in [(1, 1), (1, 2), (4, 1), (8, 2)]),
]


@pytest.mark.parametrize(("num_workers", "replicas"), EVALUATIONS)
def test_evaluation_gives_every_example_once_then_padding_of_weight_0_and_ends(noise, num_workers, replicas):
    dataset_fn = train(noise, training=False)
    steps = dataset_fn.steps_per_epoch
    assert steps == 20
    datasets = datasets_of_workers(dataset_fn, num_workers, replicas)
    parts = [list(dataset.as_numpy_iterator()) for dataset in datasets]
    assert {len(part) for part in parts} == {steps * replicas}
    assert {int(dataset.cardinality()) for dataset in datasets} == {steps}
    batches = list(joined_batches(parts, steps, replicas))
    assert {len(batch["weight"]) for batch in batches} == {BATCH}
    weights, keys = (np.concatenate([batch[name] for batch in batches]) for name in ("weight", "key"))
    assert weights.tolist() == [1.0] * NUM_EXAMPLES + [0.0] * (steps * BATCH - NUM_EXAMPLES)
    assert len(set(keys[:NUM_EXAMPLES])) == NUM_EXAMPLES
    assert texts(keys[:NUM_EXAMPLES]) == [key for step in range(steps) for key in dataset_fn.batch_keys(step)]


def test_training_is_endless(on_one_worker):
    assert int(on_one_worker[1].cardinality()) == tf.data.INFINITE_CARDINALITY


@functools.cache
def decoded(source, key):
    return tf.io.decode_image((source / key).read_bytes(), channels=3, expand_animations=False).numpy()


def test_training_pixels_are_those_of_the_window_resized_and_mirrored(mixed, mixed_source):
    """For all formats and sizes, by whole decoding, slicing and TensorFlow's own resizing."""
    seed, size = 5, (24, 32)
    dataset_fn = train(mixed, seed=seed, images=Images(size, augment="imagenet"))
    mirrored = 0
    for step, (images, _) in enumerate(global_batches(dataset_fn, 6)):  # two epochs of three steps
        keys, epochs = dataset_fn.batch_keys(step), np.full(BATCH, step // 3)
        drawn = draws.uniforms(key_hashes(keys), np.array(epochs), seed, UNIFORMS + 1)
        whole = [decoded(mixed_source, key) for key in keys]
        sides = np.array([image.shape[:2] for image in whole], np.int32).T
        windows = random_windows(drawn[:-1], *sides, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3))
        for image, key, pixels, window, coin in zip(images, keys, whole, windows, drawn[-1], strict=True):
            top, left, height, width = window
            expected = tf.image.resize(pixels[top : top + height, left : left + width], size).numpy()
            mirrored += coin < 0.5
            expected = expected[:, ::-1] if coin < 0.5 else expected
            # Where chroma is subsampled, the first and last column of a window differ: see test_decoding.
            assert np.abs(image - expected).max() <= (20 if "420" in key else 0.01), key
    assert 20 < mirrored < 76  # of 96


@pytest.mark.parametrize("fit", ["crop", "pad", pytest.param("stretch", marks=pytest.mark.slow)])
def test_evaluation_pixels_are_fitted_as_asked(mixed, mixed_source, fit):
    size = (12, 16)
    dataset_fn = train(mixed, training=False, images=Images(size, eval_fit=fit, eval_crop_fraction=0.5))
    for step, (images, _, _) in enumerate(global_batches(dataset_fn, 3)):
        for image, key in zip(images, dataset_fn.batch_keys(step), strict=True):
            pixels = decoded(mixed_source, key)
            height, width = pixels.shape[:2]
            if fit == "crop":
                unit = min(height / 12, width / 16) / 2
                tall, wide = (min(max(round(unit * side), 1), most) for side, most in ((12, height), (16, width)))
                top, left = (height - tall) // 2, (width - wide) // 2
                expected = tf.image.resize(pixels[top : top + tall, left : left + wide], size).numpy()
            elif fit == "stretch":
                expected = tf.image.resize(pixels, size).numpy()
            elif min(height / 12, width / 16) / max(height / 12, width / 16) < 1 / 12:
                continue  # TensorFlow's own fails for very long images; see test_decoding
            else:
                ratio = max(height / 12, width / 16)
                if not (height / ratio).is_integer() or not (width / ratio).is_integer():
                    continue  # TensorFlow rounds sides down, to the nearest pixel is closer
                expected = tf.image.resize_with_pad(pixels, *size).numpy()
            assert np.abs(image - expected).max() <= (20 if "420" in key and fit == "crop" else 0.01), key


@pytest.mark.parametrize("scaled", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_training_on_whole_images_sees_what_evaluation_sees(mixed, scaled):
    options = {"scaled_decoding": scaled, "dtype": tf.float16}
    training = train(mixed, images=Images((12, 16), crop_scale=(1, 1), flip=False, **options))
    evaluation = train(mixed, training=False, images=Images((12, 16), eval_fit="stretch", **options))
    seen = [
        {
            key: image
            for step, (images, *_) in enumerate(global_batches(dataset_fn, 48 // BATCH))
            for key, image in zip(dataset_fn.batch_keys(step), images, strict=True)
        }
        for dataset_fn in (training, evaluation)
    ]
    assert seen[0].keys() == seen[1].keys()
    for key, image in seen[0].items():
        assert image.dtype == np.float16
        np.testing.assert_array_equal(image, seen[1][key], key)


@pytest.mark.parametrize(
    "options",
    [
        {"eval_fit": "pad"},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"eval_crop_fraction": 0.6}, marks=pytest.mark.slow),
        pytest.param({"eval_fit": "stretch"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_without_augmentation_training_sees_what_evaluation_sees(mixed, options):
    images = Images((24, 32), **options)
    train_fn, evaluation_fn = train(mixed, images=images), train(mixed, images=images, training=False)
    seen = dict(zip(evaluation_fn.keys(), np.concatenate([one for one, *_ in evaluation_fn()]), strict=True))
    for step, (found, _) in enumerate(global_batches(train_fn, 3)):
        for image, key in zip(found, train_fn.batch_keys(step), strict=True):
            np.testing.assert_array_equal(image, seen[key])


@pytest.mark.parametrize(
    ("size", "map_fn", "plain", "evaluated"),
    [
        pytest.param(None, lambda features, _: dict(features), dict, {"weight"}, marks=pytest.mark.slow),
        ((4, 6), lambda features, _: dict(features), dict, {"weight"}),
        pytest.param((4, 6), lambda features, _: (features["image"], features["label"]), 2, 3, marks=pytest.mark.slow),
        ((4, 6), lambda features, _: features["image"], 1, 2),  # a tensor alone
    ],
    ids=["dict of encoded", "dict", "tuple", "tensor"],
)
def test_map_fn_makes_the_element_and_evaluation_adds_the_weight(noise, size, map_fn, plain, evaluated):
    training = train(noise, image_size=size, map_fn=map_fn).element_spec
    evaluation = train(noise, image_size=size, map_fn=map_fn, training=False).element_spec
    if plain is dict:
        assert set(training) == {"image", "label", "key", "height", "width"}
        assert set(evaluation) - set(training) == evaluated
        image, weight = evaluation["image"], evaluation["weight"]
    else:
        assert len(tf.nest.flatten(training)) == plain
        assert len(evaluation) == evaluated
        image, weight = evaluation[0], evaluation[-1]
    assert weight == tf.TensorSpec([BATCH], tf.float32)
    assert image == (tf.TensorSpec([BATCH], tf.string) if size is None else tf.TensorSpec([BATCH, 4, 6, 3], tf.float32))


def test_a_list_is_meant_as_a_tuple():
    assert check_element("map_fn", [1, 2]) == (1, 2)


def nothing(*_):
    """What a function without `return` gives."""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"map_fn": nothing}, r"^map_fn returned None; .* add the `return`"),
        ({"batch_map_fn": nothing, "image_size": (4, 6)}, r"^batch_map_fn returned None; .* add the `return`"),
        (
            {"map_fn": lambda features, _: {"weight": features["label"]}, "training": False},
            "^map_fn returned a dict with 'weight', .* give yours another name",
        ),
    ],
)
def test_what_map_fn_must_not_return_is_refused_when_the_dataset_is_made(noise, options, sentence):
    with pytest.raises(CallError, match=sentence):
        train(noise, **options)()


def test_map_fn_may_give_a_weight_of_its_own_where_the_reader_adds_none(noise):
    assert "weight" in train(noise, map_fn=lambda features, _: {"weight": features["label"]}).element_spec
