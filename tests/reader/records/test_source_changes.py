"""Datasets that are changed under a live iterator: each example that it gives is right, or it stops with a reason.

Examples of all datasets here have the same lengths, so that a record of another shard begins at each offset.
"""

import itertools
import os
import re
import shutil
import time

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from shardkit import read_manifest, reader
from shardkit.conversion.writing.conversion import Conversion
from shardkit.errors import DataError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.threads import ThreadExecutor
from shardkit.testing import convert_without_beam, write_tree

from ..conftest import encode

SIZES = {"ant": 24, "bee": 24, "cat": 12}
IMAGES = {"image_size": (8, 8)}
BLOCKS = {"order": reader.BlockOrder(block_records=4, window_blocks=2, lanes=4)}
READ_AHEAD = 16  # batches that TensorFlow, whose buffers grow on a busy machine, had read before the change


def source(root, shade):
    """Images of one colour, whose red is the number of the class and whose green is the shade."""
    files = {
        f"{name}/{number:02}.png": encode(Image.new("RGB", (8, 8), (label, shade, number)), "PNG", compress_level=0)
        for label, (name, count) in enumerate(SIZES.items())
        for number in range(count)
    }
    return str(write_tree(root, files))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    root = tmp_path_factory.mktemp("sources")
    return [source(root / str(shade), shade) for shade in (0, 100)]


@pytest.fixture(scope="module")
def converted(sources, tmp_path_factory):
    output = tmp_path_factory.mktemp("converted") / "OUT"
    convert_without_beam(sources[0], str(output), shards=3)
    return output


@pytest.fixture
def dataset(converted, tmp_path):
    return shutil.copytree(converted, tmp_path / "OUT")


def convert_again(folder, sources):
    """Other images, in another order, under the same names."""
    Conversion(
        sources[1], str(folder), ConvertOptions.of({"seed": 1, "shards": 3}), ThreadExecutor(1), overwrite=True
    ).run()


def remove_manifest(folder, _):
    (folder / "manifest.json").unlink()


def move_away(folder, _):
    folder.rename(folder.with_name("ELSEWHERE"))


def swap(folder, _=None):
    first, second = (folder / shard.path for shard in read_manifest(str(folder)).split("train").shards[:2])
    first.rename(folder / "other")
    second.rename(first)
    (folder / "other").rename(second)


def swap_in_place(folder, _):
    first, second = (folder / shard.path for shard in read_manifest(str(folder)).split("train").shards[:2])
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)


def restore(folder):
    for shard in read_manifest(str(folder)).split("train").shards:
        shutil.copyfile(folder / shard.path, folder / "copy")
        os.replace(folder / "copy", folder / shard.path)


def make(dataset, **options):
    dataset = dataset if isinstance(dataset, list) else str(dataset)
    return reader.make_dataset_fn(dataset, "train", **({"global_batch_size": 4} | options))


def count_right(batch):
    """Count the examples of a batch, after checking that each is of the first source and has its own label."""
    if isinstance(batch, dict):
        pixels = np.stack([tf.io.decode_png(image).numpy()[0, 0] for image in batch["image"]])
        labels = batch["label"]
    else:
        pixels, labels = np.asarray(batch[0])[:, 0, 0], batch[1]
    np.testing.assert_array_equal(pixels[:, 0], labels)
    np.testing.assert_array_equal(pixels[:, 1], 0)
    return len(pixels)


def read_until_it_stops(batches, limit=300):
    """Read batches; return how many, and the error."""
    count = 0
    try:
        for batch in itertools.islice(batches, limit):
            count_right(batch)
            count += 1
    except tf.errors.OpError as error:
        return count, str(error)
    return count, None


CHANGES = [convert_again, remove_manifest, move_away, swap, swap_in_place]
SKIP = {"on_corrupt": "skip"}


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (convert_again, BLOCKS),
        (convert_again, {"training": False}),
        (move_away, IMAGES | SKIP),
        (swap_in_place, IMAGES),
        *(
            pytest.param(change, options, marks=pytest.mark.slow)
            for change in CHANGES
            for options in ({}, IMAGES, BLOCKS | IMAGES, BLOCKS | SKIP, {"training": False, **IMAGES, **SKIP})
        ),
    ],
)
def test_each_example_after_a_change_is_right_or_the_iterator_stops(change, options, dataset, sources):
    batches = iter(make(dataset, **options)())
    count_right(next(batches))
    change(dataset, sources)
    count, error = read_until_it_stops(batches)
    assert error is not None, f"{count} batches"
    assert count <= READ_AHEAD
    assert re.search(r"manifest\.json|the shard was replaced", error)
    assert "make the input function again" in error
    assert read_until_it_stops(batches, 1)[1] is not None  # and it does not go on


