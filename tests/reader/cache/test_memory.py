"""Records and decoded images that are held in memory."""

import gc
import shutil
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.dataset.record_files import RecordFiles
from shardkit.errors import CallError, RecordError
from shardkit.testing import upload

from ...fetch.conftest import fetched_batches
from ..conftest import assert_same, soon
from ..golden.configurations import DATASETS

# Random crops keep records in memory, whole images of one size their pixels.
OPTIONS = {"global_batch_size": 16, "images": reader.Images((8, 8), augment="imagenet")}
WHOLE = {"images": reader.Images((8, 8), flip=True)}


def made(dataset, **options):
    return reader.make_dataset_fn(dataset, "train", **OPTIONS | options)


def batches(dataset_fn, steps=25):
    return list(dataset_fn().take(steps).as_numpy_iterator())


def fetched(dataset_fn, steps=25):
    return list(fetched_batches(dataset_fn, steps))


@pytest.fixture
def reads(monkeypatch):
    """The number of records of each call that reads records from files."""
    found, read = [], RecordFiles.read

    def counted(files, *places):
        found.append(len(places[0]))
        return read(files, *places)

    monkeypatch.setattr(RecordFiles, "read", counted)
    return found


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((8, 8), {"order": "block"}),
        ((12, 6), {}),
        *(pytest.param(size, {"sampling": "class_balanced"}, marks=pytest.mark.slow) for size in [(8, 8), (12, 6)]),
    ],
    ids=str,
)
def test_pixels_in_memory_are_those_that_were_decoded(options, size, noise):
    """Of the size that is asked for, mirrored by the fetch; or resized and mirrored after it."""
    images = reader.Images(size, flip=True, mean=100, std=50, eval_fit="stretch")
    wanted = batches(made(noise, cache=None, images=images, **options), 45)
    held = made(noise, images=images, **options)
    assert held.spec.pixels is not None
    assert_same(batches(held, 45), wanted)


def test_pixels_of_one_split_are_held_once_and_records_are_not_held_then(noise):
    one, other = made(noise, **WHOLE), made(noise, training=False, **WHOLE)
    assert one.spec.pixels is other.spec.pixels is not None
    assert one._table.held is None
    assert one.held_bytes == 307 * 8 * 8 * 3
    assert made(noise).spec.pixels is None


def test_pixels_that_are_held_are_read_no_more_and_given_back(noise, reads):
    train_fn = made(noise, where="width > 0", **WHOLE)
    iterator = iter(train_fn())
    next(iterator)
    held = weakref.ref(train_fn.spec.pixels)
    assert soon(train_fn.spec.pixels._are_held.all)
    for _ in range(5):  # what was being read meanwhile
        next(iterator)
    del reads[:]
    for _ in range(40):
        next(iterator)
    assert not reads
    del train_fn, iterator
    assert soon(lambda: held() is None)


@pytest.mark.parametrize("order", ["full", "block"])
@pytest.mark.parametrize("cache", ["memory", "auto", reader.Memory(1 << 20)], ids=str)
def test_records_in_memory_are_those_of_the_files(noise, order, cache):
    assert_same(fetched(made(noise, cache=cache, order=order)), fetched(made(noise, cache=None, order=order)))


@pytest.mark.parametrize("selection", [{}, {"where": "label_name = 'cat'", "take": 50}], ids=str)
def test_soon_after_the_first_batch_all_selected_records_are_held_and_no_others(noise, selection):
    train_fn = made(noise, **selection)
    fetched(train_fn, 1)
    assert soon(lambda: train_fn.held_bytes == int(train_fn._table.length.sum()))


def test_what_is_held_is_read_no_more(noise, reads):
    wanted = fetched(made(noise, cache=None, seed=5))
    train_fn = made(noise, where="height > 0", seed=5)
    found = fetched_batches(train_fn, 25)
    first = next(found)
    assert soon(train_fn._table.held._are_held.all)
    del reads[:]
    assert_same([first, *found], wanted)
    assert_same(fetched(train_fn), wanted)
    assert not reads


def test_functions_of_one_split_hold_it_once_and_others_nothing_of_it(noise):
    one, other, part = made(noise), made(noise, training=False), made(noise, take=50)
    assert one._table.held is other._table.held
    assert one._table.held is not part._table.held
    assert made(noise, cache=None)._table.held is None


def test_memory_is_given_back_with_the_last_iterator(copied, tmp_path):
    moved = shutil.copytree(copied, tmp_path / "other")
    train_fn = made(str(moved), take=77)
    held = weakref.ref(train_fn._table.held)
    iterator = iter(train_fn())
    next(iterator)
    del train_fn
    gc.collect()
    assert held() is not None
    del iterator
    assert soon(lambda: held() is None)
    assert soon(lambda: "holding records" not in [one.name for one in threading.enumerate()])


