import re

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import Images, describe_input, make_dataset_fn
from shardkit.reader.input_contexts import layout_of

from .conftest import COUNTS, global_batches

NUM_EXAMPLES = sum(COUNTS.values())


def context(pipelines, index, replicas):
    return tf.distribute.InputContext(pipelines, index, replicas)


@pytest.mark.parametrize(
    ("given", "batch", "expected"),
    [
        # One worker of four devices: MirroredStrategy makes one pipeline.
        ((1, 0, 4), 64, ["pipeline 0 of 1 feeds 4 of 4 replicas", "batch of 64 ", "[0, 64), 16 for each"]),
        # The same with PER_REPLICA input: a pipeline for each device.
        ((4, 2, 4), 64, ["pipeline 2 of 4 feeds 1 of 4 replicas", "[32, 48), 16 for each"]),
        # Three workers of two devices: MultiWorkerMirroredStrategy.
        ((3, 1, 6), 96, ["pipeline 1 of 3 feeds 2 of 6 replicas", "[32, 64), 16 for each"]),
        # A TPU pod of 32 hosts.
        ((32, 31, 256), 4096, ["pipeline 31 of 32 feeds 8 of 256 replicas", "[3,968, 4,096), 16 for each"]),
    ],
)
def test_it_says_what_a_pipeline_gets(given, batch, expected):
    text = describe_input(context(*given), global_batch_size=batch, num_examples=10_000)
    for words in expected:
        assert words in text


def test_it_says_how_long_training_and_evaluation_are():
    training = describe_input(context(1, 0, 2), global_batch_size=64, num_examples=1000)
    assert "never ends; 1,000 examples make 15.62 steps an epoch (steps_per_epoch=16)" in training
    evaluation = describe_input(context(1, 0, 2), global_batch_size=64, num_examples=1000, training=False)
    assert evaluation.endswith("It ends after 16 steps; the last 24 places are padding of weight 0.")


def test_it_says_how_long_an_evaluation_without_padding_is():
    options = {"global_batch_size": 64, "num_examples": 1000, "training": False, "last_batch": "short"}
    text = describe_input(context(1, 0, 2), **options)
    assert text.endswith("It ends after 16 steps; the last global batch has 40 examples and no padding.")


@pytest.mark.parametrize(
    ("given", "batch", "num_examples", "sentence"),
    [
        ((2, 0, 2), 64, 1000, "last_batch='short' is for one process, and 2 workers with batches of different sizes"),
        # 3 of 67 for 4 replicas; 60 would leave 7.
        (
            (1, 0, 4),
            64,
            67,
            "leaves 3 of 67 examples for the 4 replicas of the last step; use global_batch_size=60, or",
        ),
        ((1, 0, 4), 4, 7, "leaves 3 of 7 examples for the 4 replicas of the last step; leave last_batch out"),
        ((1, 0, 4), 8, 3, "leaves 3 of 3 examples for the 4 replicas of the last step; leave last_batch out"),
    ],
)
def test_what_cannot_be_divided_without_padding_is_refused(given, batch, num_examples, sentence):
    options = {"global_batch_size": batch, "num_examples": num_examples, "last_batch": "short"}
    with pytest.raises(CallError, match=re.escape(sentence)):
        describe_input(context(*given), training=False, **options)
    describe_input(context(*given), training=False, **options | {"last_batch": "padded"})


@pytest.mark.parametrize(("given", "batch"), [((1, 0, 3), 64), ((3, 0, 3), 64), ((2, 0, 3), 60)])
def test_the_input_function_refuses_the_same(noise, given, batch):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=batch)
    with pytest.raises(CallError):
        dataset_fn(context(*given))


def test_a_strategy_of_one_replica_needs_no_context(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=8, image_size=(4, 4))
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    images, _ = next(iter(one.distribute_datasets_from_function(lambda context: dataset_fn())))
    assert images.shape[0] == 8


def test_evaluation_may_have_fewer_examples_than_a_batch():
    text = describe_input(context(8, 0, 8), global_batch_size=64, num_examples=3, training=False)
    assert "the last 61 places are padding" in text


CONTEXTS = [
    (1, 1),
    (1, 4),  # Mirrored
    (4, 4),  # Mirrored with PER_REPLICA input options
    (3, 6),  # MultiWorkerMirrored
    (1, 8),  # TPU: 8 replicas a host, on one host,
    (4, 32),
    (32, 256),
]


@pytest.mark.parametrize(("pipelines", "replicas"), CONTEXTS)
def test_the_parts_of_all_pipelines_are_the_global_batch(pipelines, replicas):
    batch = 2 * replicas
    layouts = [layout_of(context(pipelines, i, replicas), batch) for i in range(pipelines)]
    assert [slot for layout in layouts for slot in layout.slots] == list(range(batch))
    assert {layout.per_replica_batch_size for layout in layouts} == {2}


TPU = {"images": Images((8, 8), dtype="bfloat16", eval_fit="stretch")}


@pytest.mark.parametrize("hosts", [2, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 4))])
def test_tpu_hosts_share_the_examples_of_an_evaluation(noise, hosts):
    evaluation = make_dataset_fn(noise, "train", global_batch_size=8 * hosts, training=False, **TPU)
    batches = list(global_batches(evaluation, evaluation.steps_per_epoch, hosts, 8))
    images, labels, weights = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    # Every image is noise of its own, so that equal ones would be the same example.
    seen = {image.tobytes() for image in images[weights > 0]}
    assert len(seen) == weights.sum() == NUM_EXAMPLES
    assert np.bincount(labels[weights > 0]).tolist() == list(COUNTS.values())


@pytest.fixture(scope="module")
def whole_evaluation(noise):
    """An evaluation, and its global batches."""
    evaluation = make_dataset_fn(noise, "train", global_batch_size=256, training=False, **TPU)
    return evaluation, list(evaluation().as_numpy_iterator())


# 6 has the last example, 31 padding alone in the second of two steps.
@pytest.mark.parametrize("host", [pytest.param(0, marks=pytest.mark.slow), 6, 31])
def test_a_tpu_host_of_32_gets_its_part_in_static_shapes_without_strings(whole_evaluation, host):
    evaluation, batches = whole_evaluation
    dataset = evaluation(context(32, host, 256))
    assert dataset.element_spec == (
        tf.TensorSpec([1, 8, 8, 3], tf.bfloat16),
        tf.TensorSpec([1], tf.int32),
        tf.TensorSpec([1], tf.float32),
    )
    parts = list(dataset.as_numpy_iterator())
    assert len(parts) == 2 * 8
    for step, batch in enumerate(batches):
        for whole, *part in zip(batch, *parts[step * 8 : step * 8 + 8], strict=True):
            np.testing.assert_array_equal(np.concatenate(part), whole[host * 8 : host * 8 + 8])


def test_tpu_hosts_train_on_one_permutation(noise):
    hosts, replicas = 2, 16
    # Whole images: they are told apart by their pixels.
    whole = Images((8, 8), dtype="bfloat16", crop_scale=(1, 1), crop_ratio=(1, 1), flip=False)
    training = make_dataset_fn(noise, "train", global_batch_size=replicas, images=whole)
    batches = list(global_batches(training, 2 * NUM_EXAMPLES // replicas, hosts, 8))
    images = np.concatenate([images for images, _ in batches])
    assert images.dtype == tf.bfloat16.as_numpy_dtype
    for epoch in (images[:NUM_EXAMPLES], images[NUM_EXAMPLES:]):
        assert len({image.tobytes() for image in epoch}) == len(epoch)
