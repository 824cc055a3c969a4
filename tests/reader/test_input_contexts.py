import re

import numpy as np
import pytest
import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import Images, make_dataset_fn
from shardkit.reader.input_contexts import check_short, layout_of

from .conftest import COUNTS, global_batches

NUM_EXAMPLES = sum(COUNTS.values())


def context(pipelines, index, replicas):
    return tf.distribute.InputContext(pipelines, index, replicas)


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
    with pytest.raises(CallError, match=re.escape(sentence)):
        check_short(num_examples, layout_of(context(*given), batch))


def test_an_evaluation_that_cannot_be_divided_needs_its_padding(noise):
    options = {"global_batch_size": 8, "training": False, "take": 3}
    make_dataset_fn(noise, "train", **options)(context(1, 0, 4))
    with pytest.raises(CallError):
        make_dataset_fn(noise, "train", last_batch="short", **options)(context(1, 0, 4))


@pytest.mark.parametrize(
    ("pipelines", "replicas", "size", "sentence"),
    [
        (2, 3, 36, "3 replicas do not divide evenly over 2 input pipelines.*give every worker the same number"),
        (3, 8, 48, "8 replicas do not divide evenly over 3 input pipelines"),
        (2, 8, 36, "36 cannot be divided evenly among 8 replicas; use 32 or 40"),
        (4, 4, 3, "3 cannot be divided evenly among 4 replicas; use 4"),
    ],
)
def test_what_would_hang_crash_or_drop_is_refused_with_numbers_and_a_remedy(pipelines, replicas, size, sentence):
    for index in range(pipelines):
        with pytest.raises(CallError, match=sentence):
            layout_of(context(pipelines, index, replicas), size)


def test_a_strategy_of_one_replica_needs_no_context(noise):
    dataset_fn = make_dataset_fn(noise, "train", global_batch_size=8, image_size=(4, 4))
    one = tf.distribute.OneDeviceStrategy("CPU:0")
    images, _ = next(iter(one.distribute_datasets_from_function(lambda context: dataset_fn())))
    assert images.shape[0] == 8


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