def test_a_split_that_needs_more_than_the_limit_is_refused_with_both_numbers(noise):
    with pytest.raises(CallError, match=r"the 307 records that are read take [\d,]+ bytes of memory, more than max_by"):
        made(noise, cache=reader.Memory(max_bytes=1000))
    images = reader.Images((8, 8), dtype="uint8")
    with pytest.raises(CallError, match=r"307 decoded images take 58,944 bytes of memory, more than max_bytes=58,943"):
        made(noise, images=images, training=False, cache=reader.Memory(58_943, decoded=True))


def test_large_splits_are_held_only_if_asked_for(noise, monkeypatch):
    monkeypatch.setattr("shardkit.reader.loading.AUTO_BYTES", 1000)
    assert made(noise)._table.held is None
    assert made(noise, cache="memory")._table.held is not None


def test_only_images_that_are_the_same_in_every_epoch_are_held_decoded(noise):
    with pytest.raises(CallError, match="none are decoded: give image_size= or images="):
        made(noise, cache=reader.Memory(decoded=True), images=None)
    with pytest.raises(CallError, match="the same in every epoch, and random crops are not"):
        made(noise, cache=reader.Memory(decoded=True))


def test_other_processes_do_not_see_this_ones_memory(noise):
    with pytest.raises(CallError, match="a folder or the memory of this host, and with service= other processes read"):
        made(noise, cache="memory", service="grpc://localhost:5000")


@pytest.mark.parametrize(
    ("images", "last_batch"),
    [
        pytest.param({"dtype": "uint8"}, "short", marks=pytest.mark.slow),
        pytest.param({}, "padded", marks=pytest.mark.slow),
        ({"mean": 127.5, "std": 127.5, "dtype": "bfloat16"}, "short"),
    ],
    ids=str,
)
def test_an_evaluation_decodes_each_image_once(noise, reads, images, last_batch):
    options = {"training": False, "images": reader.Images((8, 8), **images)}
    options |= {"last_batch": last_batch}
    wanted = batches(made(noise, **options))
    val_fn = made(noise, **options, cache=reader.Memory(decoded=True))
    dataset = val_fn()
    assert_same(list(dataset.as_numpy_iterator()), wanted)
    del reads[:]
    assert_same(list(dataset.as_numpy_iterator()), wanted)
    assert not reads


def test_a_part_of_an_evaluation_is_held_and_the_rest_decoded(noise):
    options = {"training": False, "global_batch_size": 32, **WHOLE}
    val_fn = made(noise, **options, cache=reader.Memory(decoded=True))
    batches(val_fn, 3)
    assert_same(batches(val_fn), batches(made(noise, **options)))


def test_decoded_images_keep_boxes_and_what_map_fn_makes():
    for options in ({}, {"map_fn": lambda features, _: (features["image"], features["height"])}):
        options |= {"global_batch_size": 4, "image_size": (8, 8), "training": False, "take": 8}
        plain, held = (
            reader.make_dataset_fn(DATASETS / "boxes", "train", **options, cache=cache)
            for cache in (None, reader.Memory(decoded=True))
        )
        wanted = batches(plain)
        dataset = held()
        for _ in range(2):
            for one, other in zip(dataset.as_numpy_iterator(), wanted, strict=True):
                tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_a_damaged_record_is_named_and_replaced_as_without_memory(copied):
    plain = made(str(copied), cache=None, on_corrupt="skip")
    path = next(iter(sorted(Path(copied).glob("*.tfrecord"))))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    train_fn = made(str(copied), on_corrupt="skip")
    assert_same(fetched(train_fn, 40), fetched(plain, 40))
    assert len(train_fn.damaged_records) == 1
    with pytest.raises(RecordError, match=r"train-00000-of-00003.tfrecord: record \d, key '.*'"):
        fetched(made(str(copied)), 40)


def test_of_a_store_a_small_split_takes_a_few_requests(noise, s3_bucket, s3_server):
    upload(f"{s3_bucket}/noise", Path(noise))
    train_fn = made(f"{s3_bucket}/noise", on_corrupt="skip")
    before = s3_server.num_failed()
    s3_server.fail("(GET|HEAD) .*tfrecord", seconds=0)  # counts them
    found = fetched_batches(train_fn, 101)
    next(found)
    assert soon(train_fn._table.held._are_held.all)
    num_requests = s3_server.num_failed() - before
    assert num_requests < 50  # of 307 records, which the first batches ask for and the thread, too
    assert len(list(found)) == 100
    assert s3_server.num_failed() - before == num_requests
