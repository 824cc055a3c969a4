"""Records that are whole, and hold an image that does not decode: named, or replaced, by training and evaluation."""

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.sources import SourceOptions
from shardkit.testing import convert_without_beam, write_class_folders, write_tree

from ..conftest import datasets_of_workers, encode, global_batches, joined_batches, smooth

BATCH = 8
NUM_EXAMPLES = 60
OPTIONS = {"global_batch_size": BATCH, "image_size": (8, 8)}


def spoilt(encoded):
    """Return an image with its headers, so that the index has its size, and pixels that do not decode."""
    middle = len(encoded) // 2
    return encoded[:middle] + bytes(byte ^ 0x5A for byte in encoded[middle : middle + 40]) + encoded[middle + 40 :]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """PNGs, of which four do not decode."""
    folder = write_class_folders(tmp_path_factory.mktemp("spoilt") / "source", {"ant": 40, "bee": NUM_EXAMPLES - 40})
    paths = sorted(folder.rglob("*.png"))
    for path in paths[3::16]:
        path.write_bytes(spoilt(path.read_bytes()))
    return folder, {str(path.relative_to(folder)) for path in paths[3::16]}


@pytest.fixture(scope="module")
def dataset(source):
    folder, victims = source
    output = str(folder.parent / "dataset")
    convert_without_beam(str(folder), output, shards=3, check="header")
    return output, victims


def made(folder, **options):
    return reader.make_dataset_fn(folder, "train", **(OPTIONS | options))


@pytest.mark.parametrize("training", [True, False])
def test_an_image_that_does_not_decode_is_told_with_shard_record_and_key(dataset, training):
    folder, victims = dataset
    with pytest.raises(tf.errors.OpError, match=r"train-0000\d-of-00003.tfrecord: record \d+, key ") as caught:
        for _ in made(folder, training=training)().take(20):
            pass
    assert "its image does not decode: Invalid PNG data" in str(caught.value)
    assert "run `shardkit verify`" in str(caught.value)
    assert any(f"key {victim!r}" in str(caught.value) for victim in victims)


def test_batches_before_the_one_that_fails_are_given(dataset):
    folder, victims = dataset
    dataset_fn = made(folder, seed=3)
    num_intact = next(step for step in range(20) if set(dataset_fn.batch_keys(step)) & victims)
    iterator = iter(dataset_fn())
    for _ in range(num_intact):
        next(iterator)
    with pytest.raises(tf.errors.OpError, match="its image does not decode"):
        next(iterator)


@pytest.mark.parametrize("training", [True, False])
def test_only_images_that_do_not_decode_are_replaced_and_no_position_moves(dataset, training):
    folder, victims = dataset

    def keyed(features, seed):
        return {"key": features["key"], "image": features["image"]}

    dataset_fn = made(folder, training=training, on_corrupt="skip", map_fn=keyed)
    weights = 0.0
    for step, batch in enumerate(dataset_fn().take(dataset_fn.steps_per_epoch)):
        wanted = dataset_fn.batch_keys(step)
        found = [key.decode() for key in batch["key"].numpy()]
        for i, key in enumerate(wanted):
            assert found[i] not in victims
            assert found[i] == key or key in victims
            if not training:
                assert batch["weight"][i] == (key not in victims)
        weights += 0 if training else float(tf.reduce_sum(batch["weight"]))
    assert {record.key for record in dataset_fn.damaged_records} == victims
    assert all("its image does not decode: Invalid PNG data" in record.problem for record in dataset_fn.damaged_records)
    if not training:
        assert weights == NUM_EXAMPLES - len(victims)


BLOCKS = {"order": reader.BlockOrder(block_records=4, window_blocks=2, lanes=4)}


@pytest.mark.parametrize("options", [{}, pytest.param(BLOCKS, marks=pytest.mark.slow)], ids=["full", "block"])
def test_workers_replicas_and_a_resumed_training_give_the_same_pixels(dataset, options):
    folder, _ = dataset
    options = {"on_corrupt": "skip"} | options
    dataset_fn = made(folder, **options)
    datasets = datasets_of_workers(dataset_fn)
    alone = list(joined_batches(datasets, 16))
    shared = list(global_batches(dataset_fn, 16, num_workers=2, replicas=2))
    dataset_fn.start_step.assign(9)
    resumed = list(joined_batches(datasets, 7))
    for one, other in zip([*alone, *alone[9:]], [*shared, *resumed], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_more_than_the_budget_stops_and_is_named(dataset):
    folder, _ = dataset
    with pytest.raises(tf.errors.OpError, match="damaged record 3, and 2 are allowed"):
        for _ in made(folder, on_corrupt=reader.Skip(2))().take(20):
            pass


def test_an_error_of_ones_own_function_is_raised_as_it_is_and_does_not_go_on_for_ever(dataset):
    folder, _ = dataset

    def map_fn(features, seed):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_mean(features["image"]) < 0, ["my own"])]):
            return tf.identity(features["image"])

    for on_corrupt in ("error", "skip"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="my own"):
            next(iter(made(folder, map_fn=map_fn, on_corrupt=on_corrupt)()))


@pytest.mark.slow
def test_two_iterators_of_one_dataset_do_not_disturb_each_other(dataset):
    folder, _ = dataset
    whole = made(folder, on_corrupt="skip")()
    first, second = iter(whole), iter(whole)
    for _ in range(10):
        next(first)
        assert next(first)[0].shape == next(second)[0].shape
    for one, other in zip(whole.take(9), whole.take(9), strict=True):
        np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.slow
def test_damage_of_a_jpeg_outside_the_crop_costs_nothing_and_inside_it_the_epochs_that_meet_it(tmp_path):
    """Whether an example is replaced depends on its own crop, and so on nothing that another worker does not know."""
    files = {f"a/{i}.jpg": encode(smooth(64, 200, i), "JPEG", quality=95) for i in range(16)}
    files["a/3.jpg"] = files["a/3.jpg"][: len(files["a/3.jpg"]) // 2]
    write_tree(tmp_path / "source", files)
    folder = str(tmp_path / "dataset")
    layout = SourceOptions(layout="class-folders")
    convert_without_beam(str(tmp_path / "source"), folder, source_options=layout, shards=1, check="header")
    crops = reader.Images((8, 8), crop_scale=(0.05, 0.2))
    options = {"on_corrupt": "skip", "image_size": None, "images": crops}
    dataset_fn = made(folder, **options)
    datasets = datasets_of_workers(dataset_fn)
    alone = list(joined_batches(datasets, 24))
    shared = list(global_batches(dataset_fn, 24, num_workers=2))
    dataset_fn.start_step.assign(15)
    resumed = list(joined_batches(datasets, 9))
    for one, other in zip([*alone, *alone[15:]], [*shared, *resumed], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