def test_every_replica_stops(dataset, sources):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    batches = iter(strategy.distribute_datasets_from_function(make(dataset, **IMAGES)))
    next(batches)
    convert_again(dataset, sources)
    parts = (tuple(np.concatenate([np.asarray(one) for one in part.values]) for part in batch) for batch in batches)
    count, error = read_until_it_stops(parts)
    assert count <= 2 * READ_AHEAD
    assert "make the input function again" in error


@pytest.mark.slow
def test_a_mixture_stops_with_the_dataset_that_changed(dataset, tmp_path):
    other = tmp_path / "other"
    convert_without_beam(source(tmp_path / "source", 0), str(other), shards=2)
    batches = iter(make([(str(other), 1), (str(dataset), 1)], **IMAGES)())
    next(batches)
    swap(dataset)
    _, error = read_until_it_stops(batches)
    assert f"{dataset}/train-0" in error


@pytest.mark.slow
def test_copies_in_a_cache_do_not_change(dataset, sources, tmp_path):
    batches = iter(make(dataset, cache=str(tmp_path / "cache"), **IMAGES)())
    convert_again(dataset, sources)
    assert read_until_it_stops(batches, 60) == (60, None)


def test_a_tf_data_service_stops(dataset, sources):
    dispatcher = tf.data.experimental.service.DispatchServer()
    config = tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1])
    worker = tf.data.experimental.service.WorkerServer(config)
    batches = iter(make(dataset, service=dispatcher.target, **IMAGES)())
    count_right(next(batches))
    convert_again(dataset, sources)
    count, error = read_until_it_stops(batches)
    assert f"{dataset}/manifest.json: the manifest was removed or replaced while the dataset was read" in error
    assert count < 200  # what was read ahead
    del worker


@pytest.mark.slow
def test_an_independent_worker_stops(dataset, sources):
    batches = iter(make(dataset, independent_workers=True, **IMAGES)())
    count_right(next(batches))
    remove_manifest(dataset, sources)
    _, error = read_until_it_stops(batches)
    assert "manifest.json" in error


def test_shards_that_are_restored_while_they_are_read_go_on(dataset, caplog):
    batches = iter(make(dataset, **IMAGES)())
    swap(dataset)
    assert read_until_it_stops(batches)[1] is not None
    swap(dataset)
    assert read_until_it_stops(batches, 20) == (20, None)
    restore(dataset)
    # How many batches TensorFlow had read before the files were restored is up to its buffers, and a slow look at the
    # files puts off the next one.
    end = time.monotonic() + 60
    while "the file was replaced by an equal one; reading continues" not in caplog.text:
        assert time.monotonic() < end, "batches were read for a minute, and the new files were not looked at"
        assert read_until_it_stops(batches, 20) == (20, None)


def test_shards_that_were_swapped_before_are_refused(dataset):
    swap(dataset)
    with pytest.raises(DataError, match=r"train-0.*: the shard was replaced by another one: record 0 has the key '.*'"):
        make(dataset, **IMAGES)


@pytest.mark.parametrize(
    "options",
    [{"map_fn": lambda features, _: features["label"], **IMAGES}, pytest.param({}, marks=pytest.mark.slow)],
)
def test_a_record_of_another_shard_is_found_where_records_are_parsed(options, dataset):
    """Only the last record of a shard is another one: the first ones are right."""
    first, second, _ = read_manifest(str(dataset)).split("train").shards
    size = first.num_bytes // first.num_examples
    with open(dataset / first.path, "r+b") as one, open(dataset / second.path, "rb") as other:
        other.seek(-size, os.SEEK_END)
        one.seek(-size, os.SEEK_END)
        one.write(other.read())
    with pytest.raises(tf.errors.OpError, match=r"the shard was replaced by another one: record 19 has the key"):
        list(make(dataset, training=False, **options)())
