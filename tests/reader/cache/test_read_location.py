import dataclasses
import gc
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from shardkit import read_manifest, reader
from shardkit.errors import CallError, MachineError, RecordError
from shardkit.fetch.table.records import load_table
from shardkit.reader.loading import check_remote_reading
from shardkit.storage import open_folder
from shardkit.testing import upload

from ...fetch.conftest import fetched_batches
from ..conftest import assert_same, soon

# Random crops: no pixels are held.
OPTIONS = {"global_batch_size": 16, "images": reader.Images((8, 8), augment="imagenet")}


def batches(dataset, count=25, **options):
    return list(fetched_batches(reader.make_dataset_fn(dataset, "train", **OPTIONS, **options), count))


@pytest.mark.parametrize(
    "wrong", [{"global_batch_size": 308}, {"sampling": {"dog": 1}}, {"training": False, "start_step": 1000}], ids=str
)
def test_a_refused_call_copies_nothing_and_leaves_no_folder(noise, tmp_path, wrong):
    with pytest.raises(CallError):
        reader.make_dataset_fn(noise, "train", **OPTIONS | wrong, cache=str(tmp_path / "cache"))
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def uncached(noise):
    return batches(noise)


def test_a_cached_dataset_gives_the_batches_of_the_one_it_copies_and_reads_the_copies(noise, uncached, tmp_path):
    assert_same(batches(noise, cache=str(tmp_path / "cache")), uncached)
    copies = list((tmp_path / "cache").glob("*.tfrecord"))
    assert len(copies) == 3
    dataset_fn = reader.make_dataset_fn(noise, "train", **OPTIONS, cache=str(tmp_path / "cache"))
    assert all(path.startswith(str(tmp_path / "cache")) for path in dataset_fn._table.paths)


