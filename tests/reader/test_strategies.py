"""What every replica really gets: each number of devices runs once, in a process of its own."""

import functools
import hashlib
import itertools

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader

from .training_fixtures import facts_of_all, shapes  # noqa: F401 - a fixture

# 192 and 48 examples are no multiple of it: 5 1/3 steps an epoch, and 24 places of padding. 1, 2, 3, 4 divide it.
GLOBAL_BATCH_SIZE = 36
NUM_STEPS = 12  # two epochs and a quarter
WAYS = [(2, way) for way in ("from_function", "whole_batches")]
SLOW_WAYS = [(number, way) for number in (1, 4) for way in ("from_function", "whole_batches")]
# In one process, in this order.
LATER = ("per_replica", "after_per_replica")
SLOW_WAYS += [(2, way) for way in LATER]


@pytest.fixture(scope="module")
def all_facts(shapes, found_once):  # noqa: F811 - a fixture
    """Return the facts of a number of devices, by way; or the later ones."""

    def run_program(folder, count, ways):
        program = (shapes, folder / "result", count, GLOBAL_BATCH_SIZE, NUM_STEPS, *ways)
        return facts_of_all("strategy_batches.py", [program])[0]

    def facts_of(count, way="from_function"):
        ways = LATER if way in LATER else ("from_function", "whole_batches")
        return found_once(f"strategy-{ways[0]}-{count}", functools.partial(run_program, count=count, ways=ways))

    return facts_of


@pytest.fixture(
    params=[*WAYS, *(pytest.param(way, marks=pytest.mark.slow) for way in SLOW_WAYS)],
    ids=lambda way: f"{way[0]}-{way[1]}",
)
def facts(request, all_facts):
    """Facts of one way to distribute the data, `num_devices` among them."""
    num_devices, way = request.param
    return all_facts(num_devices, way)[way] | {"num_devices": num_devices}


@pytest.fixture(scope="module")
def train_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "train", global_batch_size=GLOBAL_BATCH_SIZE)


@pytest.fixture(scope="module")
def evaluation_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "validation", global_batch_size=GLOBAL_BATCH_SIZE, training=False)


@pytest.fixture(scope="module")
def alone(shapes):  # noqa: F811 - a fixture
    """What a single reader without a strategy gets: (images, labels) of training, (images, labels, weights)."""
    options = {"global_batch_size": GLOBAL_BATCH_SIZE, "images": reader.Images((24, 24), augment="imagenet")}
    training = reader.make_dataset(str(shapes), "train", **options).take(NUM_STEPS)
    evaluation = reader.make_dataset(str(shapes), "validation", training=False, **options)
    return list(training.as_numpy_iterator()), list(evaluation.as_numpy_iterator())


def flat(nested):
    return list(itertools.chain.from_iterable(nested))


def test_every_replica_gets_its_contiguous_part_of_every_global_batch(facts, train_fn):
    size = GLOBAL_BATCH_SIZE // facts["num_devices"]
    assert len(facts["keys"]) == NUM_STEPS
    for step, replicas in enumerate(facts["keys"]):
        keys = train_fn.batch_keys(step)
        assert replicas == [keys[start : start + size] for start in range(0, GLOBAL_BATCH_SIZE, size)]


def test_every_example_comes_once_in_each_epoch(facts, train_fn):
    seen, count = flat(flat(facts["keys"])), train_fn.num_examples
    for epoch in (0, 1):
        assert len(set(seen[epoch * count : (epoch + 1) * count])) == count


def test_pixels_and_labels_are_those_that_a_single_reader_gets(facts, alone):
    training, evaluation = alone
    assert facts["pixels"] == [hashlib.sha256(images.tobytes()).hexdigest() for images, _ in training]
    assert [flat(replicas) for replicas in facts["labels"]] == [labels.tolist() for _, labels in training]
    assert facts["evaluation_pixels"] == [hashlib.sha256(images.tobytes()).hexdigest() for images, *_ in evaluation]


def test_evaluation_gives_every_example_once_and_padding_of_weight_0(facts, evaluation_fn):
    keys, weights = (flat(flat(facts[name])) for name in ("evaluation_keys", "weights"))
    listed = flat(evaluation_fn.batch_keys(step) for step in range(evaluation_fn.steps_per_epoch))
    assert [key for key, weight in zip(keys, weights, strict=True) if weight == 1] == listed
    assert weights == [1] * 48 + [0] * 24
    assert len(set(listed)) == evaluation_fn.num_examples == 48


def test_a_second_evaluation_gives_the_same(facts):
    assert facts["second_pass"] == facts["evaluation_keys"]


def test_cardinalities_count_global_steps_because_keras_takes_them_so(facts, evaluation_fn):
    assert facts["cardinalities"] == [-1, evaluation_fn.steps_per_epoch]


def test_devices_get_static_shapes_and_no_strings(facts):
    size, count = GLOBAL_BATCH_SIZE // facts["num_devices"], facts["num_devices"]
    image, label, weight = [f"({size}, 24, 24, 3)", "float32"], [f"({size},)", "int32"], [f"({size},)", "float32"]
    assert facts["specs"] == [image] * count + [label] * count + [weight] * count


@pytest.mark.parametrize("num_devices", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_batch_that_does_not_divide_over_replicas_is_refused_with_the_nearest_that_do(all_facts, num_devices):
    refusal = all_facts(num_devices)["refusal"]
    below = (GLOBAL_BATCH_SIZE + 1) // num_devices * num_devices
    assert f"{GLOBAL_BATCH_SIZE + 1} cannot be divided evenly among {num_devices} replicas" in refusal
    assert f"use {below} or {below + num_devices}" in refusal


MODES = tf.distribute.InputReplicationMode


@pytest.mark.parametrize(
    ("mode", "fetches"),
    [
        (MODES.PER_REPLICA, False),
        pytest.param(MODES.PER_WORKER, True, marks=pytest.mark.slow),
        pytest.param(MODES.PER_WORKER, False, marks=pytest.mark.slow),
        pytest.param(MODES.PER_REPLICA, True, marks=pytest.mark.slow),
    ],
)
def test_input_options_change_how_batches_arrive_and_not_what_is_in_them(shapes, fetches, mode):  # noqa: F811
    train_fn = reader.make_dataset_fn(str(shapes), "train", global_batch_size=36, image_size=(24, 24))
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    options = tf.distribute.InputOptions(experimental_fetch_to_device=fetches, experimental_replication_mode=mode)
    arrive, plain = (iter(strategy.distribute_datasets_from_function(train_fn, *given)) for given in ([options], []))
    for _ in range(3):
        for one, other in zip(next(arrive), next(plain), strict=True):
            parts = (strategy.experimental_local_results(part) for part in (one, other))
            for part, its in zip(*parts, strict=True):
                np.testing.assert_array_equal(part, its)