def test_copies_are_held_as_long_as_function_dataset_or_iterator_is_there_and_no_longer(noise, tmp_path):
    folder = tmp_path / "cache"
    dataset = reader.make_dataset(noise, "train", **OPTIONS, cache=str(folder))
    gc.collect()
    assert len(list(folder.glob("*.lease"))) == 1  # the function is gone, its dataset is not
    iterator = iter(dataset)
    next(iterator)
    del dataset
    gc.collect()
    assert len(list(folder.glob("*.lease"))) == 1
    del iterator
    assert soon(lambda: not list(folder.glob("*.lease")))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        dataset_fn = reader.make_dataset_fn(noise, "train", **OPTIONS, cache=str(folder))
        next(iter(dataset_fn()))
        del dataset_fn
    assert soon(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_a_dataset_in_s3_is_read_directly_and_through_the_cache(noise, uncached, s3_bucket, tmp_path):
    upload(f"{s3_bucket}/noise", Path(noise))
    assert_same(batches(f"{s3_bucket}/noise", 5), uncached[:5])  # each record is a request
    assert_same(batches(f"{s3_bucket}/noise", cache=str(tmp_path / "cache")), uncached)
    # A second run copies nothing.
    before = {path.name: path.stat().st_ino for path in (tmp_path / "cache").glob("*.tfrecord")}
    assert_same(batches(f"{s3_bucket}/noise", cache=str(tmp_path / "cache"), start_step=5)[:20], uncached[5:])
    assert {path.name: path.stat().st_ino for path in (tmp_path / "cache").glob("*.tfrecord")} == before


def test_a_cache_that_is_too_small_is_refused_with_the_numbers(noise, tmp_path):
    with pytest.raises(CallError, match="bytes"):
        batches(noise, cache=reader.Cache(str(tmp_path / "cache"), 1000))


def test_training_reads_s3_directly_in_both_orders_although_the_store_fails_now_and_then(noise, s3_bucket, s3_server):
    upload(f"{s3_bucket}/noise", Path(noise))
    for order in ("full", "block"):
        local, remote = (
            reader.make_dataset_fn(url, "train", global_batch_size=16, order=order)
            for url in (noise, f"{s3_bucket}/noise")
        )
        s3_server.fail("GET .*tfrecord", times=1, status=503, code="SlowDown")
        s3_server.fail("GET .*tfrecord", times=1, cuts=True)
        for one, other in zip(fetched_batches(local, 3), fetched_batches(remote, 3), strict=True):
            assert one["key"].tolist() == other["key"].tolist()
            assert one["image"].tolist() == other["image"].tolist()


def test_block_order_takes_a_request_for_each_block(noise, s3_bucket, s3_server):
    upload(f"{s3_bucket}/noise", Path(noise))
    s3_server.fail("(GET|HEAD) .*tfrecord", seconds=0)  # counts them
    order = reader.BlockOrder(window_blocks=1, lanes=2)
    train_fn = reader.make_dataset_fn(f"{s3_bucket}/noise", "train", global_batch_size=32, order=order, cache=None)
    before = s3_server.num_failed()
    list(fetched_batches(train_fn, 45))
    # 1,440 records of 30 blocks, the sizes of 3 shards, and the blocks that are read ahead.
    assert 30 <= s3_server.num_failed() - before < 70


def test_a_shard_that_a_store_has_no_more_is_named(noise, s3_bucket, s3_server):
    upload(f"{s3_bucket}/noise", Path(noise))
    train_fn = reader.make_dataset_fn(f"{s3_bucket}/noise", "train", global_batch_size=16)
    open_folder(f"{s3_bucket}/noise").remove("train-00001-of-00003.tfrecord")
    with pytest.raises(RecordError, match=r"train-00001-of-00003.tfrecord: record \d+, key '.*'"):
        list(fetched_batches(train_fn, 1))


@pytest.mark.parametrize(
    ("url", "record_by_record", "elsewhere", "variable", "said"),
    [
        ("gs://bucket/a", True, False, None, ["takes up to 307 requests, one for each example (USD 0.00 on Amazon"]),
        ("gs://bucket/a", False, False, None, []),
        ("gs://bucket/a", False, True, None, ["set GCS_READAHEAD_BUFFER_SIZE_BYTES=0"]),
        ("gs://bucket/a", True, True, "0", ["order='block' takes about 5; cache= copies"]),
        ("/data/a", True, True, None, []),
    ],
)
def test_slow_ways_to_read_are_warned_of_with_the_remedy(
    url, record_by_record, elsewhere, variable, said, noise, monkeypatch, caplog
):
    monkeypatch.delenv("GCS_READAHEAD_BUFFER_SIZE_BYTES", raising=False)
    if variable is not None:
        monkeypatch.setenv("GCS_READAHEAD_BUFFER_SIZE_BYTES", variable)
    table = load_table(read_manifest(noise), "train")
    # Only its name is asked for: opening a folder of gs:// would look for credentials.
    table = dataclasses.replace(table, roots=[SimpleNamespace(url=url)] * len(table.shards))
    check_remote_reading(table, record_by_record=record_by_record, elsewhere=elsewhere)
    assert len(caplog.messages) == len(said)
    for message, part in zip(caplog.messages, said, strict=True):
        assert message.startswith(url)
        assert part in message


def test_other_processes_cannot_read_s3(noise):
    table = load_table(read_manifest(noise), "train")
    table = dataclasses.replace(table, roots=[SimpleNamespace(url="s3://bucket/a")] * len(table.shards))
    with pytest.raises(CallError, match="which it cannot on s3://; leave them out"):
        check_remote_reading(table, record_by_record=True, elsewhere=True)


def test_a_dataset_in_s3_is_trained_on_from_an_empty_cache_although_the_store_fails_now_and_then(
    noise, s3_bucket, s3_server, tmp_path
):
    upload(f"{s3_bucket}/noise", Path(noise))
    s3_server.fail("GET .*tfrecord", times=1, status=503, code="SlowDown")
    s3_server.fail("GET .*tfrecord", times=1, cuts=True)
    s3_server.fail("HEAD .*parquet", times=1, resets=True)
    before = s3_server.num_failed()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    options = {**OPTIONS, "training": True, "cache": str(tmp_path / "cache")}
    train_fn = reader.make_dataset_fn(f"{s3_bucket}/noise", "train", **options)
    steps = iter(strategy.distribute_datasets_from_function(train_fn))
    with strategy.scope():
        weights = tf.Variable(tf.zeros([8 * 8 * 3, 3]))

    @tf.function
    def train(batch):
        def one_replica(images, labels):
            with tf.GradientTape() as tape:
                logits = tf.reshape(tf.cast(images, tf.float32) / 255, [-1, 8 * 8 * 3]) @ weights
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            weights.assign_sub(0.01 * tape.gradient(loss, weights))
            return loss

        return strategy.run(one_replica, args=batch)

    losses = [float(strategy.reduce("MEAN", train(next(steps)), axis=None)) for _ in range(3)]
    assert s3_server.num_failed() - before == 3
    assert losses[0] == pytest.approx(np.log(3), abs=1e-4)
    assert np.isfinite(losses).all()
    assert np.abs(weights.numpy()).max() > 0
    assert len(list((tmp_path / "cache").glob("*.tfrecord"))) == 3


def test_a_store_that_refuses_a_shard_is_named_and_leaves_no_copy(noise, s3_bucket, s3_server, tmp_path):
    upload(f"{s3_bucket}/noise", Path(noise))
    s3_server.fail("GET .*tfrecord", status=403, code="AccessDenied")
    with pytest.raises(MachineError, match=r"s3://.*tfrecord: .*access denied .*s3:GetObject"):
        batches(f"{s3_bucket}/noise", cache=str(tmp_path / "cache"))
    assert not list((tmp_path / "cache").glob("*.tfrecord"))
